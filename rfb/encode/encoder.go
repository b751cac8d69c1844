package encode

import (
	"image"

	"github.com/falleng0d/computer-use-mcp/rfb/encode/internal/deflate"
)

// Encoder encodes rectangles with one set of settings. It keeps its working
// memory and is not safe for concurrent use.
type Encoder struct {
	set    Settings
	pixel  converter // of PIXEL, CPIXEL or TPIXEL, as the encoding needs
	colour palette   // of the rectangle or tile at hand
	parts  contentParts
	small  bool     // whether the update is small
	zeros  []uint32 // a row of black

	// The data of the rectangle at hand, before compression.
	data     []byte
	segments []segment
	shared   [streamCount]*deflate.Writer
}

// NewEncoder returns an encoder. Settings that cannot be are corrected: JPEG is for
// Tight with at least 16 bits of true colour, the gradient filter for Tight with
// eight bits of each colour, levels are 0 to 9.
func NewEncoder(s Settings) *Encoder {
	s.Level = min(max(s.Level, 0), 9)
	if s.Encoding != Tight || !s.Format.TrueColour || s.Format.BitsPerPixel < 16 {
		s.JPEG = JPEG{}
	}
	s.Gradient = s.Gradient && s.Encoding == Tight && s.Format.tightRGB()
	e := &Encoder{set: s}
	kind := wholePixel
	switch s.Encoding {
	case ZRLE:
		kind = compactPixel
	case Tight:
		kind = tightPixel
	}
	e.pixel.reset(s.Format, kind)
	return e
}

// Settings returns the encoder's settings.
func (e *Encoder) Settings() Settings { return e.set }

// Encode appends the rectangles rs, which must lie in src and not overlap, to b.
// One rectangle may become several.
func (e *Encoder) Encode(b *Batch, src Block, rs ...image.Rectangle) {
	for _, w := range e.shared {
		if w != nil {
			w.Forget() // the viewers may have nothing before this in common
		}
	}
	area := 0
	for _, r := range rs {
		area += size(r)
	}
	e.small = area <= smallUpdate
	for _, r := range rs {
		if r.Empty() {
			continue
		}
		switch e.set.Encoding {
		case Hextile:
			e.hextile(b, src.Sub(r))
		case Zlib:
			split(r, maxZlibWidth, maxZlibArea, func(r image.Rectangle) { e.zlib(b, src.Sub(r)) })
		case ZRLE:
			split(r, maxZlibWidth, maxZlibArea, func(r image.Rectangle) { e.zrle(b, src.Sub(r)) })
		case Tight:
			e.tight(b, src.Sub(r))
		default:
			e.raw(b, src.Sub(r))
		}
	}
}

// One Zlib or ZRLE rectangle is at most so big, which bounds the memory that it
// takes here and in a viewer.
const (
	maxZlibWidth = 4096
	maxZlibArea  = 1 << 18
)

// split calls f for parts of r that are at most width wide and area big.
func split(r image.Rectangle, width, area int, f func(r image.Rectangle)) {
	for x := r.Min.X; x < r.Max.X; x += width {
		w := min(width, r.Max.X-x)
		h := max(area/w, 1)
		for y := r.Min.Y; y < r.Max.Y; y += h {
			f(image.Rect(x, y, x+w, min(y+h, r.Max.Y)))
		}
	}
}

// raw appends one rectangle of plain pixels.
func (e *Encoder) raw(b *Batch, src Block) {
	b.rect(src.Rectangle, Raw)
	b.buf = e.pixels(b.buf, src)
}

// zlib appends one rectangle of plain pixels, compressed.
func (e *Encoder) zlib(b *Batch, src Block) {
	b.rect(src.Rectangle, Zlib)
	e.data = e.pixels(e.data[:0], src)
	e.compressAll(b, streamZlib, e.pixel.size(), e.effort(e.pixel.size(), repeats(src)))
}

// pixels appends the pixels of src.
func (e *Encoder) pixels(dst []byte, src Block) []byte {
	for y := range src.Dy() {
		dst = e.pixel.row(dst, src.row(y))
	}
	return dst
}

// compressAll ends a rectangle's part with e.data, all of one kind, as data of a
// stream.
func (e *Encoder) compressAll(b *Batch, stream streamID, unit int, effort deflate.Effort) {
	e.segments = append(e.segments[:0], segment{len(e.data), unit, effort})
	e.compress(b, stream)
}

// compress ends a rectangle's part with e.data, which e.segments describe, as data
// of a stream.
func (e *Encoder) compress(b *Batch, stream streamID) {
	from := len(b.buf)
	if !e.set.Shared {
		b.buf = append(b.buf, e.data...)
		b.segments = append(b.segments, e.segments...)
		b.endPart(from, len(e.segments), stream)
		return
	}
	w := e.shared[stream]
	if w == nil {
		w = new(deflate.Writer)
		e.shared[stream] = w
	}
	b.buf = compress(w, b.buf, e.data, e.segments)
	b.endPart(from, 0, stream)
}

// smallUpdate is how many pixels an update may have to be worth more time for each.
const smallUpdate = 1 << 16

// effort chooses how hard to compress data of units of some bytes. Photos have few
// matches worth a search; what programs draw has many.
func (e *Encoder) effort(unit int, drawn bool) deflate.Effort {
	thorough := e.small || e.set.Level >= 6
	switch {
	case e.set.Level == 0:
		return deflate.Effort{}
	case e.set.Level == 1:
		return deflate.Effort{Depth: 1}
	case drawn && unit == 1 && thorough:
		return deflate.Effort{Depth: 32, Lazy: 32}
	case drawn && unit == 1:
		return deflate.Effort{Depth: 8, Lazy: 16}
	case drawn && thorough:
		return deflate.Effort{Depth: 32}
	case drawn:
		return deflate.Effort{Depth: 16}
	case e.set.Level > 2, thorough && !e.set.Gradient: // the filter leaves hardly any matches
		return deflate.Effort{Depth: 8}
	}
	return deflate.Effort{Depth: 1}
}
