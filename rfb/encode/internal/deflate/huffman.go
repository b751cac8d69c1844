package deflate

import (
	"math/bits"
	"slices"
)

// code is the Huffman code of one symbol: its bits in the order in which
// deflate sends them in the low half, their number in the high half.
type code uint32

func (c code) bits() uint64 { return uint64(c & 0xffff) }
func (c code) len() uint    { return uint(c >> 16) }

// huffman makes codes of limited length from how often each symbol occurs.
type huffman struct {
	codes []code
	lens  []uint8
	leafs []leaf
	tree  []node
}

type leaf struct {
	freq uint32
	sym  uint16
}

type node struct {
	freq        uint32
	left, right int32 // leafs below len(leafs), inner nodes from there on
}

// build makes a code for the symbols that occur, none longer than limit bits. A
// lone symbol gets one bit.
func (h *huffman) build(freq []uint32, limit int) {
	h.lens = append(h.lens[:0], make([]uint8, len(freq))...)
	h.leafs = h.leafs[:0]
	for s, f := range freq {
		if f > 0 {
			h.leafs = append(h.leafs, leaf{f, uint16(s)})
		}
	}
	slices.SortFunc(h.leafs, func(a, b leaf) int {
		if a.freq != b.freq {
			return int(a.freq) - int(b.freq)
		}
		return int(a.sym) - int(b.sym)
	})
	switch len(h.leafs) {
	case 0:
	case 1:
		h.lens[h.leafs[0].sym] = 1
	default:
		h.measure(limit)
	}
	h.assign()
}

// measure sets the lengths for two or more symbols, which are sorted by
// frequency.
func (h *huffman) measure(limit int) {
	n := len(h.leafs)
	// Leafs and inner nodes are two queues in ascending order: take the two least.
	h.tree = h.tree[:0]
	l, t := 0, 0
	take := func() (int32, uint32) {
		if t == len(h.tree) || l < n && h.leafs[l].freq <= h.tree[t].freq {
			l++
			return int32(l - 1), h.leafs[l-1].freq
		}
		t++
		return int32(n + t - 1), h.tree[t-1].freq
	}
	for len(h.tree) < n-1 {
		a, fa := take()
		b, fb := take()
		h.tree = append(h.tree, node{fa + fb, a, b})
	}
	// Count how many leafs there are at each depth, from the root down. The
	// frequency of a node is not needed any more: its place holds the depth.
	var count [64]int
	h.tree[n-2].freq = 0
	for i := n - 2; i >= 0; i-- {
		d := h.tree[i].freq + 1
		for _, c := range [2]int32{h.tree[i].left, h.tree[i].right} {
			if int(c) < n {
				count[min(int(d), limit)]++
			} else {
				h.tree[int(c)-n].freq = d
			}
		}
	}
	// Leafs lifted to the limit make the code too full: lower others until the
	// sum of 2^-length is 1 again.
	used := 0
	for d := 1; d <= limit; d++ {
		used += count[d] << (limit - d)
	}
	for ; used > 1<<limit; used-- {
		d := limit - 1
		for count[d] == 0 {
			d--
		}
		count[d]--
		count[d+1] += 2
		count[limit]--
	}
	i := 0
	for d := limit; d > 0; d-- {
		for range count[d] {
			h.lens[h.leafs[i].sym] = uint8(d)
			i++
		}
	}
}

// assign gives out the codes that belong to the lengths (RFC 1951 section 3.2.2).
func (h *huffman) assign() {
	var count, next [16]uint16
	for _, l := range h.lens {
		count[l]++
	}
	count[0] = 0
	for l := 1; l < len(next); l++ {
		next[l] = (next[l-1] + count[l-1]) << 1
	}
	h.codes = append(h.codes[:0], make([]code, len(h.lens))...)
	for s, l := range h.lens {
		if l > 0 {
			h.codes[s] = code(l)<<16 | code(bits.Reverse16(next[l])>>(16-l))
			next[l]++
		}
	}
}
