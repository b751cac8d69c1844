package encode

import "image"

// coverer finds rectangles around marked cells.
type coverer struct {
	above, below []run
}

// run is a run of cells in a row and in those above it, up to row y0.
type run struct{ x0, x1, y0 int }

// rects appends rectangles of pixels, not cut off at the screen's edge, that cover
// each marked cell once: runs in a row, joined with equal runs below.
func (c *coverer) rects(dst []image.Rectangle, g *grid, gap int) []image.Rectangle {
	c.above = c.above[:0]
	for cy := g.area.Min.Y; cy <= g.area.Max.Y; cy++ {
		c.below = c.below[:0]
		i := 0
		if cy < g.area.Max.Y {
			g.runs(cy, gap, func(x0, x1 int) {
				for i < len(c.above) && c.above[i].x0 < x0 {
					i++
				}
				y0 := cy
				if i < len(c.above) && c.above[i].x0 == x0 && c.above[i].x1 == x1 {
					y0 = c.above[i].y0
					c.above[i].x1 = x0 // goes on below
				}
				c.below = append(c.below, run{x0, x1, y0})
			})
		}
		for _, r := range c.above {
			if r.x1 > r.x0 {
				dst = append(dst, cellRect(r.x0, r.y0, r.x1, cy))
			}
		}
		c.above, c.below = c.below, c.above
	}
	return dst
}
