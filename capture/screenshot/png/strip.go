package png

import (
	"hash/adler32"
	"slices"

	"github.com/klauspost/compress/flate"
)

// strip is a band of rows: what it becomes before and after compression.
type strip struct {
	raw   []byte // filter types and rows
	adler uint32 // checksum of raw
	chunk []byte // the complete IDAT chunk
	zeros []uint32
	// Compressors, made when first needed.
	matching, huffman *flate.Writer
}

// compress makes the chunk of the rows from y0 up to y1. The chunk of the first
// strip begins with the zlib header, every chunk ends with a sync flush, so that
// the next one starts at a whole byte.
func (s *strip) compress(e *encoder, y0, y1 int) {
	cost := s.filter(e, y0, y1)
	s.adler = adler32.Checksum(s.raw)

	var start int
	s.chunk, start = beginChunk(s.chunk[:0], "IDAT")
	if y0 == 0 {
		s.chunk = append(s.chunk, 0x78, 0x01) // deflate, 32 KiB window, fastest
	}
	w := s.writer(cost > photoBits*e.width*(y1-y0))
	w.Reset((*appender)(&s.chunk))
	w.Write(s.raw) // an appender never fails
	w.Flush()
	s.chunk = endChunk(s.chunk, start)
}

// filter fills raw with the rows from y0 up to y1 and returns the estimated bits of
// those that were filtered.
func (s *strip) filter(e *encoder, y0, y1 int) (cost int) {
	s.raw = s.raw[:0]
	for y := y0; y < y1; y++ {
		row, up := e.pix[y*e.stride:][:e.width], s.above(e, y)
		switch {
		case y > y0 && equal(row, up):
			s.raw = appendRepeated(s.raw, len(s.raw)/(y-y0))
		case e.usePalette:
			// Neighbouring numbers say nothing about colours: filters do not help.
			s.raw = append(s.raw, filterNone)
			s.raw = e.palette.appendRow(s.raw, row)
		default:
			filter, bits := chooseFilter(row, up)
			s.raw = appendRGB(s.raw, row, up, filter)
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
func (s *strip) writer(photo bool) *flate.Writer {
	w, level := &s.matching, flate.BestSpeed
	if photo {
		w, level = &s.huffman, flate.HuffmanOnly
	}
	if *w == nil {
		*w, _ = flate.NewWriter(nil, level) // fails for unknown levels only
	}
	return *w
}

// above returns the row above row y.
func (s *strip) above(e *encoder, y int) []uint32 {
	if y > 0 {
		return e.pix[(y-1)*e.stride:][:e.width]
	}
	if len(s.zeros) < e.width {
		s.zeros = make([]uint32, e.width)
	}
	return s.zeros[:e.width]
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
