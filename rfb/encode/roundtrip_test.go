package encode

import (
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
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
					NewEncoder(Settings{Format: format, Encoding: enc, Level: rng.IntN(10), Gradient: true}),
					NewEncoder(Settings{Format: format, Encoding: enc, Level: rng.IntN(10), Gradient: rng.IntN(2) == 0, Shared: true}),
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

// TestOneBatchForMany appends one batch to viewers whose streams have seen other
// things: nothing, an own history, other batches.
func TestOneBatchForMany(t *testing.T) {
	rng := rngOf(t)
	for _, enc := range []Encoding{Zlib, ZRLE, Tight} {
		set := Settings{Format: formats["rgbx"], Encoding: enc, Level: 3}
		alone := NewEncoder(set)
		set.Shared = true
		shared := NewEncoder(set)
		var streams [6]Streams
		var viewers [6]*viewer
		for i := range viewers {
			viewers[i] = newViewer(set.Format, 200, 150)
		}
		for round := range 40 {
			pix := make([]uint32, 200*150)
			for _, content := range []string{"screen", "text", "photo", "17 colours"}[round%4:][:1] {
				pictures[content](rng, pix, 200)
			}
			src := Block{image.Rect(0, 0, 200, 150), pix, 200}
			var b Batch
			shared.Encode(&b, src, src.Rectangle)
			for i, v := range viewers {
				batch := &b
				switch {
				case i > round:
					continue // comes later
				case rng.IntN(4) == 0:
					batch = new(Batch)
					alone.Encode(batch, src, src.Rectangle)
				}
				if err := v.update(streams[i].Append(nil, batch), batch.Rects()); err != nil {
					t.Fatalf("%v, viewer %d, round %d: %v", enc, i, round, err)
				}
				if err := v.differs(pix); err != nil {
					t.Fatalf("%v, viewer %d, round %d: %v", enc, i, round, err)
				}
			}
		}
	}
}

// TestBlocksLieAnywhere encodes parts of a screen, with the cursor's block apart.
func TestBlocksLieAnywhere(t *testing.T) {
	rng := rngOf(t)
	pix := make([]uint32, 300*200)
	pictures["screen"](rng, pix, 300)
	whole := Block{image.Rect(0, 0, 300, 200), pix, 300}
	for _, enc := range []Encoding{Raw, Hextile, Zlib, ZRLE, Tight} {
		v := newViewer(Native, 300, 200)
		var s Streams
		e := NewEncoder(Settings{Format: Native, Encoding: enc, Level: 2, Shared: true})
		var b Batch
		e.Encode(&b, whole, image.Rect(0, 0, 300, 77), image.Rect(0, 77, 133, 200), image.Rectangle{})
		if err := v.update(s.Append(nil, &b), b.Rects()); err != nil {
			t.Fatal(err)
		}
		part := Block{Rectangle: image.Rect(133, 77, 300, 200), Stride: 167}
		for y := 77; y < 200; y++ {
			part.Pix = append(part.Pix, pix[y*300+133:][:167]...)
		}
		b.Reset()
		e.Encode(&b, part, part.Rectangle)
		if err := v.update(s.Append(nil, &b), b.Rects()); err != nil {
			t.Fatal(err)
		}
		if err := v.differs(pix); err != nil {
			t.Errorf("%v: %v", enc, err)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	pix := make([]uint32, 400*300)
	pictures["screen"](rand.New(rand.NewPCG(1, 2)), pix, 400)
	src := Block{image.Rect(0, 0, 400, 300), pix, 400}
	for _, enc := range []Encoding{Raw, Hextile, Zlib, ZRLE, Tight} {
		for _, shared := range []bool{false, true} {
			e := NewEncoder(Settings{Format: formats["565 be"], Encoding: enc, Level: 2, Shared: shared})
			var b Batch
			var s Streams
			var out []byte
			rects := []image.Rectangle{image.Rect(0, 0, 400, 300), image.Rect(3, 3, 20, 20)}
			once := func() {
				b.Reset()
				e.Encode(&b, src, rects...)
				out = s.Append(out[:0], &b)
			}
			for range 5 {
				once()
			}
			if n := testing.AllocsPerRun(20, once); n > 0 {
				t.Errorf("%v, shared %v: %v allocations", enc, shared, n)
			}
		}
	}
}

// FuzzRoundTrip draws from its input and sends it in any encoding and format.
func FuzzRoundTrip(f *testing.F) {
	names := make([]string, 0, len(formats))
	for name := range formats {
		names = append(names, name)
	}
	slices.Sort(names)
	encodings := []Encoding{Raw, Hextile, Zlib, ZRLE, Tight}
	f.Add(uint8(4), uint8(0), uint8(2), uint8(9), []byte("some pixels, some pixels, and then others"))
	f.Add(uint8(3), uint8(5), uint8(0x82), uint8(70), make([]byte, 5000))
	f.Fuzz(func(t *testing.T, enc, format, level, width uint8, data []byte) {
		w := max(int(width), 1)
		h := min(len(data), 20000) / w
		if h == 0 {
			return
		}
		pix := make([]uint32, w*h)
		for i := range pix {
			pix[i] = uint32(data[i]) * 0x030507 & 0xffffff
		}
		src := Block{image.Rect(0, 0, w, h), pix, w}
		set := Settings{
			Format: formats[names[int(format)%len(names)]], Encoding: encodings[int(enc)%len(encodings)],
			Level: int(level & 15), Gradient: level&16 > 0, Shared: level > 127,
		}
		e := NewEncoder(set)
		v := newViewer(set.Format, w, h)
		var s Streams
		for range 2 {
			var b Batch
			e.Encode(&b, src, src.Rectangle)
			if err := v.update(s.Append(nil, &b), b.Rects()); err != nil {
				t.Fatal(err)
			}
			if err := v.differs(pix); err != nil {
				t.Fatal(err)
			}
			for i := range pix {
				pix[i] ^= uint32(data[len(data)-1-i])
			}
		}
	})
}
