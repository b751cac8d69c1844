package png

import "math/bits"

// Filter types that stand before each row.
const (
	filterNone = 0
	filterSub  = 1
	filterUp   = 2
)

// appendRGB appends a row of RGB pixels with the filter that promises the
// smallest result. up is the row above, all zero for the first row.
func appendRGB(dst []byte, row, up []uint32) []byte {
	filter := chooseFilter(row, up)
	dst = append(dst, filter)
	n := len(dst)
	// A pixel is stored as four bytes, of which the next one overwrites the last.
	dst = append(dst, make([]byte, 3*len(row)+1)...)
	out := dst[n:]
	up = up[:len(row)]
	var left uint32
	for i, p := range row {
		v := p
		switch filter {
		case filterSub:
			v = subtract(p, left)
		case filterUp:
			v = subtract(p, up[i])
		}
		left = p
		q := out[3*i : 3*i+4]
		q[0], q[1], q[2], q[3] = byte(v>>16), byte(v>>8), byte(v), 0
	}
	return dst[:len(dst)-1]
}

// A pixel that equals neither its left nor its upper neighbour costs about this
// many bits when rows are not filtered (measured on desktops; 24 is no gain at all).
const novelBits = 21

// chooseFilter estimates how many bits the row would need with each filter. The
// usual rule, the smallest sum of differences, is wrong for desktops: it filters
// text, of which each letter then looks different wherever it stands.
func chooseFilter(row, up []uint32) byte {
	up = up[:len(row)]
	var left uint32
	var none, sub, above int
	for i, p := range row {
		u := up[i]
		if p != left {
			sub += residualBits(subtract(p, left))
			if p != u {
				none += novelBits
			}
		}
		if p != u {
			above += residualBits(subtract(p, u))
		}
		left = p
	}
	switch {
	case none <= sub && none <= above:
		return filterNone
	case sub <= above:
		return filterSub
	}
	return filterUp
}

// subtract returns the difference of two pixels, modulo 256 in each byte.
func subtract(a, b uint32) uint32 {
	const high = 0x80808080
	return (a | high - b&^high) ^ (a^^b)&high
}

// residualBits estimates what a filtered pixel costs: small differences are
// frequent and get short codes.
func residualBits(v uint32) int {
	return int(byteBits[v>>16&0xff]) + int(byteBits[v>>8&0xff]) + int(byteBits[v&0xff])
}

// byteBits holds for each difference, a signed byte, its length with a sign; 0 is free.
var byteBits = func() (table [256]uint8) {
	for i := 1; i < 256; i++ {
		d := int(int8(i))
		table[i] = uint8(bits.Len(uint(max(d, -d)))) + 1
	}
	return table
}()
