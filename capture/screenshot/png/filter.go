package png

import (
	"encoding/binary"
	"math/bits"
)

// Filter types that stand before each row.
const (
	filterNone = 0
	filterSub  = 1
	filterUp   = 2
)

// appendRGB appends a row of RGB pixels, filtered. up is the row above.
func appendRGB(dst []byte, row, up []uint32, filter byte) []byte {
	dst = append(dst, filter)
	n := len(dst)
	// Four bytes are stored for each pixel, the last of which the next one overwrites.
	dst = append(dst, make([]byte, 3*len(row)+1)...)
	out := dst[n:]
	switch filter {
	case filterNone:
		for _, p := range row {
			binary.BigEndian.PutUint32(out, p<<8)
			out = out[3:]
		}
	case filterSub:
		left := uint32(0)
		for _, p := range row {
			binary.BigEndian.PutUint32(out, subtract(p, left)<<8)
			out = out[3:]
			left = p
		}
	case filterUp:
		up = up[:len(row)]
		for i, p := range row {
			binary.BigEndian.PutUint32(out, subtract(p, up[i])<<8)
			out = out[3:]
		}
	}
	return dst[:len(dst)-1]
}

// appendRepeated appends the last row of raw, of n bytes with its filter type, once
// more: what a picture's row becomes that equals the one above.
func appendRepeated(raw []byte, n int) []byte {
	last := raw[len(raw)-n:]
	if last[0] != filterUp {
		return append(raw, last...)
	}
	raw = append(raw, filterUp)
	return append(raw, make([]byte, n-1)...)
}

// What a pixel costs in bits when rows are not filtered: one that equals neither
// its left nor its upper neighbour, and one that equals only the upper one and so
// may end a match. The values make the smallest files of desktops.
const (
	novelBits = 21
	edgeBits  = 3
)

// chooseFilter estimates how many bits the row would need with each filter and
// returns the best one and its bits. The usual rule, the smallest sum of
// differences, is wrong for desktops: it filters text, of which each letter then
// looks different wherever it stands.
func chooseFilter(row, up []uint32) (filter byte, cost int) {
	up = up[:len(row)]
	var left uint32
	var none, sub, above int
	for i, p := range row {
		u := up[i]
		if (p^left)|(p^u) == 0 {
			continue // by far the most frequent case costs one branch and no bits
		}
		if p != left {
			sub += residualBits(subtract(p, left))
			none += edgeBits
		}
		if p != u {
			above += residualBits(subtract(p, u))
			if p != left {
				none += novelBits - edgeBits
			}
		}
		left = p
	}
	switch {
	case none <= sub && none <= above:
		return filterNone, none
	case sub <= above:
		return filterSub, sub
	}
	return filterUp, above
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
