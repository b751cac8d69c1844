package encode

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

const benchWidth, benchHeight = 1280, 800

// glyphs makes 64 letters of 9 by 16 pixels with grey edges.
func glyphs(rng *rand.Rand) (g [64][9 * 16]uint32) {
	for i := range g {
		for p := range g[i] {
			g[i][p] = 0xffffff
		}
		for range 3 + rng.IntN(3) { // strokes
			x, y := 1+rng.Float64()*6, 3+rng.Float64()*9
			a := float64(rng.IntN(4)) * math.Pi / 4
			for range 14 {
				x, y = x+math.Cos(a)/2, y+math.Sin(a)/2
				for _, d := range []image.Point{{0, 0}, {1, 0}, {0, 1}} {
					if px, py := int(x)+d.X, int(y)+d.Y; px < 8 && px > 0 && py < 15 && py > 1 {
						shade := uint32(16*rng.IntN(4)) + uint32(60*(d.X+d.Y))
						g[i][py*9+px] = shade * 0x010101
					}
				}
			}
		}
	}
	return g
}

// drawText fills r with lines of words.
func drawText(rng *rand.Rand, g *[64][9 * 16]uint32, pix []uint32, r image.Rectangle) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			pix[y*benchWidth+x] = 0xffffff
		}
	}
	for y := r.Min.Y; y+16 <= r.Max.Y; y += 20 {
		for x := r.Min.X + 8; x+9 <= r.Max.X; x += 9 {
			if rng.IntN(6) == 0 {
				continue
			}
			letter := &g[int(math.Abs(rng.NormFloat64())*14)%64]
			for j := range 16 {
				copy(pix[(y+j)*benchWidth+x:][:9], letter[j*9:])
			}
		}
	}
}

// drawPhoto fills r with hills of light and a camera's grain.
func drawPhoto(rng *rand.Rand, pix []uint32, r image.Rectangle) {
	var wave [6][3]float64
	for i := range wave {
		wave[i] = [3]float64{rng.Float64() * 0.04, rng.Float64() * 0.04, rng.Float64() * 6}
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			var v [3]float64
			for i, w := range wave {
				v[i%3] += math.Sin(float64(x)*w[0]+float64(y)*w[1]+w[2]) * 40
			}
			grain := rng.NormFloat64() * 3
			p := uint32(0)
			for _, c := range v {
				p = p<<8 | uint32(min(max(128+c+v[0]/2+grain, 0), 255))
			}
			pix[y*benchWidth+x] = p
		}
	}
}

// benchScreens are the screens that all measurements use: two pictures each, of
// which the second differs from the first in area.
func benchScreens() map[string]*benchScreen {
	rng := rand.New(rand.NewPCG(20, 26))
	g := glyphs(rng)
	screens := map[string]*benchScreen{}
	for _, name := range []string{"text", "photo", "scroll", "noise", "strip"} {
		s := &benchScreen{a: make([]uint32, benchWidth*benchHeight)}
		for i := range s.a {
			s.a[i] = 0x305070
		}
		drawPhoto(rng, s.a, image.Rect(900, 60, 1200, 300))
		drawText(rng, &g, s.a, image.Rect(100, 70, 860, 730))
		s.b = append([]uint32(nil), s.a...)
		switch name {
		case "text":
			s.area = image.Rect(100, 70, 860, 730)
			drawText(rng, &g, s.b, s.area)
		case "photo":
			s.area = image.Rect(320, 150, 960, 510)
			drawPhoto(rng, s.b, s.area)
		case "scroll":
			s.area = image.Rect(100, 70, 860, 730)
			for y := s.area.Min.Y; y < s.area.Max.Y-60; y++ {
				copy(s.b[y*benchWidth+s.area.Min.X:][:s.area.Dx()], s.a[(y+60)*benchWidth+s.area.Min.X:])
			}
			drawText(rng, &g, s.b, image.Rect(100, 670, 860, 730))
		case "strip": // of a photo, uncovered by a window that is dragged
			s.area = image.Rect(320, 150, 740, 162)
			drawPhoto(rng, s.b, s.area)
		case "noise":
			s.area = image.Rect(320, 150, 960, 510)
			for y := s.area.Min.Y; y < s.area.Max.Y; y++ {
				for x := s.area.Min.X; x < s.area.Max.X; x++ {
					s.b[y*benchWidth+x] = rng.Uint32() & 0xffffff
				}
			}
		}
		screens[name] = s
	}
	return screens
}

type benchScreen struct {
	a, b []uint32
	area image.Rectangle
}

// BenchmarkUpdate takes a viewer from one picture of a screen to another and back:
// plan, encoding and compression. MB/s are of changed 32-bit pixels, B/update is what
// goes out.
func BenchmarkUpdate(b *testing.B) {
	modes := []struct {
		name string
		set  Settings
	}{
		{"tight", Settings{Format: Native, Encoding: Tight, Level: 2}},
		{"tight-gradient", Settings{Format: Native, Encoding: Tight, Level: 2, Gradient: true}},
		{"tight-shared", Settings{Format: Native, Encoding: Tight, Level: 2, Gradient: true, Shared: true}},
		{"tight-q6", Settings{Format: formats["rgbx"], Encoding: Tight, Level: 2, JPEG: QualityLevel(6)}},
		{"zrle", Settings{Format: Native, Encoding: ZRLE, Level: 2}},
		{"zlib", Settings{Format: Native, Encoding: Zlib, Level: 2}},
		{"hextile", Settings{Format: Native, Encoding: Hextile}},
		{"raw", Settings{Format: Native, Encoding: Raw}},
	}
	screens := benchScreens()
	for _, name := range []string{"text", "photo", "scroll", "noise", "strip"} {
		for _, m := range modes {
			b.Run(fmt.Sprintf("%s/%s", name, m.name), func(b *testing.B) {
				s := screens[name]
				e := NewEncoder(m.set)
				var p Planner
				var batch Batch
				var streams Streams
				var out []byte
				var dirty frame.CellSet
				shown := append([]uint32(nil), s.a...)
				total, n := 0, 0
				b.SetBytes(int64(size(s.area) * 4))
				b.ReportAllocs()
				for b.Loop() {
					next := s.b
					if n%2 == 1 {
						next = s.a
					}
					dirty.Resize(benchWidth, benchHeight)
					dirty.AddRect(s.area)
					plan := p.Plan(shown, next, benchWidth, benchHeight, &dirty, true)
					batch.Reset()
					e.Encode(&batch, Block{image.Rect(0, 0, benchWidth, benchHeight), next, benchWidth}, plan.Rects...)
					out = out[:0]
					for _, c := range plan.Copies {
						out = c.Append(out)
					}
					out = streams.Append(out, &batch)
					total += len(out)
					n++
				}
				b.ReportMetric(float64(total)/float64(n), "B/update")
			})
		}
	}
}

// BenchmarkPlan measures the plan alone. Strewn are single pixels all over the
// screen.
func BenchmarkPlan(b *testing.B) {
	screens := benchScreens()
	strewn := &benchScreen{a: screens["text"].a, area: image.Rect(0, 0, benchWidth, benchHeight)}
	strewn.b = append([]uint32(nil), strewn.a...)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10000 {
		strewn.b[rng.IntN(len(strewn.b))] ^= 0x123456
	}
	screens["strewn"] = strewn
	for name, s := range screens {
		b.Run(name, func(b *testing.B) {
			var p Planner
			var dirty frame.CellSet
			shown := append([]uint32(nil), s.a...)
			b.SetBytes(int64(size(s.area) * 4))
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				next := s.b
				if n%2 == 1 {
					next = s.a
				}
				dirty.Resize(benchWidth, benchHeight)
				dirty.AddRect(s.area)
				p.Plan(shown, next, benchWidth, benchHeight, &dirty, true)
			}
		})
	}
}
