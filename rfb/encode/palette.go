package encode

// palette is the set of colours of a block, numbered in the order in which they
// appear.
type palette struct {
	colours []uint32
	counts  []int                    // pixels of each colour
	slots   [1 << paletteBits]uint16 // number of a colour plus 1, found by its hash
	used    []uint16                 // slots that are not 0
}

const (
	maxColours  = 256
	paletteBits = 10
)

// build collects the colours of src. It gives up with false at the first colour
// beyond most, which is at most 256.
func (p *palette) build(src Block, most int) bool {
	for _, s := range p.used {
		p.slots[s] = 0
	}
	p.colours, p.counts, p.used = p.colours[:0], p.counts[:0], p.used[:0]
	last, run, number := uint32(0), 0, 0
	for y := range src.Dy() {
		for _, c := range src.row(y) {
			if c == last && run > 0 {
				run++
				continue
			}
			if run > 0 {
				p.counts[number] += run
			}
			last, run = c, 1
			slot := p.slot(c)
			if p.slots[slot] == 0 {
				if len(p.colours) == most {
					return false
				}
				p.colours = append(p.colours, c)
				p.counts = append(p.counts, 0)
				p.used = append(p.used, uint16(slot))
				p.slots[slot] = uint16(len(p.colours))
			}
			number = int(p.slots[slot]) - 1
		}
	}
	p.counts[number] += run
	return true
}

// slot returns where c is or belongs.
func (p *palette) slot(c uint32) uint32 {
	slot := c * 0x9e3779b1 >> (32 - paletteBits)
	for {
		n := p.slots[slot]
		if n == 0 || p.colours[n-1] == c {
			return slot
		}
		slot = (slot + 1) % (1 << paletteBits)
	}
}

// index returns the number of a colour of the palette.
func (p *palette) index(c uint32) byte { return byte(p.slots[p.slot(c)] - 1) }

// indices appends the number of each pixel's colour, one byte each.
func (p *palette) indices(dst []byte, src Block) []byte {
	last, number := src.Pix[0], p.index(src.Pix[0])
	for y := range src.Dy() {
		row := src.row(y)
		from := len(dst)
		dst = grow(dst, len(row))
		out := dst[from:][:len(row)]
		for x, c := range row {
			if c != last {
				last, number = c, p.index(c)
			}
			out[x] = number
		}
	}
	return dst
}

// packed appends the number of each pixel's colour in 1, 2 or 4 bits, the leftmost
// highest, with each row filled up to whole bytes.
func (p *palette) packed(dst []byte, src Block, bits int) []byte {
	last, number := src.Pix[0], p.index(src.Pix[0])
	for y := range src.Dy() {
		acc, free := byte(0), 8
		for _, c := range src.row(y) {
			if c != last {
				last, number = c, p.index(c)
			}
			free -= bits
			acc |= number << free
			if free == 0 {
				dst = append(dst, acc)
				acc, free = 0, 8
			}
		}
		if free < 8 {
			dst = append(dst, acc)
		}
	}
	return dst
}
