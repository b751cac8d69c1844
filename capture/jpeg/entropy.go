package jpeg

import (
	"encoding/binary"
	"math/bits"
	"slices"
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
		run, value := i>>6, i&63-32
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
func size(value int) int { return bits.Len(uint(max(value, -value))) }

// tail returns a value's bits at their place in a word. Negative values are
// written less one, so that the first bit tells the sign.
func tail(value int) word {
	return word(value+value>>63) & (1<<size(value) - 1) << lengthBits
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

// maxBlock is more than the bytes that a block can take: 64 words of 26 bits, a zero
// after each byte, and what drain writes beyond the end.
const maxBlock = 512

// entropy writes blocks as Huffman codes.
type entropy struct {
	out  []byte
	acc  uint64 // bits not yet written, in the low end; what is above them is garbage
	n    uint   // how many, at most 36 between words
	last [3]int // DC coefficient of the block before, by component
}

// write appends a block of the component. One loop with one place that adds bits
// keeps the accumulator in registers.
func (e *entropy) write(b *block, component int, c *codes) {
	e.out = slices.Grow(e.out, maxBlock)
	buf, at := e.out[:cap(e.out)], len(e.out)
	acc, n := e.acc, e.n

	dc := int(b.coef[0])
	diff := dc - e.last[component]
	e.last[component] = dc
	w := c.dc[size(diff)&15] | tail(diff)

	places := inZigzag(b.nonzero) &^ 1 // of coefficients that are still to be written
	before := 0
	for {
		length := uint(w & (1<<lengthBits - 1))
		acc = acc<<length | uint64(w>>lengthBits)
		n += length
		if n > 32 {
			at = drain(buf, at, acc<<((64-n)&63), n/8)
			n %= 8
		}
		if places == 0 {
			break
		}
		z := bits.TrailingZeros64(places)
		run := z - before - 1
		if run > 15 {
			w = c.sixteenZeros
			before += 16
			continue
		}
		before = z
		places &= places - 1
		value := int(b.coef[order[z&63]&63])
		if uint(value+32) < 64 {
			w = c.small[(run<<6+value+32)&1023]
		} else {
			w = c.ac[(run<<4|size(value))&255] | tail(value)
		}
	}
	if before != 63 {
		length := uint(c.endOfBlock & (1<<lengthBits - 1))
		acc = acc<<length | uint64(c.endOfBlock>>lengthBits)
		n += length
	}
	e.out, e.acc, e.n = buf[:at], acc, n
}

// drain writes the n high bytes of v to buf at a place, each 0xff with a zero
// after it, and returns the place after them.
func drain(buf []byte, at int, v uint64, n uint) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	if (^v-ones)&v&high == 0 { // no byte of ^v is 0
		binary.BigEndian.PutUint64(buf[at:], v)
		return at + int(n)
	}
	for range n {
		b := byte(v >> 56)
		v <<= 8
		buf[at] = b
		at++
		if b == 0xff {
			buf[at] = 0
			at++
		}
	}
	return at
}

// finish writes the last bits, filled up with ones, and returns what was written.
func (e *entropy) finish() []byte {
	var last [16]byte
	e.acc = e.acc<<7 | 0x7f
	e.n += 7
	return append(e.out, last[:drain(last[:], 0, e.acc<<(64-e.n), e.n/8)]...)
}
