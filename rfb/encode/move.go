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
	minVotes  = 2  // by chance no two pieces agree, and a wrong move costs little
	maxMoves  = 3  // directions that are tried
	maxCopies = 6  // for each of them
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
		if n < minVotes || dirty.count() < minMoved {
			break
		}
		copies = m.follow(copies, was, is, dirty, move)
	}
	return copies
}

// follow appends the copies of one move. What is now at a point p was at p less
// move.
func (m *mover) follow(copies []Copy, was, is picture, dirty *grid, move image.Point) []Copy {
	area := dirty.bounds() // a second move has little left to explain
	m.match.compare(was, is, area, move)
	first := len(copies)
	for range maxCopies {
		m.best.load(dirty, area)
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

// stretch moves the edges of r, which has moved, outwards by less than a cell while
// all of it has moved: first to the sides, in one pass over the rows.
func stretch(was, is picture, r image.Rectangle, move image.Point) image.Rectangle {
	came := is.bounds().Intersect(was.bounds().Add(move)) // what came from inside the screen
	const most = cellSize - 1
	left, right := min(r.Min.X-came.Min.X, most), min(came.Max.X-r.Max.X, most)
	for y := r.Min.Y; y < r.Max.Y && left+right > 0; y++ {
		a := is.row(y, r.Min.X-left, r.Max.X+right)
		b := was.row(y-move.Y, r.Min.X-left-move.X, r.Max.X+right-move.X)
		for i := range left {
			if k := left - 1 - i; a[k] != b[k] {
				a, b, left = a[k+1:], b[k+1:], i
				break
			}
		}
		for i := range right {
			if k := len(a) - right + i; a[k] != b[k] {
				right = i
				break
			}
		}
	}
	r.Min.X, r.Max.X = r.Min.X-left, r.Max.X+right
	for top := r; r.Min.Y > max(came.Min.Y, top.Min.Y-most); r.Min.Y-- {
		if !moved(was, is, image.Rect(r.Min.X, r.Min.Y-1, r.Max.X, r.Min.Y), move) {
			break
		}
	}
	for end := r; r.Max.Y < min(came.Max.Y, end.Max.Y+most); r.Max.Y++ {
		if !moved(was, is, image.Rect(r.Min.X, r.Max.Y, r.Max.X, r.Max.Y+1), move) {
			break
		}
	}
	return r
}
