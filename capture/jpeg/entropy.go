package jpeg

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A word is what is written for one coefficient: up to 26 bits, the Huffman code
// and the bits of the value, above a length of lengthBits bits.
type word uint32

const lengthBits = 5

// codes are the Huffman codes of one kind of component, as words with the value's
// bits left 0, or complete.
type codes struct {
	dc           [16]word      // by size of the value
	ac           [256]word     // by run of zeros before it << 4 | size
	small        [16 * 64]word // complete: by run << 6 | value + 32
	endOfBlock   word
	sixteenZeros word
}

var (
	lumaCodes   = newCodes(&huffmanSpecs[0], &huffmanSpecs[1])
	chromaCodes = newCodes(&huffmanSpecs[2], &huffmanSpecs[3])
)

func newCodes(dc, ac *huffmanSpec) *codes {
	c := new(codes)
	dc.assign(c.dc[:])
	ac.assign(c.ac[:])
	c.endOfBlock, c.sixteenZeros = c.ac[0x00], c.ac[0xf0]
	for i := range c.small {
		run, value := i>>6, int32(i&63-32)
		c.small[i] = c.ac[run<<4|size(value)] | tail(value)
	}
	return c
}

// assign numbers the codes (T.81, annex C). The size of the value that follows is
// in the low four bits of what a code stands for.
func (s *huffmanSpec) assign(table []word) {
	next, values := word(0), s.values
	for i, n := range s.counts {
		length := i + 1
		for range n {
			size := int(values[0] & 15)
			table[values[0]] = next<<(size+lengthBits) | word(length+size)
			values = values[1:]
			next++
		}
		next <<= 1
	}
}

// size returns how many bits a value takes (T.81, table F.1).
func size(value int32) int { return bits.Len32(uint32(max(value, -value))) }

// tail returns a value's bits at their place in a word. Negative values are
// written less one, so that the first bit tells the sign.
func tail(value int32) word {
	return word(value+value>>31) & (1<<size(value) - 1) << lengthBits
}

// order holds for each place in the zigzag order the place in block.coef.
var order = func() (o [64]uint8) {
	for z, i := range zigzag {
		o[z] = i%8*8 + i/8
	}
	return o
}()

// zigzagBits turns the places of non-zero coefficients from block order into zigzag
// order, eight at a time.
var zigzagBits = func() (t [8][256]uint64) {
	for z, i := range order {
		for set := range 256 {
			if set>>(i%8)&1 != 0 {
				t[i/8][set] |= 1 << z
			}
		}
	}
	return t
}()

// inZigzag turns a set of places in a block into one of places in the zigzag order.
func inZigzag(set uint64) uint64 {
	t := &zigzagBits
	return t[0][uint8(set)] | t[1][uint8(set>>8)] | t[2][uint8(set>>16)] | t[3][uint8(set>>24)] |
		t[4][uint8(set>>32)] | t[5][uint8(set>>40)] | t[6][uint8(set>>48)] | t[7][uint8(set>>56)]
}

// maxBlock is more than the bytes that a block can take, 64 words of 26 bits, and
// what is written beyond them.
const maxBlock = 256

// windowSize is a power of two, so that a mask keeps places inside the window.
const windowSize = 1 << 13

// entropy writes blocks as Huffman codes. They are collected in a window first,
// because in the file a zero must follow each byte 0xff: looking for those later,
// in bulk, leaves no branch for each code that a processor could not foresee.
type entropy struct {
	out    []byte
	acc    uint64   // bits not yet in the window, in the low end; garbage above them
	n      uint     // how many bits, at most 11 between blocks
	last   [3]int32 // DC coefficient of the block before, by component
	at     int      // bytes in the window
	window [windowSize + 8]byte
}

// begin prepares for a picture whose data is appended to dst.
func (e *entropy) begin(dst []byte) {
	e.out, e.acc, e.n, e.last, e.at = dst, 0, 0, [3]int32{}, 0
}

// write appends a block of the component. One loop with one place that adds bits
// keeps its variables in registers.
func (e *entropy) write(b *block, component int, c *codes) {
	if e.at > windowSize-maxBlock {
		e.flush()
	}
	window, at := &e.window, uint(e.at)
	acc, n := e.acc, e.n

	dc := int32(b.coef[0])
	diff := dc - e.last[component]
	e.last[component] = dc
	w := c.dc[size(diff)&15] | tail(diff)

	places := inZigzag(b.nonzero) &^ 1 // of coefficients that are still to be written
	next := 1                          // place after the last one that was written
	for {
		length := uint(w & (1<<lengthBits - 1))
		acc = acc<<length | uint64(w>>lengthBits)
		n += length
		// Write all bits there are, but count whole bytes only: the next word
		// writes the rest again. The masks spare bounds checks.
		at &= windowSize - 1
		binary.BigEndian.PutUint64(window[at:at+8], acc<<((64-n)&63))
		at += n / 8
		n %= 8
		if places == 0 {
			break
		}

		z := bits.TrailingZeros64(places)
		run := z - next
		if run > 15 {
			w = c.sixteenZeros
			next += 16
			continue
		}
		next = z + 1
		places &= places - 1
		value := int32(b.coef[order[z&63]&63])
		if uint32(value+32) < 64 {
			w = c.small[(run<<6+int(value)+32)&1023]
		} else {
			w = c.ac[(run<<4|size(value))&255] | tail(value)
		}
	}
	if next < 64 {
		length := uint(c.endOfBlock & (1<<lengthBits - 1)) // at most 4
		acc = acc<<length | uint64(c.endOfBlock>>lengthBits)
		n += length
	}
	e.at, e.acc, e.n = int(at), acc, n
}

// flush moves the window's bytes to out, each 0xff with a zero after it.
func (e *entropy) flush() {
	rest := e.window[:e.at]
	for {
		i := bytes.IndexByte(rest, 0xff)
		if i < 0 {
			break
		}
		e.out = append(e.out, rest[:i+1]...)
		e.out = append(e.out, 0)
		rest = rest[i+1:]
	}
	e.out = append(e.out, rest...)
	e.at = 0
}

// finish writes the last bits, filled up with ones, and returns what was appended to.
func (e *entropy) finish() []byte {
	e.acc = e.acc<<7 | 0x7f
	e.n += 7
	binary.BigEndian.PutUint64(e.window[e.at:], e.acc<<(64-e.n))
	e.at += int(e.n / 8)
	e.flush()
	dst := e.out
	e.out = nil // it is the caller's
	return dst
}
