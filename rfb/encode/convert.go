package encode

import (
	"encoding/binary"
	"math/bits"
)

// converter appends pixels in the bytes of one format.
type converter struct {
	format PixelFormat
	// A pixel's wire form, read as a little-endian number, is the sum of its
	// colours' entries.
	red, green, blue [256]uint32
	native           bool // that number is the frame's pixel itself
	from, to         int  // the bytes of the wire form that are written
	rgb              bool // write the colours as three bytes: Tight's TPIXEL
}

// pixelKind tells the three ways to write one pixel format apart.
type pixelKind int

const (
	wholePixel   pixelKind = iota // PIXEL of Raw, Hextile, Zlib and RRE
	compactPixel                  // CPIXEL of ZRLE
	tightPixel                    // TPIXEL of Tight
)

func (c *converter) reset(f PixelFormat, kind pixelKind) {
	*c = converter{format: f, to: f.bytes()}
	switch kind {
	case compactPixel:
		c.from, c.to = f.compact()
	case tightPixel:
		if c.rgb = f.tightRGB(); c.rgb {
			c.to = 3
		}
	}
	c.native = f == Native
	for v := range uint32(256) {
		if f.TrueColour {
			c.red[v] = c.wire(scale(v, uint32(f.RedMax)) << f.RedShift)
			c.green[v] = c.wire(scale(v, uint32(f.GreenMax)) << f.GreenShift)
			c.blue[v] = c.wire(scale(v, uint32(f.BlueMax)) << f.BlueShift)
		} else {
			c.red[v] = c.wire(scale(v, mapSide-1) * mapSide * mapSide)
			c.green[v] = c.wire(scale(v, mapSide-1) * mapSide)
			c.blue[v] = c.wire(scale(v, mapSide-1))
		}
	}
}

// scale maps 0..255 to 0..most, rounding to the nearest.
func scale(v, most uint32) uint32 { return (v*most + 127) / 255 }

// wire puts a pixel value into the order in which its bytes are sent.
func (c *converter) wire(v uint32) uint32 {
	if c.format.BigEndian {
		return bits.ReverseBytes32(v) >> (32 - c.format.BitsPerPixel)
	}
	return v
}

// size is how many bytes a pixel takes.
func (c *converter) size() int { return c.to - c.from }

// value returns the wire form of a frame's pixel as a little-endian number.
func (c *converter) value(p uint32) uint32 {
	return c.red[p>>16&0xff] + c.green[p>>8&0xff] + c.blue[p&0xff]
}

// pixel appends one pixel.
func (c *converter) pixel(dst []byte, p uint32) []byte {
	if c.rgb {
		return append(dst, byte(p>>16), byte(p>>8), byte(p))
	}
	v := c.value(p)
	for i := c.from; i < c.to; i++ {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// row appends a row of pixels.
func (c *converter) row(dst []byte, pix []uint32) []byte {
	n := c.size()
	start := len(dst)
	dst = grow(dst, len(pix)*n)
	out := dst[start:]
	switch {
	case c.rgb:
		for i, p := range pix {
			o := out[3*i : 3*i+3 : 3*i+3]
			o[0], o[1], o[2] = byte(p>>16), byte(p>>8), byte(p)
		}
	case n == 4 && c.native:
		for i, p := range pix {
			binary.LittleEndian.PutUint32(out[4*i:], p)
		}
	case n == 4:
		for i, p := range pix {
			binary.LittleEndian.PutUint32(out[4*i:], c.value(p))
		}
	case n == 3 && c.native:
		for i, p := range pix {
			o := out[3*i : 3*i+3 : 3*i+3]
			o[0], o[1], o[2] = byte(p), byte(p>>8), byte(p>>16)
		}
	case n == 3:
		shift := 8 * c.from
		for i, p := range pix {
			v := c.value(p) >> shift
			o := out[3*i : 3*i+3 : 3*i+3]
			o[0], o[1], o[2] = byte(v), byte(v>>8), byte(v>>16)
		}
	case n == 2:
		for i, p := range pix {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(c.value(p)))
		}
	default:
		for i, p := range pix {
			out[i] = byte(c.value(p))
		}
	}
	return dst
}

// grow returns dst longer by n bytes whose content is undefined.
func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) < n {
		dst = append(dst, make([]byte, n)...)
		return dst
	}
	return dst[:len(dst)+n]
}

// A viewer without true colour gets a cube of mapSide shades of each colour.
const mapSide = 6

// AppendColourMap appends the SetColourMapEntries message that a viewer must be
// sent after it asked for a format without TrueColour.
func AppendColourMap(dst []byte) []byte {
	dst = append(dst, 1, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, mapSide*mapSide*mapSide)
	shade := func(i int) uint16 { return uint16(i % mapSide * 0xffff / (mapSide - 1)) }
	for i := range mapSide * mapSide * mapSide {
		dst = binary.BigEndian.AppendUint16(dst, shade(i/(mapSide*mapSide)))
		dst = binary.BigEndian.AppendUint16(dst, shade(i/mapSide))
		dst = binary.BigEndian.AppendUint16(dst, shade(i))
	}
	return dst
}
