// Package deflate compresses pixels to raw deflate (RFC 1951) chunks. It does one
// thing that general compressors do not: it looks for matches in whole pixels, of
// two or three bytes as well, which is what makes photos smaller, and once for a pixel
// instead of once for a byte, which makes it faster.
package deflate

import (
	"encoding/binary"
	"math/bits"
)

// Writer compresses the data of one stream, chunk by chunk. The zero value is
// ready. A Writer is not safe for concurrent use.
type Writer struct {
	// buf holds up to a window of history, then the data of the chunk at hand. A
	// position in the tables is an index into buf plus shift; positions below
	// shift are of data long gone.
	buf   []byte
	shift uint32
	near  [1 << nearBits]uint32 // where a few bytes were last seen
	far   [1 << farBits]uint32  // where eight bytes were last seen

	seqs   []sequence // of the block at hand
	blocks blocks
}

const (
	nearBits = 15
	farBits  = 14
	// A block ends after so many bytes: its codes should fit its content.
	blockSize = 64 << 10
)

// Append appends data to dst as one chunk: blocks that may refer to the data of
// earlier chunks, ended by a sync flush. Data consist of units of 1 to 4 bytes
// (pixels): matches begin and end between them.
func (w *Writer) Append(dst, data []byte, unit, level int) []byte {
	w.blocks.out = dst
	w.slide(len(data))
	start := len(w.buf)
	w.buf = append(w.buf, data...)
	if level == 0 {
		w.blocks.store(data)
	} else {
		for i := start; i < len(w.buf); {
			end := min(i+blockSize, len(w.buf))
			i = w.match(i, end, unit)
			w.blocks.write(w.seqs, w.buf[start:i])
			start = i
		}
	}
	w.blocks.sync()
	dst, w.blocks.out = w.blocks.out, nil
	return dst
}

// Forget drops the history: the next chunk will refer to nothing before itself.
func (w *Writer) Forget() {
	w.shift += uint32(len(w.buf))
	w.buf = w.buf[:0]
}

// slide drops history that is out of reach, before n more bytes come.
func (w *Writer) slide(n int) {
	if len(w.buf) > 4*window {
		drop := len(w.buf) - window
		copy(w.buf, w.buf[drop:])
		w.buf = w.buf[:window]
		w.shift += uint32(drop)
	}
	if w.shift > 1<<31 {
		clear(w.near[:])
		clear(w.far[:])
		w.shift = 0
	}
	w.shift = max(w.shift, 1) // an empty place in the tables is position 0
}

// match finds sequences for the data from start to end or a bit beyond.
func (w *Writer) match(start, end, unit int) int {
	src := w.buf
	keyShift := uint(0)
	if unit == 3 {
		keyShift = 8
	}
	near, far := &w.near, &w.far
	shift := w.shift
	last := len(src) - 8
	seqs := w.seqs[:0]
	i, lit := start, start
	for i < end && i <= last {
		v := binary.LittleEndian.Uint64(src[i:])
		pos := shift + uint32(i)
		hn := nearHash(uint32(v) << keyShift)
		hf := farHash(v)
		dn, df := pos-near[hn], pos-far[hf]
		near[hn], far[hf] = pos, pos
		reach := uint32(min(i, window))
		length, dist := 0, 0
		if df <= reach && binary.LittleEndian.Uint64(src[i-int(df):]) == v {
			dist = int(df)
			length = 8 + common(src[i-dist+8:], src[i+8:])
		} else if dn <= reach && (binary.LittleEndian.Uint32(src[i-int(dn):])^uint32(v))<<keyShift == 0 {
			dist = int(dn)
			length = common(src[i-dist:], src[i:])
		} else {
			i += unit
			continue
		}
		length = min(length, maxMatch)
		length -= length % unit
		if length < 3 {
			i += unit
			continue
		}
		seqs = append(seqs, sequence{uint32(i - lit), uint32(length-3)<<16 | uint32(dist-1)})
		for k := i + unit; k < i+length && k <= last; k += unit {
			v := binary.LittleEndian.Uint64(src[k:])
			near[nearHash(uint32(v)<<keyShift)] = shift + uint32(k)
			far[farHash(v)] = shift + uint32(k)
		}
		i += length
		lit = i
	}
	if i > last && end == len(src) {
		i = len(src)
	}
	w.seqs = append(seqs, sequence{uint32(i - lit), noMatch})
	return i
}

func nearHash(v uint32) uint32 { return v * 0x9e3779b1 >> (32 - nearBits) }

func farHash(v uint64) uint64 { return v * 0x9e3779b185ebca87 >> (64 - farBits) }

// common returns how many bytes a and b, which is the shorter, have in common at
// their beginnings.
func common(a, b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:])
		if x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
		if n >= maxMatch {
			return n
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
