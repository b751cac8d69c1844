package encode

import (
	"github.com/klauspost/compress/flate"
)

// deflater compresses data to raw deflate chunks, each ended by a sync flush.
type deflater struct {
	w     *flate.Writer
	level int // of w
	out   sink
}

// sink is the io.Writer that appends.
type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// append appends data as one chunk that may refer to the data of earlier calls,
// unless forget came in between.
func (d *deflater) append(dst, data []byte, level int) []byte {
	if d.w == nil || d.level != level {
		w, err := flate.NewWriter(&d.out, level)
		if err != nil {
			panic(err) // levels are ours
		}
		d.w, d.level = w, level
	}
	d.out = dst
	d.w.Write(data) // a sink does not fail
	d.w.Flush()
	dst, d.out = d.out, nil
	return dst
}

// forget drops the history: the next chunk will refer to nothing before itself.
func (d *deflater) forget() {
	if d.w != nil {
		d.w.Reset(&d.out)
	}
}
