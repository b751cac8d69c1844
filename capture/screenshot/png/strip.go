package png

import (
	"hash/adler32"
	"slices"

	"github.com/klauspost/compress/flate"
)

// strip is a compressed band of rows.
type strip struct {
	chunk []byte // the complete IDAT chunk
	size  int    // bytes of the rows before compression, with their filter types
	adler uint32 // checksum of those
}

// worker compresses one strip at a time.
type worker struct {
	raw   []byte // the strip's rows
	zeros []uint32
	// Compressors, made when first needed.
	matching, huffman *flate.Writer
}

// compress makes s of the rows from y0 up to y1. The first strip's chunk begins with
// the zlib header; every chunk ends with a sync flush, so that the next one starts
// at a whole byte.
func (w *worker) compress(s *strip, e *encoder, y0, y1 int) {
	cost := w.filter(e, y0, y1)
	s.size, s.adler = len(w.raw), adler32.Checksum(w.raw)

	var start int
	s.chunk, start = beginChunk(s.chunk[:0], "IDAT")
	if y0 == 0 {
		s.chunk = append(s.chunk, 0x78, 0x01) // deflate, 32 KiB window, fastest
	}
	z := w.writer(cost > photoBits*e.width*(y1-y0))
	z.Reset((*appender)(&s.chunk))
	z.Write(w.raw) // an appender never fails
	z.Flush()
	s.chunk = endChunk(s.chunk, start)
}

// filter fills raw with the rows from y0 up to y1 and returns the estimated bits of
// those that were filtered.
func (w *worker) filter(e *encoder, y0, y1 int) (cost int) {
	w.raw = w.raw[:0]
	for y := y0; y < y1; y++ {
		row, up := e.pix[y*e.stride:][:e.width], w.above(e, y)
		switch {
		case y > y0 && equal(row, up):
			w.raw = appendRepeated(w.raw, len(w.raw)/(y-y0))
		case e.usePalette:
			// Neighbouring numbers say nothing about colours: filters do not help.
			w.raw = append(w.raw, filterNone)
			w.raw = e.palette.appendRow(w.raw, row)
		default:
			filter, bits := chooseFilter(row, up)
			w.raw = appendRGB(w.raw, row, up, filter)
			cost += bits
		}
	}
	return cost
}

// photoBits is how many bits a pixel of a strip must need for it to be a photo, in
// which looking for matches takes three times as long as Huffman codes alone and
// gains two percent.
const photoBits = 8

// writer returns the compressor for a strip.
func (w *worker) writer(photo bool) *flate.Writer {
	z, level := &w.matching, flate.BestSpeed
	if photo {
		z, level = &w.huffman, flate.HuffmanOnly
	}
	if *z == nil {
		*z, _ = flate.NewWriter(nil, level) // fails for unknown levels only
	}
	return *z
}

// above returns the row above row y.
func (w *worker) above(e *encoder, y int) []uint32 {
	if y > 0 {
		return e.pix[(y-1)*e.stride:][:e.width]
	}
	if len(w.zeros) < e.width {
		w.zeros = make([]uint32, e.width)
	}
	return w.zeros[:e.width]
}

// appender is an io.Writer that appends to a slice.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

// equal reports whether two rows of equal length are equal. Comparing arrays is
// several times faster than comparing element by element.
func equal(a, b []uint32) bool {
	const n = 16
	for len(a) >= n && len(b) >= n {
		if *(*[n]uint32)(a) != *(*[n]uint32)(b) {
			return false
		}
		a, b = a[n:], b[n:]
	}
	return slices.Equal(a, b)
}
