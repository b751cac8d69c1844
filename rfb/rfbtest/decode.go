package rfbtest

import (
	"image"
)

// row returns the pixels of row y of the picture from x0 to x1.
func (c *Client) row(y, x0, x1 int) []uint32 { return c.Pix[y*c.Width+x0 : y*c.Width+x1] }

// fill sets all pixels of an area.
func (c *Client) fill(a image.Rectangle, v uint32) {
	for y := a.Min.Y; y < a.Max.Y; y++ {
		row := c.row(y, a.Min.X, a.Max.X)
		for i := range row {
			row[i] = v
		}
	}
}

// raw sets the pixels of an area from their bytes.
func (c *Client) raw(a image.Rectangle, b []byte) {
	n := c.Format.bytes()
	for y := a.Min.Y; y < a.Max.Y; y++ {
		row := c.row(y, a.Min.X, a.Max.X)
		for i := range row {
			row[i] = c.Format.pixel(b)
			b = b[n:]
		}
	}
}

func (c *Client) copyRect(a image.Rectangle, at int64) {
	from := image.Pt(c.r.u16(), c.r.u16())
	src := a.Add(from.Sub(a.Min))
	if !src.In(image.Rect(0, 0, c.Width, c.Height)) {
		c.r.slip(at, "a copy from %v, outside the screen", src)
		return
	}
	pix := make([]uint32, 0, a.Dx()*a.Dy())
	for y := src.Min.Y; y < src.Max.Y; y++ {
		pix = append(pix, c.row(y, src.Min.X, src.Max.X)...)
	}
	for y := a.Min.Y; y < a.Max.Y; y++ {
		pix = pix[copy(c.row(y, a.Min.X, a.Max.X), pix):]
	}
}

// hextile decodes tiles of 16x16 pixels (RFC 6143 section 7.7.4).
func (c *Client) hextile(a image.Rectangle) {
	const (
		raw = 1 << iota
		background
		foreground
		subrects
		coloured
	)
	r := c.r
	n := c.Format.bytes()
	var bg, fg uint32
	bgKnown, fgKnown := false, false
	for y := a.Min.Y; y < a.Max.Y; y += 16 {
		for x := a.Min.X; x < a.Max.X && r.err == nil; x += 16 {
			tile := image.Rect(x, y, min(x+16, a.Max.X), min(y+16, a.Max.Y))
			at := r.offset
			mode := r.u8()
			if mode&^(raw|background|foreground|subrects|coloured) != 0 {
				r.slip(at, "tile mode %#x", mode)
			}
			if mode&raw != 0 {
				c.raw(tile, r.bytes(tile.Dx()*tile.Dy()*n))
				bgKnown, fgKnown = false, false
				continue
			}
			if mode&background != 0 {
				bg, bgKnown = c.Format.pixel(r.bytes(n)), true
			}
			if !bgKnown {
				r.slip(at, "a tile without a background colour")
			}
			c.fill(tile, bg)
			if mode&foreground != 0 {
				fg, fgKnown = c.Format.pixel(r.bytes(n)), true
			}
			if mode&subrects == 0 {
				continue
			}
			for range r.u8() {
				v := fg
				if mode&coloured != 0 {
					v = c.Format.pixel(r.bytes(n))
					fgKnown = false
				} else if !fgKnown {
					r.slip(at, "a part without a foreground colour")
				}
				xy, wh := int(r.u8()), int(r.u8())
				part := image.Rect(0, 0, wh>>4+1, wh&15+1).Add(image.Pt(xy>>4, xy&15)).Add(tile.Min)
				if !part.In(tile) {
					r.slip(at, "part %v outside its tile %v", part, tile)
					return
				}
				c.fill(part, v)
			}
		}
	}
}

// zlibRect decodes raw pixels in a zlib stream.
func (c *Client) zlibRect(a image.Rectangle) {
	want := a.Dx() * a.Dy() * c.Format.bytes()
	if data := c.piece(&c.zlib, int(c.r.u32()), want); data != nil {
		c.raw(a, data)
	}
}

// piece reads n bytes of a zlib stream, which must inflate to exactly want bytes;
// to any number up to maxInflated when want is negative.
func (c *Client) piece(z *inflater, n, want int) []byte {
	r := c.r
	at := r.offset
	if n > maxInflated {
		r.slip(at, "%d bytes of zlib data", n)
		return nil
	}
	limit := want
	if want < 0 {
		limit = maxInflated
	}
	data := r.bytes(n)
	if r.err != nil {
		return nil
	}
	out, err := z.piece(data, limit)
	switch {
	case err != nil:
		r.slip(at, "%v", err)
		return nil
	case want >= 0 && len(out) != want:
		r.slip(at, "zlib data inflate to %d bytes, not %d", len(out), want)
		return nil
	}
	return out
}
