package encode

import "image"

// zrle appends one ZRLE rectangle: tiles of 64 by 64 pixels, each in the form
// that suits it, compressed as one (RFC 6143 section 7.7.6).
func (e *Encoder) zrle(b *Batch, src Block) {
	b.rect(src.Rectangle, ZRLE)
	e.data, e.segments = e.data[:0], e.segments[:0]
	mixed := 0 // bytes that are in no segment yet
	end := func(unit int, drawn bool) {
		if mixed > 0 {
			e.segments = append(e.segments, segment{mixed, unit, e.effort(unit, drawn)})
		}
		mixed = 0
	}
	for y := src.Min.Y; y < src.Max.Y; y += zrleTile {
		for x := src.Min.X; x < src.Max.X; x += zrleTile {
			tile := src.Sub(image.Rect(x, y, x+zrleTile, y+zrleTile).Intersect(src.Rectangle))
			from := len(e.data)
			e.data = e.zrleTile(e.data, tile)
			mixed += len(e.data) - from
			if e.data[from] == zrleRaw {
				// Whole pixels are what is worth matching.
				raw := len(e.data) - from - 1
				mixed -= raw
				end(1, true)
				mixed = raw
				end(e.pixel.size(), repeats(tile))
			}
		}
	}
	end(1, true)
	e.compress(b, streamZRLE)
}

const (
	zrleTile = 64

	// The first byte of a tile: one of these or the size of a packed palette.
	zrleRaw   = 0
	zrleSolid = 1
	zrleRLE   = 128

	zrlePacked = 16 // most colours of a packed palette
)

func (e *Encoder) zrleTile(dst []byte, t Block) []byte {
	if e.colour.build(t, zrlePacked) {
		if len(e.colour.colours) == 1 {
			return e.pixel.pixel(append(dst, zrleSolid), e.colour.colours[0])
		}
		return e.zrlePacked(dst, t)
	}
	if countRuns(t) < t.Dx()*t.Dy()/2 {
		return e.zrleRuns(append(dst, zrleRLE), t)
	}
	return e.pixels(append(dst, zrleRaw), t)
}

// zrlePacked appends a tile as a palette and indices of 1, 2 or 4 bits.
func (e *Encoder) zrlePacked(dst []byte, t Block) []byte {
	n := len(e.colour.colours)
	dst = append(dst, byte(n))
	for _, c := range e.colour.colours {
		dst = e.pixel.pixel(dst, c)
	}
	bits := 4
	if n <= 2 {
		bits = 1
	} else if n <= 4 {
		bits = 2
	}
	return e.colour.packed(dst, t, bits)
}

// zrleRuns appends a tile as runs of one colour, which may go on from row to row.
// The other form of runs, with a palette, is shorter before compression and longer
// after: the same letter has other numbers in each tile.
func (e *Encoder) zrleRuns(dst []byte, t Block) []byte {
	run := func(c uint32, n int) {
		dst = e.pixel.pixel(dst, c)
		for n--; n >= 255; n -= 255 {
			dst = append(dst, 255)
		}
		dst = append(dst, byte(n))
	}
	last, n := t.Pix[0], 0
	for y := range t.Dy() {
		for _, c := range t.row(y) {
			if c != last {
				run(last, n)
				last, n = c, 0
			}
			n++
		}
	}
	run(last, n)
	return dst
}

// countRuns returns how many runs of one colour t consists of, row after row.
func countRuns(t Block) int {
	last, n := t.Pix[0], 1
	for y := range t.Dy() {
		for _, c := range t.row(y) {
			if c != last {
				last = c
				n++
			}
		}
	}
	return n
}
