package encode

import "image"

// The bits of a Hextile tile's first byte (RFC 6143 section 7.7.4).
const (
	hextileRaw        = 1
	hextileBackground = 2
	hextileForeground = 4
	hextileSubrects   = 8
	hextileColoured   = 16
)

const hextileTile = 16

// hextile appends one Hextile rectangle.
func (e *Encoder) hextile(b *Batch, src Block) {
	b.rect(src.Rectangle, Hextile)
	h := hextiler{Encoder: e}
	for y := src.Min.Y; y < src.Max.Y; y += hextileTile {
		for x := src.Min.X; x < src.Max.X; x += hextileTile {
			tile := src.Sub(image.Rect(x, y, x+hextileTile, y+hextileTile).Intersect(src.Rectangle))
			b.buf = h.tile(b.buf, tile)
		}
	}
}

// hextiler remembers the colours that a tile may take over from those before.
type hextiler struct {
	*Encoder
	background, foreground uint32
	haveBG, haveFG         bool
}

// hextileColours is the most colours that are tried as subrectangles.
const hextileColours = 64

func (h *hextiler) tile(dst []byte, t Block) []byte {
	start := len(dst)
	if h.colour.build(t, hextileColours) {
		dst = h.subrects(dst, t)
		if len(dst)-start <= 1+t.Dx()*t.Dy()*h.pixel.size() && dst != nil {
			return dst
		}
		dst = dst[:start]
	}
	// A viewer may not rely on colours from before a raw tile.
	h.haveBG, h.haveFG = false, false
	return h.pixels(append(dst, hextileRaw), t)
}

// subrects appends t as a background with rectangles on it.
func (h *hextiler) subrects(dst []byte, t Block) []byte {
	p := &h.colour
	bg := 0
	for i, n := range p.counts {
		if n > p.counts[bg] {
			bg = i
		}
	}
	flagsAt := len(dst)
	dst = append(dst, 0)
	var flags byte
	if c := p.colours[bg]; !h.haveBG || c != h.background {
		flags |= hextileBackground
		dst = h.pixel.pixel(dst, c)
		h.background, h.haveBG = c, true
	}
	switch len(p.colours) {
	case 1:
		dst[flagsAt] = flags
		return dst
	case 2:
		if c := p.colours[1-bg]; !h.haveFG || c != h.foreground {
			flags |= hextileForeground
			dst = h.pixel.pixel(dst, c)
			h.foreground, h.haveFG = c, true
		}
	default:
		flags |= hextileColoured
		h.haveFG = false
	}
	dst[flagsAt] = flags | hextileSubrects
	countAt := len(dst)
	dst = append(dst, 0)
	n := 0
	var done [hextileTile]uint16 // a bit for each pixel that is drawn
	for y := range t.Dy() {
		row := t.row(y)
		for x := 0; x < len(row); x++ {
			c := row[x]
			if c == h.background || done[y]>>x&1 != 0 {
				continue
			}
			w, hgt := extent(t, x, y, &done)
			if flags&hextileColoured != 0 {
				dst = h.pixel.pixel(dst, c)
			}
			dst = append(dst, byte(x<<4|y), byte((w-1)<<4|(hgt-1)))
			n++
		}
	}
	dst[countAt] = byte(n) // at most 255: one pixel at least is background
	return dst
}

// extent finds a rectangle of one colour with its upper left corner at x, y, marks
// it as done and returns its size.
func extent(t Block, x, y int, done *[hextileTile]uint16) (w, h int) {
	row := t.row(y)
	c := row[x]
	for x+w < len(row) && row[x+w] == c && done[y]>>(x+w)&1 == 0 {
		w++
	}
	mask := uint16(1<<w-1) << x
	for h = 0; y+h < t.Dy(); h++ {
		for _, p := range t.row(y + h)[x : x+w] {
			if p != c {
				return w, h
			}
		}
		done[y+h] |= mask
	}
	return w, h
}
