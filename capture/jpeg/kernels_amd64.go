package jpeg

import "golang.org/x/sys/cpu"

// useAVX2 chooses the assembly; tests turn it off to compare.
var useAVX2 = cpu.X86.HasAVX2

func convert(y, cb, cr []int16, src []uint32) {
	if !useAVX2 || len(y) == 0 {
		convertGo(y, cb, cr, src)
		return
	}
	n := len(y)
	_, _, _ = cb[n-1], cr[n-1], src[n-1] // the assembly does not check bounds
	convertAVX2(&y[0], &cb[0], &cr[0], &src[0], n)
}

func halve(dst, above, below []int16) {
	if !useAVX2 || len(dst) == 0 {
		halveGo(dst, above, below)
		return
	}
	n := len(dst)
	_, _ = above[2*n-1], below[2*n-1]
	halveAVX2(&dst[0], &above[0], &below[0], n)
}

func transform(blocks []block, plane []int16, q *quantiser) {
	if !useAVX2 || len(blocks) == 0 {
		transformGo(blocks, plane, q)
		return
	}
	n := len(blocks)
	_ = plane[64*n-1]
	transformAVX2(&blocks[0], &plane[0], n, q)
}

// convertAVX2 does what convertGo does to n pixels, a multiple of 16.
//
//go:noescape
func convertAVX2(y, cb, cr *int16, src *uint32, n int)

// halveAVX2 does what halveGo does to n results, a multiple of 16.
//
//go:noescape
func halveAVX2(dst, above, below *int16, n int)

// transformAVX2 does what transformGo does to n blocks, a multiple of 2.
//
//go:noescape
func transformAVX2(blocks *block, plane *int16, n int, q *quantiser)

// matrix is what convertAVX2 multiplies with: for each plane the factors of blue
// and red, of green, and the bias. Pairs are two 16-bit numbers, the first in the
// low half.
//
//lint:ignore U1000 the assembly reads it
var matrix = [9]uint32{
	pair(yB, yR), pair(yG, 0), bits32(yBias),
	pair(cbB, cbR), pair(cbG, 0), bits32(cBias),
	pair(crB, crR), pair(crG, 0), bits32(cBias),
}

func pair(low, high int16) uint32 { return uint32(uint16(high))<<16 | uint32(uint16(low)) }
func bits32(v int32) uint32       { return uint32(v) }

// factors holds the multipliers of pass in all lanes of a register each.
//
//lint:ignore U1000 the assembly reads it
var factors = [4][16]int16{lanes(c4), lanes(c6), lanes(c2less), lanes(c2more)}

func lanes(v int16) (all [16]int16) {
	for i := range all {
		all[i] = v
	}
	return all
}
