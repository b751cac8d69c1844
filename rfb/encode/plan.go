package encode

import (
	"encoding/binary"
	"image"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// Copy moves pixels inside the viewer's own picture: Dst gets what the
// rectangle of the same size at Src showed. The two may overlap.
type Copy struct {
	Dst image.Rectangle
	Src image.Point
}

// Append appends the copy as a CopyRect rectangle, header included.
func (c Copy) Append(dst []byte) []byte {
	dst = AppendRectHeader(dst, c.Dst, CopyRect)
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Src.X))
	return binary.BigEndian.AppendUint16(dst, uint16(c.Src.Y))
}

// From returns the rectangle that is copied.
func (c Copy) From() image.Rectangle {
	return c.Dst.Add(c.Src.Sub(c.Dst.Min))
}

// Carry moves the marks in lossy along with the copy: the target is inexact
// where the source was, and exact elsewhere.
func (c Copy) Carry(lossy *frame.CellSet) {
	if lossy.Empty() {
		return
	}
	cols, _ := lossy.Size()
	var moved []image.Rectangle
	eachCell(c.From(), func(cx, cy int) {
		if cx < cols && lossy.Has(cx, cy) {
			cell := image.Rect(cx, cy, cx+1, cy+1)
			cell.Min, cell.Max = cell.Min.Mul(frame.CellSize), cell.Max.Mul(frame.CellSize)
			moved = append(moved, cell.Intersect(c.From()).Add(c.Dst.Min.Sub(c.Src)))
		}
	})
	removeCovered(lossy, c.Dst)
	for _, r := range moved {
		lossy.AddRect(r)
	}
}

// Plan leads from one picture of a screen to the next: first the copies, in
// order, then the rectangles, which do not overlap.
type Plan struct {
	Copies []Copy
	Rects  []image.Rectangle
}

// Planner makes plans. It keeps its working memory, so that what it returns is
// valid until its next call, and is not safe for concurrent use.
type Planner struct {
	plan Plan
	open []run // rectangles of Cover that the next row of cells may lengthen
}

// Plan returns the way from the picture shown to the picture next, both of the
// given size without gaps between rows. They may differ only in the cells of
// dirty, and are equal when Plan returns: it changes shown. With copies false no
// Copy is planned.
func (p *Planner) Plan(shown, next []uint32, width, height int, dirty *frame.CellSet, copies bool) Plan {
	p.plan.Copies = p.plan.Copies[:0]
	p.Cover(dirty)
	for _, r := range p.plan.Rects {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			copy(shown[y*width+r.Min.X:y*width+r.Max.X], next[y*width+r.Min.X:])
		}
	}
	return p.plan
}

// run is a rectangle of cells that still grows downwards.
type run struct{ x0, x1, y0 int }

// Cover returns rectangles that cover each cell of the set exactly once and
// nothing else: runs of cells in a row, joined with equal runs below.
func (p *Planner) Cover(set *frame.CellSet) []image.Rectangle {
	p.plan.Rects = p.plan.Rects[:0]
	p.open = p.open[:0]
	bounds := set.Bounds()
	cols, rows := set.Size()
	for cy := range rows {
		kept := p.open[:0:0]
		for cx := 0; cx < cols; cx++ {
			if !set.Has(cx, cy) {
				continue
			}
			r := run{cx, cx, cy}
			for r.x1 < cols && set.Has(r.x1, cy) {
				r.x1++
			}
			cx = r.x1
			for i, o := range p.open {
				if o.x0 == r.x0 && o.x1 == r.x1 {
					r.y0 = o.y0
					p.open[i] = run{}
					break
				}
			}
			kept = append(kept, r)
		}
		p.closeRuns(cy, bounds)
		p.open = kept
	}
	p.closeRuns(rows, bounds)
	return p.plan.Rects
}

// closeRuns turns the open runs that end above cell row cy into rectangles.
func (p *Planner) closeRuns(cy int, bounds image.Rectangle) {
	for _, o := range p.open {
		if o.x1 > o.x0 {
			r := image.Rect(o.x0*frame.CellSize, o.y0*frame.CellSize, o.x1*frame.CellSize, cy*frame.CellSize)
			p.plan.Rects = append(p.plan.Rects, r.Intersect(bounds))
		}
	}
}

// eachCell calls f for every cell that r touches.
func eachCell(r image.Rectangle, f func(cx, cy int)) {
	if r.Empty() {
		return
	}
	for cy := r.Min.Y / frame.CellSize; cy <= (r.Max.Y-1)/frame.CellSize; cy++ {
		for cx := r.Min.X / frame.CellSize; cx <= (r.Max.X-1)/frame.CellSize; cx++ {
			f(cx, cy)
		}
	}
}

// removeCovered removes the cells that lie wholly inside r.
func removeCovered(set *frame.CellSet, r image.Rectangle) {
	const n = frame.CellSize
	set.RemoveRect(image.Rect((r.Min.X+n-1)/n*n, (r.Min.Y+n-1)/n*n, r.Max.X/n*n, r.Max.Y/n*n))
}
