package jpeg

import (
	"encoding/binary"
	"math/bits"
)

// code is a Huffman code: its bits in the low end, and how many.
type code struct {
	bits   uint16
	length uint8
}

// codes are the Huffman codes of one kind of component. AC codes are found by
// run<<4 | size, DC codes by size.
type codes struct {
	dc [16]code
	ac [256]code
}

var (
	lumaCodes   = newCodes(&huffmanSpecs[0], &huffmanSpecs[1])
	chromaCodes = newCodes(&huffmanSpecs[2], &huffmanSpecs[3])
)

func newCodes(dc, ac *huffmanSpec) (c codes) {
	dc.assign(c.dc[:])
	ac.assign(c.ac[:])
	return c
}

// assign numbers the codes (T.81, annex C).
func (s *huffmanSpec) assign(table []code) {
	next, values := uint16(0), s.values
	for i, n := range s.counts {
		for range n {
			table[values[0]] = code{next, uint8(i + 1)}
			values = values[1:]
			next++
		}
		next <<= 1
	}
}

// AC codes that are not a coefficient.
const (
	endOfBlock   = 0x00
	sixteenZeros = 0xf0
)

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

// maxBlock is more than the bytes that a block can take: 64 codes of 16+11 bits, with a
// zero after each byte.
const maxBlock = 512

// entropy writes blocks as Huffman codes.
type entropy struct {
	out  []byte
	acc  uint64 // bits not yet written, in the low end
	n    int    // how many, below 64
	last [3]int // DC coefficient of the block before, by component
}

// write appends a block of the component.
func (e *entropy) write(b *block, component int, c *codes) {
	if cap(e.out)-len(e.out) < maxBlock {
		e.out = append(e.out, make([]byte, maxBlock+cap(e.out)/2)...)[:len(e.out)]
	}
	dc := int(b.coef[0])
	diff := dc - e.last[component]
	e.last[component] = dc
	extra, size := magnitude(diff)
	e.put(c.dc[size], extra, size)

	var places uint64
	for i := range zigzagBits {
		places |= zigzagBits[i][b.nonzero>>(8*i)&0xff]
	}
	places &^= 1
	before := 0
	for places != 0 {
		z := bits.TrailingZeros64(places)
		places &= places - 1
		run := z - before - 1
		before = z
		for run > 15 {
			e.put(c.ac[sixteenZeros], 0, 0)
			run -= 16
		}
		extra, size := magnitude(int(b.coef[order[z]]))
		e.put(c.ac[run<<4|size], extra, size)
	}
	if before != 63 {
		e.put(c.ac[endOfBlock], 0, 0)
	}
}

// magnitude returns the bits that follow a coefficient's code, and how many.
func magnitude(v int) (extra uint64, size int) {
	sign := v >> 63
	size = bits.Len(uint((v ^ sign) - sign))
	return uint64(v+sign) & (1<<size - 1), size
}

// put appends a code and the size bits that follow it.
func (e *entropy) put(c code, extra uint64, size int) {
	length := int(c.length) + size
	value := uint64(c.bits)<<size | extra
	if e.n+length < 64 {
		e.acc = e.acc<<length | value
		e.n += length
		return
	}
	rest := e.n + length - 64
	e.flush(e.acc<<(length-rest) | value>>rest)
	e.acc, e.n = value&(1<<rest-1), rest
}

// flush writes eight bytes, each 0xff with a zero after it.
func (e *entropy) flush(v uint64) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	if (^v-ones)&v&high == 0 { // no byte of ^v is 0
		e.out = binary.BigEndian.AppendUint64(e.out, v)
		return
	}
	for shift := 56; shift >= 0; shift -= 8 {
		b := byte(v >> shift)
		e.out = append(e.out, b)
		if b == 0xff {
			e.out = append(e.out, 0)
		}
	}
}

// finish writes the last bits, filled up with ones, and returns what was written.
func (e *entropy) finish() []byte {
	for e.n > 0 {
		var b byte
		if e.n >= 8 {
			b = byte(e.acc >> (e.n - 8))
		} else {
			b = byte(e.acc<<(8-e.n)) | 0xff>>e.n
		}
		e.n -= 8
		e.out = append(e.out, b)
		if b == 0xff {
			e.out = append(e.out, 0)
		}
	}
	return e.out
}
