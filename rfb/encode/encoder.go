package encode

import "image"

// Encoder encodes rectangles with one set of settings. It keeps its working
// memory and is not safe for concurrent use.
type Encoder struct {
	set   Settings
	pixel converter // of PIXEL, CPIXEL or TPIXEL, as the encoding needs
	flate deflater  // for shared chunks
	data  []byte    // of the rectangle at hand, before compression
}

// NewEncoder returns an encoder.
func NewEncoder(s Settings) *Encoder {
	s.Level = min(max(s.Level, 0), 9)
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

// Encode appends the rectangles rs, which must lie in src, to b. One rectangle
// may become several.
func (e *Encoder) Encode(b *Batch, src Block, rs ...image.Rectangle) {
	b.level = e.set.Level
	for _, r := range rs {
		if !r.Empty() {
			e.raw(b, src.Sub(r))
		}
	}
}

// raw appends one rectangle of plain pixels.
func (e *Encoder) raw(b *Batch, src Block) {
	b.rect(src.Rectangle, Raw)
	for y := range src.Dy() {
		b.buf = e.pixel.row(b.buf, src.row(y))
	}
}
