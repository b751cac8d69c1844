package screenshot

// Scaling down averages the area that a picture pixel covers. Unlike a sharpening
// filter it makes no halos around text, and it needs no negative weights, so all
// three colours of a pixel fit side by side into one multiplication.

// A weight is a number of 1/one. Three lanes of 21 bits hold 255*one each.
const (
	oneBits = 13
	one     = 1 << oneBits
)

// taps says from which source pixels one destination pixel is made.
type taps struct {
	first   int
	weights []uint64 // of first, first+1, ...; their sum is one
}

// areas returns the taps that shrink a line of from pixels to to pixels.
func areas(from, to int) []taps {
	all := make([]taps, to)
	weights := make([]uint64, 0, from+to)
	for i := range all {
		// Destination pixel i covers the source from i*from/to to (i+1)*from/to.
		first, end := i*from/to, ((i+1)*from+to-1)/to
		// covered is the part of the pixel, in 1/one, that lies left of source
		// position x. Differences of a rounded sum always add up to one.
		covered := func(x int) uint64 {
			part := min(max(x*to-i*from, 0), from)
			return uint64((part*one + from/2) / from)
		}
		start := len(weights)
		for x := first; x < end; x++ {
			weights = append(weights, covered(x+1)-covered(x))
		}
		all[i] = taps{first, weights[start:]}
	}
	return all
}

// shrink scales a picture of width*height pixels down to toWidth*toHeight.
func shrink(pix []uint32, width, height, toWidth, toHeight int) []uint32 {
	columns, rows := areas(width, toWidth), areas(height, toHeight)
	out := make([]uint32, 0, toWidth*toHeight)
	line := make([]uint64, width)
	for _, row := range rows {
		clear(line)
		for i, w := range row.weights {
			for x, p := range pix[(row.first+i)*width:][:width] {
				line[x] += spread(p) * w
			}
		}
		for x, v := range line {
			line[x] = spread(gather(v))
		}
		for _, column := range columns {
			var sum uint64
			for i, v := range line[column.first:][:len(column.weights)] {
				sum += v * column.weights[i]
			}
			out = append(out, gather(sum))
		}
	}
	return out
}

// spread gives each colour of a pixel a lane of its own.
func spread(p uint32) uint64 {
	return uint64(p&0xff0000)<<26 | uint64(p&0xff00)<<13 | uint64(p&0xff)
}

// gather rounds lanes that hold weighted sums to a pixel.
func gather(v uint64) uint32 {
	const half = one / 2
	v += half<<42 | half<<21 | half
	return uint32(v>>(42+oneBits)&0xff)<<16 | uint32(v>>(21+oneBits)&0xff)<<8 | uint32(v>>oneBits&0xff)
}
