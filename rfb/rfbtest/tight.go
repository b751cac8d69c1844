package rfbtest

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
)

// minTightZlib is the least data that Tight compresses.
const minTightZlib = 12

// tightRect decodes a Tight rectangle.
func (c *Client) tightRect(a image.Rectangle) {
	r := c.r
	at := r.offset
	control := r.u8()
	for i := range c.tight {
		if control&(1<<i) != 0 {
			c.tight[i].close()
			c.tight[i] = inflater{}
		}
	}
	if a.Dx() > 2048 {
		r.slip(at, "a rectangle of %d pixels' width", a.Dx())
		return
	}
	switch kind := control >> 4; {
	case kind == 8:
		c.Count["Tight fill"]++
		c.fill(a, c.Format.tightPixel(r.bytes(c.Format.tightSize())))
	case kind == 9:
		c.Count["Tight JPEG"]++
		c.tightJPEG(a)
	case kind < 8:
		c.tightBasic(a, kind)
	default:
		r.slip(at, "control byte %#x", control)
	}
}

// tightLength reads a length of one to three bytes.
func (c *Client) tightLength() int {
	n := 0
	for i := range 3 {
		b := int(c.r.u8())
		if i == 2 {
			return n | b<<14
		}
		n |= b & 0x7f << (7 * i)
		if b < 0x80 {
			break
		}
	}
	return n
}

func (c *Client) tightBasic(a image.Rectangle, kind byte) {
	const (
		explicitFilter = 4
		filterCopy     = 0
		filterPalette  = 1
		filterGradient = 2
	)
	r := c.r
	at := r.offset
	filter := byte(filterCopy)
	if kind&explicitFilter != 0 {
		filter = r.u8()
	}
	z := &c.tight[kind&3]
	size := c.Format.tightSize()
	switch filter {
	case filterCopy:
		c.Count["Tight full colour"]++
		data := c.tightData(z, a.Dx()*a.Dy()*size)
		for y := a.Min.Y; y < a.Max.Y && r.err == nil; y++ {
			row := c.row(y, a.Min.X, a.Max.X)
			for i := range row {
				row[i] = c.Format.tightPixel(data)
				data = data[size:]
			}
		}
	case filterPalette:
		n := int(r.u8()) + 1
		if n < 2 {
			r.slip(at, "a palette of %d colours", n)
		}
		var palette []uint32
		for range n {
			palette = append(palette, c.Format.tightPixel(r.bytes(size)))
		}
		c.tightIndexed(a, z, palette)
	case filterGradient:
		c.Count["Tight gradient"]++
		if !c.Format.tightRGB() {
			r.slip(at, "the gradient filter with pixels of %d bytes", size)
			return
		}
		c.tightGradient(a, c.tightData(z, a.Dx()*a.Dy()*size))
	default:
		r.slip(at, "filter %d", filter)
	}
}

// tightGradient sets pixels from their differences to a prediction: the pixel to the
// left plus the one above minus the one between, kept in the range of a colour.
func (c *Client) tightGradient(a image.Rectangle, data []byte) {
	above := make([][3]int, a.Dx()+1)
	for y := a.Min.Y; y < a.Max.Y && c.r.err == nil; y++ {
		var left, corner [3]int
		for x := range c.row(y, a.Min.X, a.Max.X) {
			var p [3]int
			for i := range p {
				guess := min(max(left[i]+above[x][i]-corner[i], 0), 255)
				p[i] = (guess + int(data[i])) & 0xff
			}
			data = data[3:]
			corner, left, above[x] = above[x], p, p
			c.row(y, a.Min.X, a.Max.X)[x] = c.Format.Value(uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2]))
		}
	}
}

func (c *Client) tightIndexed(a image.Rectangle, z *inflater, palette []uint32) {
	mono := len(palette) == 2
	stride := a.Dx()
	if mono {
		c.Count["Tight mono"]++
		stride = (a.Dx() + 7) / 8
	} else {
		c.Count["Tight palette"]++
	}
	at := c.r.offset
	data := c.tightData(z, stride*a.Dy())
	for y := a.Min.Y; y < a.Max.Y && c.r.err == nil; y++ {
		row := c.row(y, a.Min.X, a.Max.X)
		for x := range row {
			i := 0
			if mono {
				i = int(data[x/8] >> (7 - x%8) & 1)
			} else {
				i = int(data[x])
			}
			if i >= len(palette) {
				c.r.slip(at, "colour %d of %d", i, len(palette))
				return
			}
			row[x] = palette[i]
		}
		data = data[stride:]
	}
}

// tightData reads n bytes, compressed unless they are few.
func (c *Client) tightData(z *inflater, n int) []byte {
	if n < minTightZlib {
		return c.r.bytes(n)
	}
	return c.piece(z, c.tightLength(), n)
}

func (c *Client) tightJPEG(a image.Rectangle) {
	r := c.r
	at := r.offset
	c.mu.Lock()
	allowed := c.jpeg
	c.mu.Unlock()
	if !allowed {
		r.slip(at, "JPEG without a quality level")
	}
	if !c.Format.TrueColour || c.Format.BPP == 8 {
		r.slip(at, "JPEG in a format of %d bits", c.Format.BPP)
	}
	data := r.bytes(c.tightLength())
	if r.err != nil {
		return
	}
	if !bytes.HasPrefix(data, []byte{0xff, 0xd8}) || !bytes.HasSuffix(data, []byte{0xff, 0xd9}) {
		r.slip(at, "JPEG data that do not begin with SOI and end with EOI")
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		r.slip(at, "%v", err)
		return
	}
	if img.Bounds().Size() != a.Size() {
		r.slip(at, "a JPEG of %v", img.Bounds().Size())
		return
	}
	for y := a.Min.Y; y < a.Max.Y; y++ {
		row := c.row(y, a.Min.X, a.Max.X)
		for i := range row {
			p := color.RGBAModel.Convert(img.At(i+img.Bounds().Min.X, y-a.Min.Y+img.Bounds().Min.Y)).(color.RGBA)
			row[i] = c.Format.Value(uint32(p.R)<<16 | uint32(p.G)<<8 | uint32(p.B))
		}
	}
}
