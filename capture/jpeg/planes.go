package jpeg

// groupPixels is how many pixels of a row are converted at a time. It makes two
// blocks of a chrominance plane of half width, which the transform takes at a time.
const groupPixels = 32

// planes are one strip in the colours of JPEG: rows of samples around 0, of a
// width that is a multiple of a group. What lies right of or below the picture
// repeats its last column and row, which costs the fewest bits.
type planes struct {
	y      []int16
	cb, cr []int16    // subsampled
	full   [2][]int16 // a strip of chrominance before it is subsampled
	tail   [groupPixels]uint32
}

func (p *planes) resize(g geometry) {
	width := g.lumaStride * 8
	p.y = grow(p.y, width*8*g.v)
	p.cb = grow(p.cb, g.chromaStride*8*8)
	p.cr = grow(p.cr, g.chromaStride*8*8)
	if g.h > 1 {
		for i := range p.full {
			p.full[i] = grow(p.full[i], width*g.v)
		}
	}
}

// fill converts a strip of the picture, of which height rows are left.
func (p *planes) fill(pix []uint32, stride, width, height int, g geometry) {
	span := g.lumaStride * 8
	chromaSpan := g.chromaStride * 8
	for row := range 8 * g.v {
		src := pix[min(row, height-1)*stride:][:width]
		y := p.y[row*span:][:span]
		switch {
		case g.components == 1:
			// The chrominance planes are scratch here.
			p.convert(y, p.cb[:span], p.cr[:span], src)
		case g.h == 1:
			p.convert(y, p.cb[row*span:][:span], p.cr[row*span:][:span], src)
		default:
			at := row % g.v * span
			p.convert(y, p.full[0][at:][:span], p.full[1][at:][:span], src)
			if row%g.v == g.v-1 {
				to := row / g.v * chromaSpan
				// With one row, a square of twice the same pair is the pair's average.
				halve(p.cb[to:][:chromaSpan], p.full[0][:span], p.full[0][at:])
				halve(p.cr[to:][:chromaSpan], p.full[1][:span], p.full[1][at:])
			}
		}
	}
}

// convert converts a row and fills it up to whole groups.
func (p *planes) convert(y, cb, cr []int16, src []uint32) {
	whole := len(src) / groupPixels * groupPixels
	convert(y[:whole], cb, cr, src)
	if whole == len(y) {
		return
	}
	n := copy(p.tail[:], src[whole:])
	for i := n; i < groupPixels; i++ {
		p.tail[i] = src[len(src)-1]
	}
	convert(y[whole:], cb[whole:], cr[whole:], p.tail[:])
}

// The colour matrix of JFIF in units of 1/2^15.
const (
	matrixBits = 15

	yR, yG, yB    = 9798, 19235, 3735
	cbR, cbG, cbB = -5528, -10856, 16384
	crR, crG, crB = 16384, -13720, -2664

	// Rounding, and for luminance the shift to samples around 0. Chrominance
	// rounds a half down, or full blue and red would be one above the range.
	yBias = 1<<(matrixBits-1) - 128<<matrixBits
	cBias = 1<<(matrixBits-1) - 1
)

// convertGo converts len(y) pixels, a multiple of groupPixels.
func convertGo(y, cb, cr []int16, src []uint32) {
	src, cb, cr = src[:len(y)], cb[:len(y)], cr[:len(y)]
	for i, p := range src {
		r, g, b := int32(p>>16&0xff), int32(p>>8&0xff), int32(p&0xff)
		y[i] = int16((yR*r + yG*g + yB*b + yBias) >> matrixBits)
		cb[i] = int16((cbR*r + cbG*g + cbB*b + cBias) >> matrixBits)
		cr[i] = int16((crR*r + crG*g + crB*b + cBias) >> matrixBits)
	}
}

// halveGo averages squares of four samples from two rows.
func halveGo(dst, above, below []int16) {
	above, below = above[:2*len(dst)], below[:2*len(dst)]
	for i := range dst {
		dst[i] = (above[2*i] + above[2*i+1] + below[2*i] + below[2*i+1] + 2) >> 2
	}
}
