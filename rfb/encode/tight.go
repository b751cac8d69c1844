package encode

import (
	"image"

	"github.com/falleng0d/computer-use-mcp/capture/jpeg"
)

// Tight's limits: decoders keep a row of at most 2048 pixels and expect data below
// twelve bytes to stand there as they are.
const (
	tightWidth = 2048
	tightArea  = 1 << 16
	tightPlain = 12

	// A JPEG smaller than this would be mostly header.
	jpegMinArea = 512
	jpegArea    = 1 << 18
)

// The first byte of a Tight rectangle: the stream in bits 4 and 5, whether a filter
// follows, or one of the two kinds that have no stream. The low bits would reset
// streams, which never happens.
const (
	tightStream   = 4 // shift of the stream's number
	tightFiltered = 0x40
	tightFill     = 0x80
	tightJPEG     = 0x90

	filterPalette  = 1
	filterGradient = 2
)

// tight appends src as Tight rectangles, each of one kind of content.
func (e *Encoder) tight(b *Batch, src Block) {
	if size(src.Rectangle) <= contentTile*contentTile {
		e.tightPart(b, src, e.classify(src))
		return
	}
	e.parts.find(src, e.classify)
	for _, p := range e.parts.found {
		area := tightArea
		if p.kind == photo && e.set.JPEG.Quality > 0 {
			area = jpegArea // the tables of each JPEG take 600 bytes
		}
		split(p.Rectangle, tightWidth, area, func(r image.Rectangle) {
			e.tightPart(b, src.Sub(r), p.content)
		})
	}
}

// tightPart appends a part of one kind of content.
func (e *Encoder) tightPart(b *Batch, src Block, c content) {
	switch {
	case c.kind == solid:
		b.rect(src.Rectangle, Tight)
		b.buf = e.pixel.pixel(append(b.buf, tightFill), c.colour)
	case c.kind == photo && e.set.JPEG.Quality > 0 && size(src.Rectangle) >= jpegMinArea:
		b.rect(src.Rectangle, Tight)
		e.tightJPEG(b, src)
	case c.kind == photo && e.set.Gradient:
		b.rect(src.Rectangle, Tight)
		b.buf = append(b.buf, byte(streamGradient)<<tightStream|tightFiltered, filterGradient)
		e.data = e.gradient(e.data[:0], src)
		e.tightData(b, streamGradient, 3, false)
	case c.kind == photo:
		e.tightFull(b, src, false)
	default:
		e.tightDrawn(b, src)
	}
}

const (
	// A colour must have so many pixels to be worth its place in a palette, which is
	// not compressed.
	paletteShare = 8
	// With too many colours, halves are tried down to this area.
	minHalf = 16384
)

// tightDrawn appends what programs draw: with a palette where that is possible,
// because indices compress to half of what pixels do.
func (e *Encoder) tightDrawn(b *Batch, src Block) {
	area := size(src.Rectangle)
	switch {
	case e.colour.build(src, min(maxColours, max(2, area/paletteShare))):
		e.tightPalette(b, src)
	case area/2 >= minHalf:
		first, second := halves(src.Rectangle)
		e.tightDrawn(b, src.Sub(first))
		e.tightDrawn(b, src.Sub(second))
	default:
		e.tightFull(b, src, true)
	}
}

// halves cuts r across its longer side.
func halves(r image.Rectangle) (first, second image.Rectangle) {
	first, second = r, r
	if r.Dx() >= r.Dy() {
		first.Max.X = r.Min.X + r.Dx()/2
		second.Min.X = first.Max.X
	} else {
		first.Max.Y = r.Min.Y + r.Dy()/2
		second.Min.Y = first.Max.Y
	}
	return first, second
}

// tightFull appends pixels as they are.
func (e *Encoder) tightFull(b *Batch, src Block, drawn bool) {
	b.rect(src.Rectangle, Tight)
	b.buf = append(b.buf, byte(streamFull)<<tightStream)
	e.data = e.pixels(e.data[:0], src)
	e.tightData(b, streamFull, e.pixel.size(), drawn)
}

// tightPalette appends the palette at hand and the indices of src.
func (e *Encoder) tightPalette(b *Batch, src Block) {
	b.rect(src.Rectangle, Tight)
	p := &e.colour
	n := len(p.colours)
	if n == 1 {
		b.buf = e.pixel.pixel(append(b.buf, tightFill), p.colours[0])
		return
	}
	stream := streamIndexed
	if n == 2 {
		stream = streamMono
	}
	b.buf = append(b.buf, byte(stream)<<tightStream|tightFiltered, filterPalette, byte(n-1))
	for _, c := range p.colours {
		b.buf = e.pixel.pixel(b.buf, c)
	}
	if n == 2 {
		e.data = p.packed(e.data[:0], src, 1)
	} else {
		e.data = p.indices(e.data[:0], src)
	}
	e.tightData(b, stream, 1, true)
}

// tightData ends a rectangle with e.data as data of a stream.
func (e *Encoder) tightData(b *Batch, stream streamID, unit int, drawn bool) {
	if len(e.data) < tightPlain {
		b.buf = append(b.buf, e.data...)
		return
	}
	e.compressAll(b, stream, unit, e.effort(unit, drawn))
}

func (e *Encoder) tightJPEG(b *Batch, src Block) {
	q := e.set.JPEG
	e.data = jpeg.Append(e.data[:0], src.Pix, src.Stride, src.Dx(), src.Dy(),
		jpeg.Options{Quality: q.Quality, Chroma: q.Subsampling})
	b.buf = appendCompact(append(b.buf, tightJPEG), len(e.data))
	b.buf = append(b.buf, e.data...)
	b.rects[len(b.rects)-1].lossy = true
}

// gradient appends the pixels of src as red, green and blue, each as its difference
// from what its neighbours left and above predict. Photos become small numbers.
func (e *Encoder) gradient(dst []byte, src Block) []byte {
	n := src.Dx()
	if len(e.zeros) < n {
		e.zeros = make([]uint32, n)
	}
	above := e.zeros[:n]
	for y := range src.Dy() {
		row := src.row(y)
		from := len(dst)
		dst = grow(dst, 3*n)
		gradientRow(dst[from:], row, above)
		above = row
	}
	return dst
}

func gradientRow(out []byte, row, above []uint32) {
	var left, corner uint32
	for i, p := range row {
		up := above[i]
		o := out[3*i : 3*i+3 : 3*i+3]
		o[0] = byte(p>>16) - predict(left>>16, up>>16, corner>>16)
		o[1] = byte(p>>8) - predict(left>>8, up>>8, corner>>8)
		o[2] = byte(p) - predict(left, up, corner)
		left, corner = p, up
	}
}

// predict returns left + up - corner of the low bytes, kept within a byte.
func predict(left, up, corner uint32) byte {
	v := int(left&0xff) + int(up&0xff) - int(corner&0xff)
	return byte(min(max(v, 0), 255))
}
