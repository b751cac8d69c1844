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

// Carry moves the marks in lossy, a set of a viewer's inexact cells, along with
// the copy: the target is inexact where the source was, and exact elsewhere.
func (c Copy) Carry(lossy *frame.CellSet) {
	if lossy.Empty() {
		return
	}
	cols, _ := lossy.Size()
	var moved []image.Rectangle
	from := c.From()
	eachCell(from, func(cx, cy int) {
		if cx < cols && lossy.Has(cx, cy) {
			moved = append(moved, cellRect(cx, cy, cx+1, cy+1).Intersect(from).Add(c.Dst.Min.Sub(c.Src)))
		}
	})
	removeCovered(lossy, lossy.Bounds(), c.Dst)
	for _, r := range moved {
		lossy.AddRect(r)
	}
}

// apply does the copy to a picture.
func (c Copy) apply(pix []uint32, width int) {
	rows, w := c.Dst.Dy(), c.Dst.Dx()
	y, end, step := 0, rows, 1
	if c.Src.Y < c.Dst.Min.Y { // upwards, or rows are lost before they are copied
		y, end, step = rows-1, -1, -1
	}
	for ; y != end; y += step {
		copy(pix[(c.Dst.Min.Y+y)*width+c.Dst.Min.X:][:w], pix[(c.Src.Y+y)*width+c.Src.X:])
	}
}

// cellRect returns the pixels of cells.
func cellRect(cx0, cy0, cx1, cy1 int) image.Rectangle {
	const n = cellSize
	return image.Rect(cx0*n, cy0*n, cx1*n, cy1*n)
}

// eachCell calls f for every cell that r touches.
func eachCell(r image.Rectangle, f func(cx, cy int)) {
	if r.Empty() {
		return
	}
	for cy := r.Min.Y / cellSize; cy <= (r.Max.Y-1)/cellSize; cy++ {
		for cx := r.Min.X / cellSize; cx <= (r.Max.X-1)/cellSize; cx++ {
			f(cx, cy)
		}
	}
}

// removeCovered removes the cells of set that lie wholly inside r. bounds are the
// set's own: a cell that the screen's edge cuts off lies inside when r reaches as far.
func removeCovered(set *frame.CellSet, bounds, r image.Rectangle) {
	const n = cellSize
	covered := image.Rectangle{ // may be empty, so not by image.Rect, which would swap
		Min: image.Pt((r.Min.X+n-1)/n*n, (r.Min.Y+n-1)/n*n),
		Max: image.Pt(r.Max.X/n*n, r.Max.Y/n*n),
	}
	if r.Max.X >= bounds.Max.X {
		covered.Max.X = bounds.Max.X
	}
	if r.Max.Y >= bounds.Max.Y {
		covered.Max.Y = bounds.Max.Y
	}
	set.RemoveRect(covered)
}
