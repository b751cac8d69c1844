package deflate

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// sequence is a run of literal bytes and then a match. The literals are not
// copied: sequences stand for data from its beginning on.
type sequence struct {
	literals uint32 // how many bytes
	match    uint32 // length less 3 in the bits from 16 on, distance less 1 below; or noMatch
}

const noMatch = 1 << 31

const (
	minMatch    = 3
	maxMatch    = 258
	window      = 32 << 10
	endOfBlock  = 256
	literals    = 286 // bytes, end of block, lengths
	distances   = 30
	maxCodeBits = 15
)

var (
	lengthSymbol [256]uint8 // of a length less 3, less 257
	lengthExtra  [29]uint8
	lengthBase   [29]uint16
	distBase     [distances]uint16
)

func init() {
	base := 0
	for s := range lengthBase {
		if s >= 8 && s < 28 {
			lengthExtra[s] = uint8(s/4 - 1)
		}
		lengthBase[s] = uint16(base)
		for i := range 1 << lengthExtra[s] {
			if base+i < 256 {
				lengthSymbol[base+i] = uint8(s)
			}
		}
		base += 1 << lengthExtra[s]
	}
	// The longest match has a symbol of its own, without extra bits.
	lengthSymbol[255], lengthBase[28] = 28, 255
	base = 0
	for s := range distBase {
		distBase[s] = uint16(base)
		base += 1 << distExtra(uint(s))
	}
}

// distSymbol returns the symbol of a distance less 1.
func distSymbol(d uint) uint {
	if d < 4 {
		return d
	}
	n := uint(bits.Len(d)) - 1
	return 2*n + d>>(n-1)&1
}

func distExtra(symbol uint) uint {
	if symbol < 4 {
		return 0
	}
	return symbol/2 - 1
}

// codeOrder is the order in which the lengths of the code-length code are sent.
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// fixed are the codes of a block without tables.
var fixedLit, fixedDist huffman

func init() {
	for s := range 288 {
		l := uint8(8)
		if s >= 144 && s < 256 {
			l = 9
		} else if s >= 256 && s < 280 {
			l = 7
		}
		fixedLit.lens = append(fixedLit.lens, l)
	}
	for range distances {
		fixedDist.lens = append(fixedDist.lens, 5)
	}
	fixedLit.assign()
	fixedDist.assign()
}

// blocks writes tokens as deflate blocks.
type blocks struct {
	bitWriter
	litFreq   [literals]uint32
	distFreq  [distances]uint32
	lit, dist huffman
	pre       huffman // the code-length code
	preFreq   [19]uint32
	runs      []uint16 // the lengths run-length coded: symbol, extra bits from 8 on
}

// write appends one block that is not the last of its stream: sequences, which
// stand for data. It takes the shortest of the three kinds of block.
func (b *blocks) write(seqs []sequence, data []byte) {
	b.count(seqs, data)
	b.lit.build(b.litFreq[:], maxCodeBits)
	b.dist.build(b.distFreq[:], maxCodeBits)
	header, nlit, ndist, npre := b.describe()
	extra := b.extraBits()
	fixed := 3 + b.size(&fixedLit, &fixedDist) + extra
	dynamic := header + b.size(&b.lit, &b.dist) + extra
	stored := len(data)*8 + (len(data)/0xffff+1)*5*8
	switch {
	case stored <= min(fixed, dynamic):
		b.store(data)
	case fixed <= dynamic:
		b.bitWriter.write(1<<1, 3)
		b.sequences(seqs, data, fixed, &fixedLit, &fixedDist)
	default:
		b.bitWriter.write(2<<1, 3)
		b.tables(nlit, ndist, npre)
		b.sequences(seqs, data, dynamic, &b.lit, &b.dist)
	}
}

func (b *blocks) count(seqs []sequence, data []byte) {
	clear(b.litFreq[:])
	clear(b.distFreq[:])
	b.litFreq[endOfBlock] = 1
	// Equal bytes come in a row: two tables keep one count from waiting for the other.
	var even, odd [256]uint32
	for _, s := range seqs {
		run := data[:s.literals]
		data = data[s.literals:]
		for len(run) >= 2 {
			even[run[0]]++
			odd[run[1]]++
			run = run[2:]
		}
		if len(run) > 0 {
			even[run[0]]++
		}
		if s.match != noMatch {
			length := s.match >> 16
			data = data[length+minMatch:]
			b.litFreq[endOfBlock+1+int(lengthSymbol[length&0xff])]++
			b.distFreq[distSymbol(uint(s.match&0xffff))]++
		}
	}
	for v := range even {
		b.litFreq[v] = even[v] + odd[v]
	}
}

// size returns how many bits the counted symbols take, without extra bits.
func (b *blocks) size(lit, dist *huffman) int {
	n := 0
	for s, f := range b.litFreq {
		n += int(f) * int(lit.lens[s])
	}
	for s, f := range b.distFreq {
		n += int(f) * int(dist.lens[s])
	}
	return n
}

func (b *blocks) extraBits() int {
	n := 0
	for s, x := range lengthExtra {
		n += int(b.litFreq[endOfBlock+1+s]) * int(x)
	}
	for s, f := range b.distFreq {
		n += int(f) * int(distExtra(uint(s)))
	}
	return n
}

// describe prepares the tables of a dynamic block. It returns their size in bits
// and how many lengths of each code are sent.
func (b *blocks) describe() (size, nlit, ndist, npre int) {
	nlit, ndist = endOfBlock+1, 1
	for s := nlit; s < literals; s++ {
		if b.lit.lens[s] > 0 {
			nlit = s + 1
		}
	}
	for s, l := range b.dist.lens {
		if l > 0 {
			ndist = s + 1
		}
	}
	b.runs = b.runs[:0]
	b.runLength(b.lit.lens[:nlit], b.dist.lens[:ndist])
	clear(b.preFreq[:])
	for _, r := range b.runs {
		b.preFreq[r&0xff]++
	}
	b.pre.build(b.preFreq[:], 7)
	npre = 4
	for i, s := range codeOrder {
		if b.pre.lens[s] > 0 {
			npre = max(npre, i+1)
		}
	}
	size = 3 + 5 + 5 + 4 + 3*npre
	for s, f := range b.preFreq {
		size += int(f) * (int(b.pre.lens[s]) + runExtra(s))
	}
	return size, nlit, ndist, npre
}

// runExtra returns the number of extra bits of a symbol of the code-length code.
func runExtra(s int) int {
	switch s {
	case 16:
		return 2
	case 17:
		return 3
	case 18:
		return 7
	}
	return 0
}

// runLength codes the lengths of both codes as one sequence, as they are sent.
func (b *blocks) runLength(lit, dist []uint8) {
	at := func(i int) uint8 {
		if i < len(lit) {
			return lit[i]
		}
		return dist[i-len(lit)]
	}
	total := len(lit) + len(dist)
	for i := 0; i < total; {
		l, n := at(i), 1
		for i+n < total && at(i+n) == l {
			n++
		}
		i += n
		if l > 0 {
			b.runs = append(b.runs, uint16(l))
			n--
		}
		for n > 0 {
			switch {
			case n < 3:
				b.runs = append(b.runs, uint16(l))
				n--
			case l > 0:
				k := min(n, 6)
				b.runs = append(b.runs, 16|uint16(k-3)<<8)
				n -= k
			case n < 11:
				b.runs = append(b.runs, 17|uint16(n-3)<<8)
				n = 0
			default:
				k := min(n, 138)
				b.runs = append(b.runs, 18|uint16(k-11)<<8)
				n -= k
			}
		}
	}
}

// tables writes what describe prepared.
func (b *blocks) tables(nlit, ndist, npre int) {
	w := &b.bitWriter
	w.write(uint64(nlit-257)|uint64(ndist-1)<<5|uint64(npre-4)<<10, 14)
	for _, s := range codeOrder[:npre] {
		w.write(uint64(b.pre.lens[s]), 3)
	}
	for _, r := range b.runs {
		s := int(r & 0xff)
		c := b.pre.codes[s]
		w.write(c.bits(), c.len())
		w.write(uint64(r>>8), uint(runExtra(s)))
	}
}

// sequences writes the sequences, about size bits, and the end of the block.
func (b *blocks) sequences(seqs []sequence, data []byte, size int, lit, dist *huffman) {
	pos := len(b.out)
	out := slices.Grow(b.out, size/8+16)
	out = out[:cap(out)]
	a := acc{b.acc, b.n}
	pos = a.flush(out, pos)
	lits := (*[literals]code)(lit.codes)
	dists := (*[distances]code)(dist.codes)
	for _, s := range seqs {
		run := data[:s.literals]
		data = data[s.literals:]
		for len(run) >= 3 {
			c0, c1, c2 := lits[run[0]], lits[run[1]], lits[run[2]]
			a.add(c0.bits(), c0.len())
			a.add(c1.bits(), c1.len())
			a.add(c2.bits(), c2.len())
			pos = a.flush(out, pos)
			run = run[3:]
		}
		if len(run) > 0 {
			for _, v := range run {
				c := lits[v]
				a.add(c.bits(), c.len())
			}
			pos = a.flush(out, pos)
		}
		if s.match == noMatch {
			continue
		}
		length, d := s.match>>16&0xff, uint(s.match&0xffff)
		data = data[length+minMatch:]
		ls := uint(lengthSymbol[length])
		c := lits[endOfBlock+1+ls]
		a.add(c.bits(), c.len())
		a.add(uint64(length)-uint64(lengthBase[ls]), uint(lengthExtra[ls]))
		ds := distSymbol(d)
		c = dists[ds]
		a.add(c.bits(), c.len())
		a.add(uint64(d-uint(distBase[ds])), distExtra(ds))
		pos = a.flush(out, pos)
	}
	c := lits[endOfBlock]
	a.add(c.bits(), c.len())
	pos = a.flush(out, pos)
	b.out, b.acc, b.n = out[:pos], a.bits, a.n
}

// store writes data uncompressed.
func (b *blocks) store(data []byte) {
	for {
		n := min(len(data), 0xffff)
		b.bitWriter.write(0, 3)
		b.align()
		b.out = binary.LittleEndian.AppendUint16(b.out, uint16(n))
		b.out = binary.LittleEndian.AppendUint16(b.out, ^uint16(n))
		b.out = append(b.out, data[:n]...)
		data = data[n:]
		if len(data) == 0 {
			return
		}
	}
}

// sync ends the chunk: an empty stored block.
func (b *blocks) sync() { b.store(nil) }
