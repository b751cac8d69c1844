package rfbtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// reader reads numbers and keeps the first error: after it everything reads as
// zero, so that decoders need to look at err only where they loop.
type reader struct {
	r      *bufio.Reader
	offset int64
	in     string
	err    error
}

func newReader(r io.Reader) *reader { return &reader{r: bufio.NewReaderSize(r, 64<<10)} }

// slip records a breach at an offset.
func (r *reader) slip(offset int64, format string, args ...any) {
	if r.err == nil {
		r.err = &Slip{offset, r.in, fmt.Sprintf(format, args...)}
	}
}

// bytes reads n bytes into new memory.
func (r *reader) bytes(n int) []byte {
	b := make([]byte, n)
	if r.err != nil {
		return b
	}
	k, err := io.ReadFull(r.r, b)
	r.offset += int64(k)
	if err != nil {
		r.err = fmt.Errorf("byte %d in %s: %w", r.offset, r.in, err)
		clear(b)
	}
	return b
}

func (r *reader) u8() uint8   { return r.bytes(1)[0] }
func (r *reader) u16() int    { return int(binary.BigEndian.Uint16(r.bytes(2))) }
func (r *reader) u32() uint32 { return binary.BigEndian.Uint32(r.bytes(4)) }

// zero reads n bytes of padding, which must be 0.
func (r *reader) zero(n int) {
	at := r.offset
	for _, b := range r.bytes(n) {
		if b != 0 {
			r.slip(at, "padding is not zero")
			return
		}
	}
}

// text reads a string with its length, of at most limit bytes.
func (r *reader) text(limit uint32) string {
	at := r.offset
	n := r.u32()
	if n > limit {
		r.slip(at, "text of %d bytes", n)
		return ""
	}
	return string(r.bytes(int(n)))
}
