package encode

import (
	"image"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

const cellSize = frame.CellSize

// grid has a mark for each cell of a screen.
type grid struct {
	cols, rows int
	marks      []bool
}

func (g *grid) resize(cols, rows int) {
	g.cols, g.rows = cols, rows
	if cap(g.marks) < cols*rows {
		g.marks = make([]bool, cols*rows)
	}
	g.marks = g.marks[:cols*rows]
}

func (g *grid) load(set *frame.CellSet) {
	g.resize(set.Size())
	for cy := range g.rows {
		for cx := range g.cols {
			g.set(cx, cy, set.Has(cx, cy))
		}
	}
}

// bounds returns the rectangle of cells around the marked ones, and their number.
func (g *grid) bounds() (r image.Rectangle, n int) {
	for cy := range g.rows {
		g.runs(cy, 0, func(x0, x1 int) {
			r = r.Union(image.Rect(x0, cy, x1, cy+1))
			n += x1 - x0
		})
	}
	return r, n
}

func (g *grid) has(cx, cy int) bool         { return g.marks[cy*g.cols+cx] }
func (g *grid) set(cx, cy int, marked bool) { g.marks[cy*g.cols+cx] = marked }
func (g *grid) row(cy int) []bool           { return g.marks[cy*g.cols:][:g.cols] }

// runs calls f for each run of marked cells in row cy. Runs with at most gap
// cells between them count as one.
func (g *grid) runs(cy, gap int, f func(x0, x1 int)) {
	row := g.row(cy)
	for x := 0; x < len(row); x++ {
		if !row[x] {
			continue
		}
		end := x + 1
		for i := end; i < len(row) && i <= end+gap; i++ {
			if row[i] {
				end = i + 1
			}
		}
		f(x, end)
		x = end
	}
}

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
	for cy := range g.rows + 1 {
		c.below = c.below[:0]
		i := 0
		if cy < g.rows {
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
