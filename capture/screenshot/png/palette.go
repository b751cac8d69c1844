package png

// palette numbers the colours of a picture in the order in which they appear.
type palette struct {
	colours []uint32
	// table finds a colour's number: open addressing with linear probing, 0 is
	// empty, else number+1. It is four times larger than the palette can get.
	table [tableSize]uint16
}

const tableSize = 1024

func slot(colour uint32) uint32 { return colour * 0x9e3779b1 >> 22 }

// collect gathers the picture's colours. It reports whether there are at most 256.
func (p *palette) collect(pix []uint32, stride, width, height int) bool {
	p.colours = p.colours[:0]
	clear(p.table[:])
	last := ^uint32(0)
	var above []uint32
	for y := range height {
		row := pix[y*stride:][:width]
		if equal(row, above) {
			continue
		}
		above = row
		for _, c := range row {
			if c == last {
				continue
			}
			last = c
			if !p.add(c & 0xffffff) {
				return false
			}
		}
	}
	return true
}

// add reports false when there is no room for one more colour.
func (p *palette) add(colour uint32) bool {
	for i := slot(colour); ; i = (i + 1) % tableSize {
		n := p.table[i]
		if n == 0 {
			if len(p.colours) == 256 {
				return false
			}
			p.colours = append(p.colours, colour)
			p.table[i] = uint16(len(p.colours))
			return true
		}
		if p.colours[n-1] == colour {
			return true
		}
	}
}

// number returns the number of a colour that was collected.
func (p *palette) number(colour uint32) byte {
	i := slot(colour)
	for p.colours[p.table[i]-1] != colour {
		i = (i + 1) % tableSize
	}
	return byte(p.table[i] - 1)
}

// depth returns how many bits a number takes in the file: 1, 2, 4 or 8.
func (p *palette) depth() int {
	switch n := len(p.colours); {
	case n <= 2:
		return 1
	case n <= 4:
		return 2
	case n <= 16:
		return 4
	}
	return 8
}

// appendRow appends the numbers of a row's colours, packed from the high bit down.
func (p *palette) appendRow(dst []byte, row []uint32) []byte {
	depth := p.depth()
	var acc uint32
	bits := 0
	last, n := ^uint32(0), byte(0)
	for _, c := range row {
		if c != last {
			last, n = c, p.number(c&0xffffff)
		}
		acc = acc<<depth | uint32(n)
		if bits += depth; bits == 8 {
			dst = append(dst, byte(acc))
			bits = 0
		}
	}
	if bits > 0 {
		dst = append(dst, byte(acc<<(8-bits)))
	}
	return dst
}
