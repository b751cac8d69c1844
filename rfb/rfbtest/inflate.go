package rfbtest

import (
	"compress/zlib"
	"fmt"
	"io"
	"iter"
)

// inflater reads a zlib stream that arrives in pieces, one for each rectangle. It
// tells exactly what each piece holds: a server must end a piece so that all of
// it can be decoded, and may put nothing more into it than the rectangle needs.
type inflater struct {
	input []byte
	next  func() ([]byte, bool)
	stop  func()
	err   error
}

// maxInflated bounds what one piece may hold.
const maxInflated = 512 << 20

// piece returns what a piece of the stream inflates to.
func (z *inflater) piece(data []byte, limit int) ([]byte, error) {
	if z.next == nil {
		z.next, z.stop = iter.Pull(func(yield func([]byte) bool) { z.run(yield) })
	}
	z.input = data
	var out []byte
	for {
		got, ok := z.next()
		if !ok {
			return nil, fmt.Errorf("zlib stream ended: %v", z.err)
		}
		if got == nil {
			return out, nil // it wants more input
		}
		if out = append(out, got...); len(out) > limit {
			return nil, fmt.Errorf("zlib data inflate to more than %d bytes", limit)
		}
	}
}

// run inflates for ever. It yields what it gets, and nil when it needs input.
func (z *inflater) run(yield func([]byte) bool) {
	r, err := zlib.NewReader(feed{z, yield})
	buf := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = r.Read(buf)
		if n > 0 && !yield(buf[:n]) {
			return
		}
	}
	z.err = err
}

// close ends run.
func (z *inflater) close() {
	if z.stop != nil {
		z.stop()
	}
}

// feed is the inflater's input. Reading past its end hands control back.
type feed struct {
	z     *inflater
	yield func([]byte) bool
}

func (f feed) ReadByte() (byte, error) {
	for len(f.z.input) == 0 {
		if !f.yield(nil) {
			return 0, io.ErrClosedPipe
		}
	}
	b := f.z.input[0]
	f.z.input = f.z.input[1:]
	return b, nil
}

func (f feed) Read(p []byte) (int, error) {
	b, err := f.ReadByte()
	if err != nil || len(p) == 0 {
		return 0, err
	}
	p[0] = b
	return 1, nil
}
