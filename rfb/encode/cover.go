package encode

import (
	"image"
	"slices"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

const cellSize = frame.CellSize

// grid has a mark for each cell of an area. A small change must not cost a look at
// each cell of the screen.
type grid struct {
	area  image.Rectangle // in cells
	marks []bool
}

// resize fits the grid to an area and takes the marks away.
func (g *grid) resize(area image.Rectangle) {
	g.area = area
	n := area.Dx() * area.Dy()
	g.marks = slices.Grow(g.marks[:0], n)[:n]
	clear(g.marks)
}

// load fits the grid to a set and marks the set's cells.
func (g *grid) load(set *frame.CellSet) {
	b := set.Bounds()
	g.resize(image.Rect(b.Min.X/cellSize, b.Min.Y/cellSize, (b.Max.X+cellSize-1)/cellSize, (b.Max.Y+cellSize-1)/cellSize))
	for cy := g.area.Min.Y; cy < g.area.Max.Y; cy++ {
		row := g.row(cy)
		for x := range row {
			row[x] = set.Has(g.area.Min.X+x, cy)
		}
	}
}

// count returns how many cells are marked.
func (g *grid) count() int {
	n := 0
	for _, m := range g.marks {
		if m {
			n++
		}
	}
	return n
}

// row returns the marks of row cy, the first of column area.Min.X.
func (g *grid) row(cy int) []bool {
	w := g.area.Dx()
	return g.marks[(cy-g.area.Min.Y)*w:][:w]
}

// runs calls f for each run of marked cells in row cy. Runs with at most gap
// cells between them count as one.
func (g *grid) runs(cy, gap int, f func(x0, x1 int)) {
	row, left := g.row(cy), g.area.Min.X
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
		f(left+x, left+end)
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
