package encode

import (
	"encoding/binary"
	"image"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// The pseudo-encodings that carry the cursor's picture.
const (
	Cursor          Encoding = -239
	XCursor         Encoding = -240
	CursorWithAlpha Encoding = -314
	VMwareCursor    Encoding = 0x574d5664
)

// cursorHeader appends the header of a cursor rectangle: the hotspot stands in
// place of a position.
func cursorHeader(dst []byte, c frame.Cursor, e Encoding) []byte {
	return AppendRectHeader(dst, image.Rect(c.HotX, c.HotY, c.HotX+c.Width, c.HotY+c.Height), e)
}

// AppendCursor appends a Cursor rectangle: pixels in the viewer's format and a
// mask of one bit each, as RFC 6143 section 7.8.1 has it. A hidden cursor is one
// of 0 by 0 pixels, in all four forms.
func AppendCursor(dst []byte, f PixelFormat, c frame.Cursor) []byte {
	dst = cursorHeader(dst, c, Cursor)
	var conv converter
	conv.reset(f, wholePixel)
	for _, p := range c.Pix[:c.Width*c.Height] {
		dst = conv.pixel(dst, straight(p)&0xffffff)
	}
	return appendBits(dst, c, opaque)
}

// AppendXCursor appends an XCursor rectangle: two colours, a bitmap and a mask.
func AppendXCursor(dst []byte, c frame.Cursor) []byte {
	dst = cursorHeader(dst, c, XCursor)
	if c.Width*c.Height == 0 {
		return dst
	}
	dst = append(dst, 0, 0, 0, 255, 255, 255) // foreground, background
	dst = appendBits(dst, c, func(p uint32) bool { return opaque(p) && dark(p) })
	return appendBits(dst, c, opaque)
}

// AppendCursorWithAlpha appends a CursorWithAlpha rectangle: red, green, blue and
// alpha, premultiplied, in Raw encoding and whatever the viewer's pixel format.
func AppendCursorWithAlpha(dst []byte, c frame.Cursor) []byte {
	dst = cursorHeader(dst, c, CursorWithAlpha)
	dst = binary.BigEndian.AppendUint32(dst, uint32(Raw))
	for _, p := range c.Pix[:c.Width*c.Height] {
		dst = append(dst, byte(p>>16), byte(p>>8), byte(p), byte(p>>24))
	}
	return dst
}

// AppendVMwareCursor appends a VMwareCursor rectangle of the alpha type: red,
// green, blue and alpha, not premultiplied.
func AppendVMwareCursor(dst []byte, c frame.Cursor) []byte {
	dst = cursorHeader(dst, c, VMwareCursor)
	dst = append(dst, 1, 0)
	for _, p := range c.Pix[:c.Width*c.Height] {
		s := straight(p)
		dst = append(dst, byte(s>>16), byte(s>>8), byte(s), byte(s>>24))
	}
	return dst
}

// straight undoes premultiplication.
func straight(p uint32) uint32 {
	a := p >> 24
	if a == 0 || a == 255 {
		return p
	}
	un := func(v uint32) uint32 { return min((v*255+a/2)/a, 255) }
	return a<<24 | un(p>>16&0xff)<<16 | un(p>>8&0xff)<<8 | un(p&0xff)
}

// opaque decides what a mask of one bit shows.
func opaque(p uint32) bool { return p>>24 >= 128 }

// dark decides between the two colours of an XCursor.
func dark(p uint32) bool {
	s := straight(p)
	return (s>>16&0xff)*299+(s>>8&0xff)*587+(s&0xff)*114 < 128*1000
}

// appendBits appends one bit a pixel, the leftmost highest, rows padded to bytes.
func appendBits(dst []byte, c frame.Cursor, set func(p uint32) bool) []byte {
	for y := range c.Height {
		row := c.Pix[y*c.Width:][:c.Width]
		for x := 0; x < len(row); x += 8 {
			var b byte
			for i, p := range row[x:min(x+8, len(row))] {
				if set(p) {
					b |= 0x80 >> i
				}
			}
			dst = append(dst, b)
		}
	}
	return dst
}
