package settle

import (
	"image"
	"testing"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// drawn returns a pointer without a name whose picture shows the given parts.
func drawn(hotX, hotY int, parts ...image.Rectangle) frame.Cursor {
	c := frame.Cursor{HotX: hotX, HotY: hotY, Width: 24, Height: 24, Pix: make([]uint32, 24*24)}
	for i := range c.Pix {
		c.Pix[i] = 0x20000000 // a shadow
	}
	for _, r := range parts {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				c.Pix[y*24+x] = 0xff000000
			}
		}
	}
	return c
}

func TestOverText(t *testing.T) {
	stem, feet := image.Rect(9, 3, 12, 21), image.Rect(7, 19, 14, 21)
	for _, c := range []struct {
		name   string
		cursor frame.Cursor
		want   bool
	}{
		{"hidden", frame.Cursor{}, false},
		{"by name", frame.Cursor{Name: "xterm"}, true},
		{"by name, whatever the shape", func() frame.Cursor {
			c := drawn(11, 12, stem)
			c.Name = "left_ptr"
			return c
		}(), false},
		{"an upright bar", drawn(11, 12, stem, feet), true},
		{"xterm's, of the X server's own font", drawn(4, 8, image.Rect(0, 0, 9, 3), image.Rect(3, 3, 6, 13), image.Rect(0, 13, 9, 16)), true},
		{"an arrow", drawn(4, 4, image.Rect(3, 2, 14, 22)), false},
		{"a narrow arrow, held at its tip", drawn(8, 2, image.Rect(6, 2, 12, 22)), false},
		{"a cross", drawn(11, 11, image.Rect(10, 2, 12, 20), image.Rect(2, 10, 20, 12)), false},
		{"nothing but a shadow", drawn(11, 12), false},
	} {
		if got := overText(c.cursor); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
