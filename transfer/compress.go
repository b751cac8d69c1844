package transfer

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds what a compressed archive makes its reader keep, in bytes.
const maxWindow = 8 << 20

// Compress returns a writer that compresses what is written to it. The stream is
// complete when it was closed. It pays where the way between the ends is slower than
// about 300 MB/s.
func Compress(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/4))
}

// Decompress returns a reader of what Compress has written. Closing it frees its
// memory.
func Decompress(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}
