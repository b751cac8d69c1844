package capture

import (
	"image"
	"slices"
	"testing"

	"github.com/falleng0d/computer-use-mcp/display/x11"
)

func TestBands(t *testing.T) {
	row := func(min, max int) image.Rectangle { return image.Rect(3, min, 9, max) }
	for _, c := range []struct {
		name  string
		rects []image.Rectangle
		want  []x11.Rows
	}{
		{"none", nil, nil},
		{"one", []image.Rectangle{row(5, 9)}, []x11.Rows{{Min: 5, Max: 9}}},
		{"side by side", []image.Rectangle{row(5, 9), row(5, 9).Add(image.Pt(50, 0))}, []x11.Rows{{Min: 5, Max: 9}}},
		{"inside", []image.Rectangle{row(0, 90), row(5, 9)}, []x11.Rows{{Min: 0, Max: 90}}},
		{"near", []image.Rectangle{row(0, 1), row(1+bandGap, 50)}, []x11.Rows{{Min: 0, Max: 50}}},
		{"far", []image.Rectangle{row(0, 1), row(2+bandGap, 50)}, []x11.Rows{{Min: 0, Max: 1}, {Min: 2 + bandGap, Max: 50}}},
		{"from below", []image.Rectangle{row(100, 101), row(0, 1)}, []x11.Rows{{Min: 0, Max: 1}, {Min: 100, Max: 101}}},
	} {
		if got := bands(c.rects); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
