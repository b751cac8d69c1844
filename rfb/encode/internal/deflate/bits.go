package deflate

import (
	"encoding/binary"
	"slices"
)

// bitWriter appends bits to a buffer, the first bit lowest.
type bitWriter struct {
	out []byte
	acc uint64
	n   uint // bits in acc, below 32 between calls
}

// write appends the low n bits of v; n is at most 32 and v has no others.
func (w *bitWriter) write(v uint64, n uint) {
	w.acc |= v << w.n
	w.n += n
	if w.n >= 32 {
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(w.acc))
		w.acc >>= 32
		w.n -= 32
	}
}

// align fills up the last byte with zero bits.
func (w *bitWriter) align() {
	for w.n > 0 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
		w.n -= min(w.n, 8)
	}
}

// fastWriter writes the bulk of a block into space that was made beforehand.
// Between two flushes at most 56 bits may be added.
type fastWriter struct {
	out []byte
	pos int
	acc uint64
	n   uint
}

// fast begins to write about size bits, endFast ends it.
func (w *bitWriter) fast(size int) fastWriter {
	pos := len(w.out)
	w.out = slices.Grow(w.out, size/8+16)
	f := fastWriter{w.out[:cap(w.out)], pos, w.acc, w.n}
	f.flush()
	return f
}

func (w *bitWriter) endFast(f fastWriter) {
	w.out, w.acc, w.n = f.out[:f.pos], f.acc, f.n
}

func (w *fastWriter) add(c code) {
	w.acc |= uint64(c&0xffff) << w.n
	w.n += uint(c >> 16)
}

func (w *fastWriter) addBits(v uint64, n uint) {
	w.acc |= v << w.n
	w.n += n
}

func (w *fastWriter) flush() {
	binary.LittleEndian.PutUint64(w.out[w.pos:], w.acc)
	w.pos += int(w.n / 8)
	w.acc >>= w.n &^ 7
	w.n &= 7
}
