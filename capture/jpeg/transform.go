package jpeg

import "math"

// block is an 8x8 block of quantised coefficients. It is transposed: the vertical
// frequency counts within a row.
type block struct {
	coef [64]int16
	// nonzero has bit i set when coef[i] is not 0.
	nonzero uint64
}

// The transform is that of Arai, Agui and Nakajima (1988): the fewest
// multiplications, with outputs that are scaled by known factors, which the
// quantiser takes back. Everything fits into 16 bits, so a vector unit does two
// blocks at a time. To use those bits well, samples start inputBits up and go
// down by betweenBits between the passes; coefficients end up 16 times too large.
const (
	inputBits   = 3
	betweenBits = 2
	outputScale = 8 << (inputBits - betweenBits)
)

// Multipliers in units of 1/2^15.
const (
	c4     = 23170 // cos(4pi/16)
	c6     = 12540 // cos(6pi/16)
	c2less = 17734 // cos(2pi/16) - cos(6pi/16)
	c2more = 10045 // cos(2pi/16) + cos(6pi/16) - 1
)

// multiply returns a*b/2^15, rounded: what VPMULHRSW does.
func multiply(a int16, b int32) int16 { return int16((int32(a)*b + 1<<14) >> 15) }

// pass transforms eight samples that stand step apart.
func pass(d *[64]int16, at, step int) {
	s0, s1, s2, s3 := d[at], d[at+step], d[at+2*step], d[at+3*step]
	s4, s5, s6, s7 := d[at+4*step], d[at+5*step], d[at+6*step], d[at+7*step]
	sum0, sum1, sum2, sum3 := s0+s7, s1+s6, s2+s5, s3+s4
	diff0, diff1, diff2, diff3 := s0-s7, s1-s6, s2-s5, s3-s4

	// Even outputs, from the sums.
	even0, even1, even2, even3 := sum0+sum3, sum1+sum2, sum1-sum2, sum0-sum3
	d[at] = even0 + even1
	d[at+4*step] = even0 - even1
	turn := multiply(even2+even3, c4)
	d[at+2*step] = even3 + turn
	d[at+6*step] = even3 - turn

	// Odd outputs, from the differences.
	odd0, odd1, odd2 := diff3+diff2, diff2+diff1, diff1+diff0
	both := multiply(odd0-odd2, c6)
	low := multiply(odd0, c2less) + both
	high := multiply(odd2, c2more) + odd2 + both
	middle := multiply(odd1, c4)
	up, down := diff0+middle, diff0-middle
	d[at+5*step] = down + low
	d[at+3*step] = down - low
	d[at+step] = up + high
	d[at+7*step] = up - high
}

// transformGo turns a plane of eight rows, each 8*len(blocks) samples long, into
// quantised blocks.
func transformGo(blocks []block, plane []int16, q *quantiser) {
	span := 8 * len(blocks)
	var d [64]int16
	for i := range blocks {
		for y := range 8 {
			for x, s := range plane[y*span+8*i:][:8] {
				d[8*x+y] = s << inputBits // transposed, as the second pass of AVX2 sees it
			}
		}
		for x := range 8 {
			pass(&d, 8*x, 1)
		}
		for j, v := range d {
			d[j] = (v + 1<<(betweenBits-1)) >> betweenBits
		}
		for y := range 8 {
			pass(&d, y, 8)
		}
		q.quantise(&blocks[i], &d)
	}
}

// quantiser divides coefficients by their steps, rounding halves away from zero.
// A division by d is a multiplication by 2^(16+k)/d, of which a vector unit keeps
// the high 16 bits, and a shift by k, done as another such multiplication.
type quantiser struct {
	steps [64]uint8 // as the file states them, in zigzag order
	// In the order of block.coef:
	half       [64]uint16 // of the divisor, to round
	reciprocal [64]uint16
	shift      [64]uint16
}

// set prepares the steps of a quality from those of quality 50, as libjpeg does.
func (q *quantiser) set(base *[64]uint8, quality int) {
	percent := 200 - 2*quality
	if quality < 50 {
		percent = 5000 / quality
	}
	for z, i := range zigzag {
		step := min(max((int(base[i])*percent+50)/100, 1), 255)
		q.steps[z] = uint8(step)
		x, y := int(i%8), int(i/8)
		divisor := outputScale * growth(x) * growth(y) * float64(step)
		t := x*8 + y // transposed
		q.half[t] = uint16(divisor/2 + 0.5)
		// Dividends are doubled, because divisors from 1 to 2 would need k = 0,
		// a multiplication by 2^16 that 16 bits cannot express.
		_, exponent := math.Frexp(2 * divisor)
		k := exponent - 1 // 2^k <= 2*divisor < 2^(k+1)
		q.reciprocal[t] = uint16(min(math.Exp2(float64(16+k))/(2*divisor)+0.5, 65535))
		q.shift[t] = 1 << (16 - k)
	}
}

// growth is by how much the transform scales frequency u of one direction.
func growth(u int) float64 {
	if u == 0 {
		return 1
	}
	return math.Sqrt2 * math.Cos(float64(u)*math.Pi/16)
}

func (q *quantiser) quantise(b *block, d *[64]int16) {
	b.nonzero = 0
	for i, v := range d {
		size := uint16(v)
		if v < 0 {
			size = uint16(-v)
		}
		size = 2 * (size + q.half[i])
		size = uint16(uint32(size) * uint32(q.reciprocal[i]) >> 16)
		size = uint16(uint32(size) * uint32(q.shift[i]) >> 16)
		if v < 0 {
			b.coef[i] = -int16(size)
		} else {
			b.coef[i] = int16(size)
		}
		if size != 0 {
			b.nonzero |= 1 << i
		}
	}
}
