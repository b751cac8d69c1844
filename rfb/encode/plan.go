package encode

import (
	"image"
	"unsafe"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// Plan leads from one picture of a screen to the next: first the copies, in
// order, then the rectangles, which do not overlap.
type Plan struct {
	Copies []Copy
	Rects  []image.Rectangle
}

// Planner makes plans. It keeps its working memory, so that what it returns is
// valid until its next call, and is not safe for concurrent use.
type Planner struct {
	plan  Plan
	cells grid // what is still to be sent
	cover coverer
	moves mover
}

const (
	// maxGap is how many unchanged cells in a row are sent along rather than begin
	// another rectangle. A rectangle costs about thirty bytes, a cell of text ten.
	maxGap = 2
	// maxRects bounds the rectangles of a change that is strewn over the screen.
	maxRects = 256
)

// Plan returns the way from the picture shown to the picture next, both of the
// given size without gaps between rows. They may differ only in the cells of
// dirty, and are equal when Plan returns: it changes shown. With copies false no
// Copy is planned.
func (p *Planner) Plan(shown, next []uint32, width, height int, dirty *frame.CellSet, copies bool) Plan {
	p.plan.Copies, p.plan.Rects = p.plan.Copies[:0], p.plan.Rects[:0]
	was := picture{shown, width, height}
	is := picture{next, width, height}
	p.cells.load(dirty)
	if copies {
		p.plan.Copies = p.moves.find(p.plan.Copies, was, is, &p.cells)
	}
	p.dropEqual(was, is)
	for gap := maxGap; ; gap *= 4 {
		p.plan.Rects = p.cover.rects(p.plan.Rects[:0], &p.cells, gap)
		if len(p.plan.Rects) <= maxRects || gap >= p.cells.area.Dx() {
			break
		}
	}
	p.plan.Rects = merge(p.plan.Rects)
	n := 0
	for _, r := range p.plan.Rects {
		r = shrink(was, is, r.Intersect(is.bounds()))
		if r.Empty() {
			continue
		}
		for y := r.Min.Y; y < r.Max.Y; y++ {
			copy(was.row(y, r.Min.X, r.Max.X), is.row(y, r.Min.X, r.Max.X))
		}
		p.plan.Rects[n] = r
		n++
	}
	p.plan.Rects = p.plan.Rects[:n]
	return p.plan
}

// Cover returns rectangles that cover each cell of the set exactly once and
// nothing else.
func (p *Planner) Cover(set *frame.CellSet) []image.Rectangle {
	p.cells.load(set)
	p.plan.Rects = p.cover.rects(p.plan.Rects[:0], &p.cells, 0)
	bounds := set.Bounds()
	for i, r := range p.plan.Rects {
		p.plan.Rects[i] = r.Intersect(bounds)
	}
	return p.plan.Rects
}

// dropEqual removes the cells that are equal in both pictures: those that a copy
// made right.
func (p *Planner) dropEqual(was, is picture) {
	area := p.cells.area
	for cy := area.Min.Y; cy < area.Max.Y; cy++ {
		for x, marked := range p.cells.row(cy) {
			if marked && equalCell(was, is, area.Min.X+x, cy) {
				p.cells.row(cy)[x] = false
			}
		}
	}
}

// shrink cuts off the rows and columns at the edges of r in which the pictures
// are equal.
func shrink(was, is picture, r image.Rectangle) image.Rectangle {
	equalRow := func(y int) bool {
		return equal(was.row(y, r.Min.X, r.Max.X), is.row(y, r.Min.X, r.Max.X))
	}
	for r.Min.Y < r.Max.Y && equalRow(r.Min.Y) {
		r.Min.Y++
	}
	for r.Min.Y < r.Max.Y && equalRow(r.Max.Y-1) {
		r.Max.Y--
	}
	left, right := r.Max.X, r.Min.X
	for y := r.Min.Y; y < r.Max.Y; y++ {
		a, b := was.row(y, r.Min.X, r.Max.X), is.row(y, r.Min.X, r.Max.X)
		for x := 0; x < left-r.Min.X; x++ {
			if a[x] != b[x] {
				left = r.Min.X + x
			}
		}
		for x := len(a) - 1; x >= right-r.Min.X; x-- {
			if a[x] != b[x] {
				right = r.Min.X + x + 1
			}
		}
	}
	return image.Rect(min(left, right), r.Min.Y, right, r.Max.Y)
}

// picture is a whole screen.
type picture struct {
	pix           []uint32
	width, height int
}

func (p picture) bounds() image.Rectangle { return image.Rect(0, 0, p.width, p.height) }

// row returns the pixels of row y from column x0 up to x1.
func (p picture) row(y, x0, x1 int) []uint32 {
	return p.pix[y*p.width+x0 : y*p.width+x1]
}

// equal compares runs of pixels of the same length. The runtime compares arrays of
// bytes in blocks as wide as the processor has.
func equal(a, b []uint32) bool {
	if len(a) == 0 {
		return true
	}
	n := 4 * len(a)
	return string(unsafe.Slice((*byte)(unsafe.Pointer(&a[0])), n)) == string(unsafe.Slice((*byte)(unsafe.Pointer(&b[:len(a)][0])), n))
}

func equalCell(a, b picture, cx, cy int) bool {
	r := cellRect(cx, cy, cx+1, cy+1).Intersect(a.bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		if !equal(a.row(y, r.Min.X, r.Max.X), b.row(y, r.Min.X, r.Max.X)) {
			return false
		}
	}
	return true
}
