package png

import (
	"hash/adler32"

	"github.com/klauspost/compress/flate"
)

// strip is a band of rows: what it becomes before and after compression.
type strip struct {
	raw   []byte // filter types and rows
	adler uint32 // checksum of raw
	chunk []byte // the complete IDAT chunk
	zeros []uint32
	flate *flate.Writer
}

// compress makes the chunk of the rows from y0 up to y1. The chunk of the first
// strip begins with the zlib header, every chunk ends with a sync flush, so that
// the next one starts at a whole byte.
func (s *strip) compress(e *encoder, y0, y1 int) {
	s.raw = s.raw[:0]
	for y := y0; y < y1; y++ {
		row := e.pix[y*e.stride:][:e.width]
		if e.usePalette {
			// Neighbouring numbers say nothing about colours: filters do not help.
			s.raw = append(s.raw, filterNone)
			s.raw = e.palette.appendRow(s.raw, row)
			continue
		}
		s.raw = appendRGB(s.raw, row, s.above(e, y))
	}
	s.adler = adler32.Checksum(s.raw)

	var start int
	s.chunk, start = beginChunk(s.chunk[:0], "IDAT")
	if y0 == 0 {
		s.chunk = append(s.chunk, 0x78, 0x01) // deflate, 32 KiB window, fastest
	}
	if s.flate == nil {
		s.flate, _ = flate.NewWriter(nil, flate.BestSpeed) // fails for unknown levels only
	}
	s.flate.Reset((*appender)(&s.chunk))
	s.flate.Write(s.raw) // an appender never fails
	s.flate.Flush()
	s.chunk = endChunk(s.chunk, start)
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
