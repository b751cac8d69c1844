package frame

import (
	"image"
	"math/bits"
)

// CellSet is a set of a screen's cells. The zero value is an empty set of an
// empty screen. It is not safe for concurrent use.
type CellSet struct {
	width, height int // of the screen, in pixels
	cols, rows    int
	bits          []uint64
}

// Resize empties the set and fits it to a screen of the given size in pixels.
func (s *CellSet) Resize(width, height int) {
	s.width, s.height = width, height
	s.cols, s.rows = cells(width), cells(height)
	n := words(s.cols * s.rows)
	if cap(s.bits) < n {
		s.bits = make([]uint64, n)
		return
	}
	s.bits = s.bits[:n]
	clear(s.bits)
}

// words returns how many words hold a bit for each of n cells.
func words(n int) int { return (n + 63) / 64 }

// Size returns how many columns and rows of cells the screen has.
func (s *CellSet) Size() (cols, rows int) { return s.cols, s.rows }

func (s *CellSet) add(i int) { s.bits[i/64] |= 1 << (i % 64) }

// Has reports whether the cell in column cx and row cy is in the set.
func (s *CellSet) Has(cx, cy int) bool {
	i := cy*s.cols + cx
	return s.bits[i/64]&(1<<(i%64)) != 0
}

// AddRect adds every cell that r touches.
func (s *CellSet) AddRect(r image.Rectangle) {
	s.each(r, s.add)
}

// RemoveRect removes every cell that r touches.
func (s *CellSet) RemoveRect(r image.Rectangle) {
	s.each(r, func(i int) { s.bits[i/64] &^= 1 << (i % 64) })
}

// KeepRect removes every cell that r does not touch.
func (s *CellSet) KeepRect(r image.Rectangle) {
	var touched CellSet
	touched.Resize(s.width, s.height)
	touched.AddRect(r)
	for i, w := range touched.bits {
		s.bits[i] &= w
	}
}

func (s *CellSet) each(r image.Rectangle, f func(i int)) {
	r = r.Intersect(image.Rect(0, 0, s.width, s.height))
	if r.Empty() {
		return
	}
	for cy := r.Min.Y / CellSize; cy < cells(r.Max.Y); cy++ {
		for cx := r.Min.X / CellSize; cx < cells(r.Max.X); cx++ {
			f(cy*s.cols + cx)
		}
	}
}

// Union adds every cell of o, which must be of the same screen size.
func (s *CellSet) Union(o *CellSet) {
	for i, w := range o.bits {
		s.bits[i] |= w
	}
}

// Count returns how many cells are in the set.
func (s *CellSet) Count() int {
	n := 0
	for _, w := range s.bits {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty reports whether no cell is in the set.
func (s *CellSet) Empty() bool {
	for _, w := range s.bits {
		if w != 0 {
			return false
		}
	}
	return true
}

// Bounds returns the smallest rectangle of pixels that holds every cell of the
// set, cut off at the screen's edge; empty for an empty set.
func (s *CellSet) Bounds() image.Rectangle {
	minX, minY, maxX, maxY := s.cols, s.rows, 0, 0
	for w, word := range s.bits {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			cx, cy := i%s.cols, i/s.cols
			minX, maxX = min(minX, cx), max(maxX, cx+1)
			minY, maxY = min(minY, cy), max(maxY, cy+1)
		}
	}
	if maxX == 0 {
		return image.Rectangle{}
	}
	return image.Rect(minX*CellSize, minY*CellSize, maxX*CellSize, maxY*CellSize).
		Intersect(image.Rect(0, 0, s.width, s.height))
}
