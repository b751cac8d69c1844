package deflate

import "encoding/binary"

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

// acc collects bits in a register, for the bulk of a block. Between two calls of
// flush at most 56 bits may be added.
type acc struct {
	bits uint64
	n    uint
}

func (a *acc) add(bits uint64, n uint) {
	a.bits |= bits << (a.n & 63)
	a.n += n
}

// flush writes whole bytes to out at pos, and garbage up to seven bytes beyond
// them. It returns where to go on.
func (a *acc) flush(out []byte, pos int) int {
	binary.LittleEndian.PutUint64(out[pos:], a.bits)
	a.bits >>= a.n & 56
	pos += int(a.n >> 3)
	a.n &= 7
	return pos
}
