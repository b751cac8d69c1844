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

// bounds returns the smallest rectangle of cells that holds every mark.
func (g *grid) bounds() image.Rectangle {
	var r image.Rectangle
	for cy := g.area.Min.Y; cy < g.area.Max.Y; cy++ {
		row := g.row(cy)
		first := slices.Index(row, true)
		if first < 0 {
			continue
		}
		last := len(row) - 1
		for !row[last] {
			last--
		}
		r = r.Union(image.Rect(first, cy, last+1, cy+1).Add(image.Pt(g.area.Min.X, 0)))
	}
	return r
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

// compare marks the cells of an area, of those that the screen's edge does not cut
// off, whose pixels were away by move before.
func (g *grid) compare(was, is picture, area image.Rectangle, move image.Point) {
	g.resize(area)
	// Only what came from inside the screen can match.
	came := is.bounds().Intersect(is.bounds().Add(move))
	x0, x1 := max((came.Min.X+cellSize-1)/cellSize, area.Min.X), min(came.Max.X/cellSize, area.Max.X)
	y0, y1 := max((came.Min.Y+cellSize-1)/cellSize, area.Min.Y), min(came.Max.Y/cellSize, area.Max.Y)
	if x0 >= x1 {
		return
	}
	for cy := y0; cy < y1; cy++ {
		marks := g.row(cy)[x0-area.Min.X : x1-area.Min.X]
		for i := range marks {
			marks[i] = true
		}
		// Row by row, as the memory lies.
		for y := cy * cellSize; y < (cy+1)*cellSize; y++ {
			a := is.row(y, x0*cellSize, x1*cellSize)
			b := was.row(y-move.Y, x0*cellSize-move.X, x1*cellSize-move.X)
			if equal(a, b) { // as most rows are when the whole area has moved
				continue
			}
			for i := range marks {
				if marks[i] && !equal(a[i*cellSize:][:cellSize], b[i*cellSize:][:cellSize]) {
					marks[i] = false
				}
			}
		}
	}
}

// clearRight takes away the marks of cells that r touches and that have become
// equal.
func (g *grid) clearRight(was, is picture, r image.Rectangle) {
	eachCell(r, func(cx, cy int) {
		if !image.Pt(cx, cy).In(g.area) {
			return
		}
		mark := &g.row(cy)[cx-g.area.Min.X]
		if *mark && (cellRect(cx, cy, cx+1, cy+1).In(r) || equalCell(was, is, cx, cy)) {
			*mark = false
		}
	})
}
