// Package deflate compresses pixels to raw deflate (RFC 1951) chunks. It does one
// thing that general compressors do not: it looks for matches in whole pixels, of
// two or three bytes as well, which is what makes photos smaller, and once for a
// pixel instead of once for a byte, which makes it faster.
package deflate

import (
	"encoding/binary"
	"math/bits"
)

// Writer compresses the data of one stream, chunk by chunk. The zero value is
// ready. A Writer is not safe for concurrent use.
type Writer struct {
	// buf holds up to a window of history, then the data of the chunk at hand. A
	// position is an index into buf plus shift, so that tables outlive a slide;
	// positions below shift are of data long gone.
	buf   []byte
	shift uint32
	head  [1 << hashBits]uint32 // where a few bytes were last seen
	prev  [window]uint32        // and before that, by position

	begin  int        // in buf, of the block at hand
	seqs   []sequence // of the block at hand
	blocks blocks
}

const (
	hashBits = 15
	// A block ends after so many bytes: its codes should fit its content.
	blockSize = 64 << 10
)

// Effort is how hard matches are looked for.
type Effort struct {
	Depth int // places compared; 1 is the fastest, 0 finds nothing
	Lazy  int // shorter matches than this are given up for a longer one a unit later
}

// Begin begins a chunk, which is appended to dst.
func (w *Writer) Begin(dst []byte) {
	w.blocks.out = dst
	w.slide()
	w.begin = len(w.buf)
}

// Add adds data to the chunk. Data consist of units of 1 to 4 bytes (pixels):
// matches begin and end between them.
func (w *Writer) Add(data []byte, unit int, effort Effort) {
	start := len(w.buf)
	w.buf = append(w.buf, data...)
	if effort.Depth == 0 {
		w.seqs = append(w.seqs, sequence{uint32(len(data)), noMatch})
		return
	}
	for start < len(w.buf) {
		if start-w.begin >= blockSize {
			w.endBlock(start)
		}
		end := min(w.begin+blockSize, len(w.buf))
		if effort.Depth == 1 {
			start = w.matchFirst(start, end, unit)
		} else {
			start = w.matchBest(start, end, unit, effort)
		}
	}
}

// End ends the chunk and returns the slice given to Begin with the chunk appended:
// blocks that may refer to the data of earlier chunks, and a sync flush.
func (w *Writer) End() []byte {
	w.endBlock(len(w.buf))
	w.blocks.sync()
	dst := w.blocks.out
	w.blocks.out = nil
	return dst
}

// endBlock writes the data up to end, which seqs stand for, as a block.
func (w *Writer) endBlock(end int) {
	if end > w.begin {
		w.blocks.write(w.seqs, w.buf[w.begin:end])
	}
	w.begin = end
	w.seqs = w.seqs[:0]
}

// Forget drops the history: the next chunk will refer to nothing before itself.
func (w *Writer) Forget() {
	w.shift += uint32(len(w.buf))
	w.buf = w.buf[:0]
}

// slide drops history that is out of reach.
func (w *Writer) slide() {
	if len(w.buf) > 4*window {
		drop := len(w.buf) - window
		copy(w.buf, w.buf[drop:])
		w.buf = w.buf[:window]
		w.shift += uint32(drop)
	}
	if w.shift > 1<<31 {
		clear(w.head[:])
		clear(w.prev[:])
		w.shift = 0
	}
	w.shift = max(w.shift, 1) // an empty place in the tables is position 0
}

// matchFirst finds sequences for the data from start to end or a bit beyond. It
// compares with one place only: where the same pixel was last seen.
func (w *Writer) matchFirst(start, end, unit int) int {
	src, shift := w.buf, w.shift
	drop := keyDrop(unit)
	last := len(src) - 8
	seqs := w.seqs
	i, lit := start, start
	for i < end && i <= last {
		v := binary.LittleEndian.Uint64(src[i:])
		pos := shift + uint32(i)
		h := hash(uint32(v) << drop)
		dist := pos - w.head[h]
		w.head[h] = pos
		if dist > uint32(min(i, window)) {
			i += unit
			continue
		}
		differ := binary.LittleEndian.Uint64(src[i-int(dist):]) ^ v
		if uint32(differ)<<drop != 0 {
			i += unit
			continue
		}
		length := unit
		if unit != 3 || differ>>24&0xffffff == 0 { // else one pixel, as mostly in photos
			length = whole(common(src[i-int(dist):], src[i:]), unit)
		}
		seqs = append(seqs, sequence{uint32(i - lit), uint32(length-minMatch)<<16 | (dist - 1)})
		for k := i + unit; k < i+length && k <= last; k += unit {
			w.head[hash(binary.LittleEndian.Uint32(src[k:])<<drop)] = shift + uint32(k)
		}
		i += length
		lit = i
	}
	if i > last {
		i = len(src) // too little is left to look for matches
	}
	w.seqs = append(seqs, sequence{uint32(i - lit), noMatch})
	return i
}

// match is a possible reference to earlier data.
type match struct{ length, dist int }

// tooFar is the distance from which a match of three bytes takes more bits than the
// bytes themselves.
const tooFar = 4096

// niceMatch is the length of a match that is good enough to look no further.
const niceMatch = 32

// matchBest finds sequences like matchFirst. It compares with many places and gives
// a match up when a better one begins at the next unit.
func (w *Writer) matchBest(start, end, unit int, effort Effort) int {
	src := w.buf
	drop := keyDrop(unit)
	last := len(src) - 8
	seqs := w.seqs
	i, lit := start, start
	for i < end && i <= last {
		m := w.longest(i, unit, effort.Depth, w.note(i, drop), 0)
		if m.length == 0 {
			i += unit
			continue
		}
		noted := i
		for m.length > unit && m.length < effort.Lazy && i+unit <= last {
			noted = i + unit
			better := w.longest(noted, unit, effort.Depth, w.note(noted, drop), m.length)
			if better.length == 0 {
				break
			}
			i, m = noted, better
		}
		seqs = append(seqs, sequence{uint32(i - lit), uint32(m.length-minMatch)<<16 | uint32(m.dist-1)})
		for k := noted + unit; k < i+m.length && k <= last; k += unit {
			w.note(k, drop)
		}
		i += m.length
		lit = i
	}
	if i > last {
		i = len(src) // too little is left to look for matches
	}
	w.seqs = append(seqs, sequence{uint32(i - lit), noMatch})
	return i
}

// note enters the data at i into the tables and returns where their like was last
// seen.
func (w *Writer) note(i int, drop uint) uint32 {
	h := hash(binary.LittleEndian.Uint32(w.buf[i:]) << drop)
	pos := w.shift + uint32(i)
	before := w.head[h]
	w.head[h] = pos
	w.prev[pos%window] = before
	return before
}

// longest returns the longest match for the data at i that is longer than beat, of
// depth places from next on.
func (w *Writer) longest(i, unit, depth int, next uint32, beat int) (best match) {
	src := w.buf
	ahead := src[i:]
	v := binary.LittleEndian.Uint32(ahead) << keyDrop(unit)
	pos := w.shift + uint32(i)
	reach := uint32(min(i, window))
	longest := beat
	for ; depth > 0; depth-- {
		dist := pos - next
		if dist > reach || longest >= len(ahead) {
			break
		}
		at := src[i-int(dist):]
		if at[longest] == ahead[longest] && binary.LittleEndian.Uint32(at)<<keyDrop(unit) == v {
			length := whole(common(at, ahead), unit)
			if length > longest && (length > minMatch || unit > 1 || dist <= tooFar) {
				longest = length
				best = match{length, int(dist)}
				if length >= niceMatch {
					break
				}
			}
		}
		before := w.prev[next%window]
		if before >= next {
			break // overwritten
		}
		next = before
	}
	return best
}

// keyDrop is how many bits of four bytes are not part of the key by which data are
// found: a pixel of three bytes, else four bytes.
func keyDrop(unit int) uint {
	if unit == 3 {
		return 8
	}
	return 0
}

func hash(v uint32) uint32 { return v * 0x9e3779b1 >> (32 - hashBits) }

// whole cuts a length down to whole units and to what a match can have.
func whole(length, unit int) int {
	length = min(length, maxMatch)
	if unit == 1 {
		return length
	}
	return length - length%unit
}

// common returns how many bytes a and b, which is the shorter, have in common at
// their beginnings, or a number not below maxMatch.
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
