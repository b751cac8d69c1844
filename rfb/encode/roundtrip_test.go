package encode

import (
	"fmt"
	"image"
	"math/rand/v2"
	"testing"
)

// formats are one of each kind that viewers ask for, and odd ones.
var formats = map[string]PixelFormat{
	"bgrx":       Native,
	"rgbx":       {32, 24, false, true, 255, 255, 255, 0, 8, 16}, // noVNC
	"xrgb":       {32, 24, true, true, 255, 255, 255, 16, 8, 0},
	"xbgr":       {32, 24, true, true, 255, 255, 255, 0, 8, 16},
	"high le":    {32, 24, false, true, 255, 255, 255, 24, 16, 8},
	"high be":    {32, 24, true, true, 255, 255, 255, 24, 16, 8},
	"depth 32":   {32, 32, false, true, 255, 255, 255, 16, 8, 0},
	"30 bits":    {32, 30, false, true, 1023, 1023, 1023, 20, 10, 0},
	"spread":     {32, 24, false, true, 255, 255, 255, 24, 12, 0},
	"565 le":     {16, 16, false, true, 31, 63, 31, 11, 5, 0},
	"565 be":     {16, 16, true, true, 31, 63, 31, 11, 5, 0},
	"555":        {16, 15, false, true, 31, 31, 31, 10, 5, 0},
	"565 in 32":  {32, 16, false, true, 31, 63, 31, 11, 5, 0},
	"bgr233":     {8, 8, false, true, 7, 7, 3, 0, 3, 6},
	"rgb222":     {8, 6, false, true, 3, 3, 3, 4, 2, 0}, // RealVNC
	"map 8":      {8, 8, false, false, 0, 0, 0, 0, 0, 0},
	"map 16 be":  {16, 16, true, false, 0, 0, 0, 0, 0, 0},
	"deep green": {32, 32, true, true, 1, 65535, 1, 31, 8, 0},
}

// content makers fill a picture.
var pictures = map[string]func(rng *rand.Rand, pix []uint32, width int){
	"noise": func(rng *rand.Rand, pix []uint32, width int) {
		for i := range pix {
			pix[i] = rng.Uint32() & 0xffffff
		}
	},
	"gradient": func(rng *rand.Rand, pix []uint32, width int) {
		for i := range pix {
			x, y := i%width, i/width
			pix[i] = uint32(x*2&255)<<16 | uint32(y&255)<<8 | uint32((x+y)&255)
		}
	},
	"text": func(rng *rand.Rand, pix []uint32, width int) {
		ink := []uint32{0xffffff, 0x000000, 0x808080, 0x1a5fb4}
		for i := range pix {
			pix[i] = 0xffffff
			if x, y := i%width, i/width; y%16 > 4 && x%9 > 2 {
				pix[i] = ink[(x*7+y*13+x*y/5)%len(ink)]
			}
		}
	},
	"photo": func(rng *rand.Rand, pix []uint32, width int) {
		for i := range pix {
			x, y, n := i%width, i/width, rng.IntN(7)
			pix[i] = uint32(100+x%128+n)<<16 | uint32(60+y%128+n)<<8 | uint32(20+(x+y)%128+n)
		}
	},
	"screen": func(rng *rand.Rand, pix []uint32, width int) {
		for i := range pix {
			pix[i] = 0x305070
		}
		height := len(pix) / width
		for range 12 {
			x, y := rng.IntN(width), rng.IntN(height)
			w, h := rng.IntN(width-x)+1, rng.IntN(height-y)+1
			c, noise := rng.Uint32()&0xffffff, rng.IntN(3) == 0
			for j := y; j < y+h; j++ {
				for k := x; k < x+w; k++ {
					if noise {
						c = rng.Uint32() & 0xffffff
					}
					pix[j*width+k] = c
				}
			}
		}
	},
}

func init() {
	for _, n := range []int{1, 2, 3, 4, 5, 16, 17, 127, 128, 256, 257} {
		pictures[fmt.Sprintf("%d colours", n)] = func(rng *rand.Rand, pix []uint32, width int) {
			base := rng.Uint32() & 0xffffff
			for i := range pix {
				k := i
				if i >= n {
					k = rng.IntN(n)
					if rng.IntN(4) > 0 {
						pix[i] = pix[i-1]
						continue
					}
				}
				pix[i] = (base + uint32(k%n)*0x010307) & 0xffffff
			}
		}
	}
}

var sides = []image.Point{
	{1, 1}, {1, 3}, {3, 1}, {7, 9}, {8, 8}, {9, 7}, {15, 17}, {16, 16}, {17, 15}, {63, 65}, {64, 64}, {65, 63}, {130, 70}, {2049, 3}, {3, 2049},
}

func rngOf(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// TestRoundTrip sends many pictures over one connection in each encoding and
// format, as own stream, as shared batch and alternating.
func TestRoundTrip(t *testing.T) {
	for _, enc := range []Encoding{Raw, Hextile, Zlib, ZRLE, Tight} {
		for name, format := range formats {
			t.Run(fmt.Sprintf("%v/%s", enc, name), func(t *testing.T) {
				rng := rngOf(t)
				var own, both Streams
				var batch Batch
				encoders := [2]*Encoder{
					NewEncoder(Settings{Format: format, Encoding: enc, Level: rng.IntN(10)}),
					NewEncoder(Settings{Format: format, Encoding: enc, Level: rng.IntN(10), Shared: true}),
				}
				alone, mixed := newViewer(format, 0, 0), newViewer(format, 0, 0)
				for what, paint := range pictures {
					for i, size := range sides {
						pix := make([]uint32, size.X*size.Y)
						paint(rng, pix, size.X)
						src := Block{image.Rectangle{Max: size}, pix, size.X}
						check := func(v *viewer, s *Streams, e *Encoder) {
							batch.Reset()
							e.Encode(&batch, src, src.Rectangle)
							v.width, v.height, v.pix = size.X, size.Y, make([]uint32, len(pix))
							if err := v.update(s.Append(nil, &batch), batch.Rects()); err != nil {
								t.Fatalf("%s of %v: %v", what, size, err)
							}
							if err := v.differs(pix); err != nil {
								t.Fatalf("%s of %v: %v", what, size, err)
							}
						}
						check(alone, &own, encoders[0])
						check(mixed, &both, encoders[i%2])
					}
				}
			})
		}
	}
}
