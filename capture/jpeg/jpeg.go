// Package jpeg writes baseline JPEG files of screens (ITU-T T.81, JFIF), fast. It
// exists beside image/jpeg because that one always halves the colour resolution,
// which smears coloured text, and costs several times more per pixel.
//
// A picture is encoded in strips of one row of MCUs: pixels become planes of
// luminance and chrominance ([planes]), planes become quantised coefficients
// ([transform]), coefficients become bits ([entropy]). The first two steps have
// AVX2 versions that give the same bits as the Go ones.
package jpeg

import (
	"sync"
	"sync/atomic"
)

// Chroma says how much of the colour resolution is kept.
type Chroma int

// Kinds of chroma subsampling, from the most to the least colour.
const (
	Chroma444 Chroma = iota // colour for each pixel
	Chroma422               // for each pair in a row
	Chroma420               // for each square of four
	Gray                    // none
)

// Options choose size against likeness.
type Options struct {
	Quality int // 1 to 100 on libjpeg's scale; values outside are taken as the nearest
	Chroma  Chroma
}

// MaxSide is the largest width and height that the format can state.
const MaxSide = 65535

// Append appends a JPEG file of the picture to dst, from SOI to EOI, and returns
// the longer slice. pix holds pixels 0x00RRGGBB, stride of them from one row to the
// next; the unused byte is ignored. width and height must be 1 to MaxSide. It may
// be called from any goroutine and allocates nothing when dst has room and
// pictures of this width were encoded before.
func Append(dst []byte, pix []uint32, stride, width, height int, opt Options) []byte {
	e := encoders.Get().(*encoder)
	dst = e.encode(dst, pix, stride, width, height, opt)
	encoders.Put(e)
	return dst
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// encoder holds the working memory of one picture at a time.
type encoder struct {
	geometry geometry
	quant    *quantisers
	planes   planes
	blocks   [3][]block // coefficients of a strip, by component
	entropy  entropy
}

// geometry is how the parts of a picture of some width lie in a strip.
type geometry struct {
	components int
	// h, v is how many blocks of luminance an MCU has across and down. It has one
	// block of each chrominance.
	h, v int
	// columns is the MCUs in a strip; lumaStride and chromaStride are blocks in a
	// row of blocks, more than columns need because the transform takes pairs.
	columns      int
	lumaStride   int
	chromaStride int
}

func newGeometry(width int, chroma Chroma) geometry {
	g := geometry{components: 3, h: 1, v: 1}
	switch chroma {
	case Chroma422:
		g.h = 2
	case Chroma420:
		g.h, g.v = 2, 2
	case Gray:
		g.components = 1
	}
	g.columns = (width + 8*g.h - 1) / (8 * g.h)
	g.lumaStride = (width + groupPixels - 1) / groupPixels * groupPixels / 8
	g.chromaStride = g.lumaStride / g.h
	return g
}

func (e *encoder) encode(dst []byte, pix []uint32, stride, width, height int, opt Options) []byte {
	e.quant = quantisersFor(min(max(opt.Quality, 1), 100))
	g := newGeometry(width, opt.Chroma)
	e.geometry = g
	e.planes.resize(g)
	e.blocks[0] = grow(e.blocks[0], g.lumaStride*g.v)
	for i := 1; i < g.components; i++ {
		e.blocks[i] = grow(e.blocks[i], g.chromaStride)
	}

	e.entropy.begin(e.appendHeader(dst, width, height))
	for y := 0; y < height; y += 8 * g.v {
		e.planes.fill(pix[y*stride:], stride, width, height-y, g)
		e.transformStrip()
		e.writeStrip()
	}
	return append(e.entropy.finish(), 0xff, markerEOI)
}

// transformStrip turns the planes into blocks.
func (e *encoder) transformStrip() {
	g := &e.geometry
	for row := range g.v {
		plane := e.planes.y[row*8*g.lumaStride*8:]
		transform(e.blocks[0][row*g.lumaStride:][:g.lumaStride], plane, &e.quant.luma)
	}
	if g.components == 3 {
		transform(e.blocks[1], e.planes.cb, &e.quant.chroma)
		transform(e.blocks[2], e.planes.cr, &e.quant.chroma)
	}
}

// writeStrip writes the blocks, MCU by MCU.
func (e *encoder) writeStrip() {
	g := &e.geometry
	for column := range g.columns {
		for row := range g.v {
			for i := range g.h {
				e.entropy.write(&e.blocks[0][row*g.lumaStride+column*g.h+i], 0, lumaCodes)
			}
		}
		for i := 1; i < g.components; i++ {
			e.entropy.write(&e.blocks[i][column], i, chromaCodes)
		}
	}
}

// quantisers are those of one quality. They never change.
type quantisers struct{ luma, chroma quantiser }

// made holds the quantisers of the qualities that were asked for, by quality.
var made [101]atomic.Pointer[quantisers]

func quantisersFor(quality int) *quantisers {
	q := made[quality].Load()
	if q == nil {
		q = new(quantisers)
		q.luma.set(&lumaTable, quality)
		q.chroma.set(&chromaTable, quality)
		made[quality].Store(q)
	}
	return q
}

// grow returns s with length n; what it held does not matter.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
