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

	// The first byte of a tile: one of these, or the size of a packed palette, or
	// zrleRLE plus the size of a palette for runs.
	zrleRaw   = 0
	zrleSolid = 1
	zrleRLE   = 128

	zrlePacked  = 16  // most colours of a packed palette
	zrleIndexed = 127 // most colours of a palette for runs
)

func (e *Encoder) zrleTile(dst []byte, t Block) []byte {
	few := e.colour.build(t, zrleIndexed)
	n := len(e.colour.colours)
	if few && n == 1 {
		return e.pixel.pixel(append(dst, zrleSolid), e.colour.colours[0])
	}
	if few && n <= zrlePacked {
		return e.zrlePacked(dst, t)
	}
	if few && countRuns(t) < t.Dx()*t.Dy() {
		dst = e.zrlePalette(append(dst, byte(zrleRLE+n)))
		return e.zrleRuns(dst, t)
	}
	return e.pixels(append(dst, zrleRaw), t)
}

func (e *Encoder) zrlePalette(dst []byte) []byte {
	for _, c := range e.colour.colours {
		dst = e.pixel.pixel(dst, c)
	}
	return dst
}

// zrlePacked appends a tile as a palette and indices of 1, 2 or 4 bits.
func (e *Encoder) zrlePacked(dst []byte, t Block) []byte {
	n := len(e.colour.colours)
	dst = e.zrlePalette(append(dst, byte(n)))
	bits := 4
	if n <= 2 {
		bits = 1
	} else if n <= 4 {
		bits = 2
	}
	return e.colour.packed(dst, t, bits)
}

// zrleRuns appends a tile as runs of palette indices, which may go on from row to
// row.
func (e *Encoder) zrleRuns(dst []byte, t Block) []byte {
	run := func(c uint32, n int) {
		i := e.colour.index(c)
		if n == 1 {
			dst = append(dst, i)
			return
		}
		dst = append(dst, i|0x80)
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
