package encode

import "image"

// mover finds what has moved between two pictures: scrolled text, a dragged
// window. Short pieces of the new picture's rows are looked up in the old one and
// vote for how far things moved. Votes are only a hint: every copy is compared
// pixel by pixel before it is planned.
type mover struct {
	pieces pieces
	votes  votes
	match  grid // cells that the move at hand explains
	best   bestRect
}

const (
	minMoved  = 48 // fewer cells are sent sooner than looked up
	minSaved  = 12 // a copy has to make so many cells right
	minVotes  = 4
	maxMoves  = 3 // directions that are tried
	maxCopies = 6 // for each of them
)

// find appends copies that make pixels of was equal to is, and does them in was.
// dirty has the cells in which the pictures differ; those that a copy makes right
// are removed.
func (m *mover) find(copies []Copy, was, is picture, dirty *grid) []Copy {
	n := dirty.count()
	if n < minMoved {
		return copies
	}
	m.votes.clear()
	m.pieces.collect(is, dirty, n)
	m.pieces.locate(was, dirty, &m.votes)
	for range maxMoves {
		move, n := m.votes.take()
		if n < minVotes {
			break
		}
		copies = m.follow(copies, was, is, dirty, move)
	}
	return copies
}

// follow appends the copies of one move. What is now at a point p was at p less
// move.
func (m *mover) follow(copies []Copy, was, is picture, dirty *grid, move image.Point) []Copy {
	area := dirty.area
	m.match.compare(was, is, area, move)
	first := len(copies)
	for range maxCopies {
		m.best.load(dirty)
		cells, saved := m.best.find(&m.match)
		if saved < minSaved {
			break
		}
		for cy := cells.Min.Y; cy < cells.Max.Y; cy++ {
			clear(m.match.row(cy)[cells.Min.X-area.Min.X : cells.Max.X-area.Min.X])
		}
		r := cellRect(cells.Min.X, cells.Min.Y, cells.Max.X, cells.Max.Y).Intersect(is.bounds())
		// The largest copy comes first and may have overwritten what this one needs.
		if len(copies) > first && !moved(was, is, r, move) {
			continue
		}
		c := Copy{Dst: stretch(was, is, r, move)}
		c.Src = c.Dst.Min.Sub(move)
		c.apply(was.pix, was.width)
		copies = append(copies, c)
		dirty.clearRight(was, is, c.Dst)
	}
	return copies
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
			for i := range marks {
				if !equalEight((*[8]uint32)(a[i*cellSize:]), (*[8]uint32)(b[i*cellSize:])) {
					marks[i] = false
				}
			}
		}
	}
}

// equalEight compares a row of a cell. The comparison of arrays would be a call.
func equalEight(a, b *[8]uint32) bool {
	return (a[0]^b[0])|(a[1]^b[1])|(a[2]^b[2])|(a[3]^b[3])|
		(a[4]^b[4])|(a[5]^b[5])|(a[6]^b[6])|(a[7]^b[7]) == 0
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

// moved reports whether the pixels of r were away by move before.
func moved(was, is picture, r image.Rectangle, move image.Point) bool {
	from := r.Sub(move)
	if !from.In(was.bounds()) {
		return false
	}
	for y := range r.Dy() {
		if !equal(is.row(r.Min.Y+y, r.Min.X, r.Max.X), was.row(from.Min.Y+y, from.Min.X, from.Max.X)) {
			return false
		}
	}
	return true
}

// stretch moves the edges of r outwards, by less than a cell, while all of r has
// moved.
func stretch(was, is picture, r image.Rectangle, move image.Point) image.Rectangle {
	grow := func(edge *int, by int, strip func() image.Rectangle) {
		for range cellSize - 1 {
			*edge += by
			if s := strip(); !s.In(is.bounds()) || !moved(was, is, s, move) {
				*edge -= by
				return
			}
		}
	}
	grow(&r.Min.X, -1, func() image.Rectangle { return image.Rect(r.Min.X, r.Min.Y, r.Min.X+1, r.Max.Y) })
	grow(&r.Max.X, 1, func() image.Rectangle { return image.Rect(r.Max.X-1, r.Min.Y, r.Max.X, r.Max.Y) })
	grow(&r.Min.Y, -1, func() image.Rectangle { return image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+1) })
	grow(&r.Max.Y, 1, func() image.Rectangle { return image.Rect(r.Min.X, r.Max.Y-1, r.Max.X, r.Max.Y) })
	return r
}

// bestRect finds the rectangle of matching cells that saves the most.
type bestRect struct {
	area    image.Rectangle
	sums    []int32 // of the dirty cells above and left of a corner of area's cells
	heights []int   // of the columns of matching cells that end in the row at hand
	stack   []int
}

// load notes which cells a rectangle saves.
func (b *bestRect) load(dirty *grid) {
	b.area = dirty.area
	w := b.area.Dx() + 1
	b.sums = append(b.sums[:0], make([]int32, w*(b.area.Dy()+1))...)
	for y := range b.area.Dy() {
		sum := int32(0)
		for x, marked := range dirty.row(b.area.Min.Y + y) {
			if marked {
				sum++
			}
			b.sums[(y+1)*w+x+1] = b.sums[y*w+x+1] + sum
		}
	}
}

// saved returns how many dirty cells are in a rectangle, counted from area's corner.
func (b *bestRect) saved(x0, y0, x1, y1 int) int {
	w := b.area.Dx() + 1
	return int(b.sums[y1*w+x1] - b.sums[y0*w+x1] - b.sums[y1*w+x0] + b.sums[y0*w+x0])
}

// find returns a rectangle of cells and how many dirty ones it has.
func (b *bestRect) find(match *grid) (best image.Rectangle, most int) {
	w := b.area.Dx()
	b.heights = append(b.heights[:0], make([]int, w+1)...)
	for y := range b.area.Dy() {
		for x, ok := range match.row(b.area.Min.Y + y) {
			if ok {
				b.heights[x]++
			} else {
				b.heights[x] = 0
			}
		}
		// The columns on the stack are ever higher. A lower one, or the end of the
		// row, ends the widest rectangle of each height above it.
		b.stack = b.stack[:0]
		for x := 0; x <= w; x++ {
			for len(b.stack) > 0 && b.heights[b.stack[len(b.stack)-1]] >= b.heights[x] {
				h := b.heights[b.stack[len(b.stack)-1]]
				b.stack = b.stack[:len(b.stack)-1]
				x0 := 0
				if len(b.stack) > 0 {
					x0 = b.stack[len(b.stack)-1] + 1
				}
				if n := b.saved(x0, y+1-h, x, y+1); n > most {
					most = n
					best = image.Rect(x0, y+1-h, x, y+1).Add(b.area.Min)
				}
			}
			b.stack = append(b.stack, x)
		}
	}
	return best, most
}
