package rfbtest

import "image"

// tiles reads ZRLE's inflated data.
type tiles struct {
	c    *Client
	data []byte
	at   int64
}

func (t *tiles) bytes(n int) []byte {
	if len(t.data) < n {
		t.c.r.slip(t.at, "the data of the tiles end early")
		return make([]byte, n)
	}
	b := t.data[:n]
	t.data = t.data[n:]
	return b
}

func (t *tiles) pixel() uint32 {
	from, to := t.c.Format.compact()
	return t.c.Format.compactPixel(t.bytes(to - from))
}

// run reads a run length.
func (t *tiles) run() int {
	n := 1
	for t.c.r.err == nil {
		b := int(t.bytes(1)[0])
		n += b
		if b != 255 {
			break
		}
	}
	return n
}

// zrleRect decodes tiles of 64x64 pixels (RFC 6143 section 7.7.6).
func (c *Client) zrleRect(a image.Rectangle) {
	at := c.r.offset
	t := &tiles{c: c, data: c.piece(&c.zrle, int(c.r.u32()), -1), at: at}
	for y := a.Min.Y; y < a.Max.Y; y += 64 {
		for x := a.Min.X; x < a.Max.X && c.r.err == nil; x += 64 {
			t.tile(image.Rect(x, y, min(x+64, a.Max.X), min(y+64, a.Max.Y)))
		}
	}
	if len(t.data) > 0 {
		c.r.slip(at, "%d bytes after the last tile", len(t.data))
	}
}

func (t *tiles) tile(a image.Rectangle) {
	c := t.c
	kind := int(t.bytes(1)[0])
	var palette []uint32
	if kind >= 2 && kind <= 16 || kind >= 130 {
		for range kind & 127 {
			palette = append(palette, t.pixel())
		}
	}
	switch {
	case kind == 0:
		t.each(a, func() (uint32, int) { return t.pixel(), 1 })
	case kind == 1:
		c.fill(a, t.pixel())
	case kind <= 16:
		t.packed(a, palette)
	case kind == 128:
		t.each(a, func() (uint32, int) { v := t.pixel(); return v, t.run() })
	case kind >= 130:
		t.each(a, func() (uint32, int) {
			i := int(t.bytes(1)[0])
			n := 1
			if i >= 128 {
				n = t.run()
			}
			if i&127 >= len(palette) {
				c.r.slip(t.at, "colour %d of %d", i&127, len(palette))
				return 0, n
			}
			return palette[i&127], n
		})
	default:
		c.r.slip(t.at, "tile of kind %d", kind)
	}
}

// each sets the pixels of a tile by runs, which must end with the tile.
func (t *tiles) each(a image.Rectangle, next func() (uint32, int)) {
	left := a.Dx() * a.Dy()
	for i := 0; left > 0 && t.c.r.err == nil; {
		v, n := next()
		if n > left {
			t.c.r.slip(t.at, "a run of %d pixels with %d left in the tile", n, left)
			return
		}
		left -= n
		for range n {
			t.c.Pix[(a.Min.Y+i/a.Dx())*t.c.Width+a.Min.X+i%a.Dx()] = v
			i++
		}
	}
}

// packed sets the pixels of a tile from indices of 1, 2 or 4 bits.
func (t *tiles) packed(a image.Rectangle, palette []uint32) {
	width := 4
	switch {
	case len(palette) == 2:
		width = 1
	case len(palette) <= 4:
		width = 2
	}
	for y := a.Min.Y; y < a.Max.Y; y++ {
		line := t.bytes((a.Dx()*width + 7) / 8)
		row := t.c.row(y, a.Min.X, a.Max.X)
		for x := range row {
			bit := x * width
			i := int(line[bit/8]) >> (8 - width - bit%8) & (1<<width - 1)
			if i >= len(palette) {
				t.c.r.slip(t.at, "colour %d of %d", i, len(palette))
				return
			}
			row[x] = palette[i]
		}
	}
}
