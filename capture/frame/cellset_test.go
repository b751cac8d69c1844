package frame

import (
	"image"
	"maps"
	"testing"
)

// cellsOf is the slow and obvious set of the cells that r touches.
func cellsOf(r image.Rectangle, width, height int) map[image.Point]bool {
	set := map[image.Point]bool{}
	r = r.Intersect(image.Rect(0, 0, width, height))
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			set[image.Pt(x/CellSize, y/CellSize)] = true
		}
	}
	return set
}

func checkSet(t *testing.T, s *CellSet, want map[image.Point]bool, width, height int) {
	t.Helper()
	cols, rows := s.Size()
	if cols != (width+7)/8 || rows != (height+7)/8 {
		t.Fatalf("size %d, %d for %dx%d pixels", cols, rows, width, height)
	}
	var bounds image.Rectangle
	for cy := range rows {
		for cx := range cols {
			p := image.Pt(cx, cy)
			if s.Has(cx, cy) != want[p] {
				t.Fatalf("Has(%d, %d) = %v", cx, cy, !want[p])
			}
			if want[p] {
				bounds = bounds.Union(image.Rect(cx*8, cy*8, cx*8+8, cy*8+8))
			}
		}
	}
	bounds = bounds.Intersect(image.Rect(0, 0, width, height))
	if s.Count() != len(want) || s.Empty() != (len(want) == 0) || s.Bounds() != bounds {
		t.Fatalf("Count %d, Empty %v, Bounds %v; want %d cells in %v", s.Count(), s.Empty(), s.Bounds(), len(want), bounds)
	}
}

func TestCellSet(t *testing.T) {
	rnd := seeded(t)
	var s, o CellSet // reused over all sizes, as their users do
	if !s.Empty() || s.Count() != 0 || !s.Bounds().Empty() {
		t.Error("the zero CellSet is not empty")
	}
	for _, width := range sides {
		for _, height := range sides {
			s.Resize(width, height)
			want := map[image.Point]bool{}
			for range 20 {
				r := randomRect(rnd, width, height)
				switch rnd.IntN(4) {
				case 0:
					s.AddRect(r)
					for p := range cellsOf(r, width, height) {
						want[p] = true
					}
				case 1:
					s.RemoveRect(r)
					for p := range cellsOf(r, width, height) {
						delete(want, p)
					}
				case 2:
					s.KeepRect(r)
					kept := cellsOf(r, width, height)
					maps.DeleteFunc(want, func(p image.Point, _ bool) bool { return !kept[p] })
				case 3:
					o.Resize(width, height)
					o.AddRect(r)
					s.Union(&o)
					for p := range cellsOf(r, width, height) {
						want[p] = true
					}
				}
				checkSet(t, &s, want, width, height)
			}
		}
	}
}
