package frame

import (
	"image"
	"math"
	"slices"
	"testing"
)

// A colour is mixed as exactly as eight bits allow, whatever it is and whatever is below.
func TestCursorIsDrawnOver(t *testing.T) {
	pix := make([]uint32, 1)
	for alpha := range 256 {
		for _, top := range []int{0, alpha / 2, alpha} {
			for below := range 256 {
				pix[0] = uint32(below)<<16 | uint32(255-below)<<8 | uint32(below)
				c := Cursor{Width: 1, Height: 1, Pix: []uint32{uint32(alpha)<<24 | uint32(top)*0x010101}}
				c.Draw(pix, 1, image.Rect(0, 0, 1, 1))
				mix := func(below int) uint32 {
					return uint32(top) + uint32(math.Round(float64(below*(255-alpha))/255))
				}
				if want := mix(below)<<16 | mix(255-below)<<8 | mix(below); pix[0] != want {
					t.Fatalf("%#x over %#x: %#x, want %#x", c.Pix[0], below, pix[0], want)
				}
			}
		}
	}
}

// A program may give the X server a cursor that is not premultiplied. Its colours do not run
// over into their neighbours.
func TestCursorThatIsNotPremultiplied(t *testing.T) {
	pix := []uint32{0x00c0c0c0}
	Cursor{Width: 1, Height: 1, Pix: []uint32{0x40ff80c0}}.Draw(pix, 1, image.Rect(0, 0, 1, 1))
	if pix[0] != 0x00ffffff {
		t.Errorf("%#08x", pix[0])
	}
}

func TestCursorIsDrawnWhereItIs(t *testing.T) {
	c := Cursor{X: 10, Y: 20, HotX: 1, HotY: 2, Width: 3, Height: 2, Pix: slices.Repeat([]uint32{0xff123456}, 6)}
	for _, r := range []image.Rectangle{
		image.Rect(0, 0, 40, 40), image.Rect(10, 18, 12, 19), image.Rect(5, 19, 10, 30), image.Rect(0, 0, 9, 18), image.Rect(12, 20, 30, 30),
	} {
		const margin = 2 // of a row, which is not r's
		stride := r.Dx() + margin
		pix := make([]uint32, stride*r.Dy())
		c.Draw(pix, stride, r)
		for i, got := range pix {
			at := r.Min.Add(image.Pt(i%stride, i/stride))
			want := uint32(0)
			if at.In(r) && at.In(image.Rect(9, 18, 12, 20)) {
				want = 0x123456
			}
			if got != want {
				t.Errorf("%v of %v: %#x, want %#x", at, r, got, want)
			}
		}
	}
}
