package x11

import (
	"fmt"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// BenchmarkGrabRows tells what a request costs against the rows it copies.
func BenchmarkGrabRows(b *testing.B) {
	s := xvfbtest.Start(b, xvfbtest.Options{})
	c := watchTest(b, s)
	seg, err := c.NewSegment(1280 * 800)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []struct{ bands, rows int }{{1, 1}, {10, 1}, {1, 10}, {1, 64}, {1, 320}, {1, 800}} {
		b.Run(fmt.Sprintf("%dx%drows", n.bands, n.rows), func(b *testing.B) {
			bands := make([]Rows, n.bands)
			for i := range bands {
				bands[i] = Rows{i * 80, i*80 + n.rows}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.GrabRows(seg, 1280, bands); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
