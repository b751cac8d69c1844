package rfbtest

import (
	"encoding/binary"
	"fmt"
	"image"
	"unicode/utf8"
)

// names of the encodings, for Count and slips.
var names = map[int32]string{
	Raw: "Raw", CopyRect: "CopyRect", Hextile: "Hextile", Zlib: "Zlib", Tight: "Tight", ZRLE: "ZRLE",
	DesktopSize: "DesktopSize", LastRect: "LastRect", RichCursor: "Cursor", XCursor: "XCursor",
	QEMUKeys: "QEMUKeys", QEMULEDs: "QEMULEDs", DesktopName: "DesktopName",
	ExtendedDesktopSize: "ExtendedDesktopSize", CursorWithAlpha: "CursorWithAlpha",
	ExtendedButtons: "ExtendedButtons", VMwareCursor: "VMwareCursor", VMwareLEDs: "VMwareLEDs",
}

// update reads a FramebufferUpdate (RFC 6143 section 7.6.1).
func (c *Client) update(at int64) any {
	r := c.r
	r.in = "FramebufferUpdate"
	c.mu.Lock()
	if c.requests == 0 && !c.continuous {
		r.slip(at, "nobody asked for an update")
	}
	c.requests = max(c.requests-1, 0)
	c.mu.Unlock()
	if c.AnyPadding {
		r.bytes(1)
	} else {
		r.zero(1)
	}
	n := r.u16()
	u := new(Update)
	open := n == 0xffff // the end will be told by LastRect
	if open && !c.isListed(LastRect) {
		r.slip(at, "LastRect was not listed")
	}
	if n == 0 {
		r.slip(at, "an update without rectangles")
	}
	for i := 0; (i < n || open) && r.err == nil; i++ {
		rect, at := c.rect(u)
		if r.err != nil {
			break
		}
		if u.Resized && rect.Encoding != LastRect && i > 0 {
			r.slip(at, "the update goes on after a new size")
		}
		c.Count[names[rect.Encoding]]++
		u.Rects = append(u.Rects, rect)
		if rect.Encoding == LastRect {
			if !open {
				r.slip(at, "LastRect in an update of %d rectangles", n)
			}
			break
		}
	}
	return u
}

// rect reads one rectangle.
func (c *Client) rect(u *Update) (Rect, int64) {
	r := c.r
	r.in = "rectangle header"
	at := r.offset
	x, y, w, h := r.u16(), r.u16(), r.u16(), r.u16()
	rect := Rect{image.Rectangle{Min: image.Pt(x, y), Max: image.Pt(x+w, y+h)}, int32(r.u32())}
	name := names[rect.Encoding]
	if name == "" {
		r.slip(at+8, "unknown encoding %d", rect.Encoding)
	}
	r.in = fmt.Sprintf("%s rectangle %d,%d %dx%d", name, x, y, w, h)
	if !c.isListed(rect.Encoding) {
		r.slip(at+8, "encoding %d was not listed", rect.Encoding)
	}
	if rect.Pixels() {
		if w == 0 || h == 0 {
			r.slip(at, "no pixels")
		}
		if x+w > c.Width || y+h > c.Height {
			r.slip(at, "outside the screen of %dx%d", c.Width, c.Height)
		}
	}
	if r.err != nil {
		return rect, at
	}
	switch rect.Encoding {
	case Raw:
		c.raw(rect.Rectangle, r.bytes(w*h*c.Format.bytes()))
	case CopyRect:
		c.copyRect(rect.Rectangle, at)
	case Hextile:
		c.hextile(rect.Rectangle)
	case Zlib:
		c.zlibRect(rect.Rectangle)
	case Tight:
		c.tightRect(rect.Rectangle)
	case ZRLE:
		c.zrleRect(rect.Rectangle)
	case RichCursor, XCursor, CursorWithAlpha, VMwareCursor:
		c.cursor(rect, at)
	case ExtendedDesktopSize:
		c.layout(rect, u, at)
	case DesktopSize:
		if x != 0 || y != 0 {
			r.slip(at, "a new size at %d,%d", x, y)
		}
		c.resize(w, h, u, at)
	default:
		if !rect.Empty() || x != 0 || y != 0 {
			r.slip(at, "a place or a size")
		}
		c.state(rect.Encoding, at)
	}
	return rect, at
}

// state reads the pseudo-rectangles that have neither place nor size.
func (c *Client) state(e int32, at int64) {
	r := c.r
	switch e {
	case QEMUKeys:
		c.KeysTold++
	case ExtendedButtons:
		c.ButtonsTold++
	case QEMULEDs:
		c.LEDs = int(r.u8())
	case VMwareLEDs:
		c.LEDs = int(r.u32())
	case DesktopName:
		if c.Name = r.text(1 << 16); !utf8.ValidString(c.Name) {
			r.slip(at, "the name is not UTF-8")
		}
	}
	if c.LEDs > 7 {
		r.slip(at, "lights %#x", c.LEDs)
	}
}

func (c *Client) layout(rect Rect, u *Update, at int64) {
	r := c.r
	n := int(r.u8())
	r.zero(3)
	if n == 0 {
		r.slip(at, "no screens")
	}
	for range n {
		b := r.bytes(16)
		area := image.Rect(0, 0, int(binary.BigEndian.Uint16(b[8:])), int(binary.BigEndian.Uint16(b[10:]))).
			Add(image.Pt(int(binary.BigEndian.Uint16(b[4:])), int(binary.BigEndian.Uint16(b[6:]))))
		if !area.In(image.Rect(0, 0, rect.Dx(), rect.Dy())) {
			r.slip(at, "a screen at %v on a desktop of %dx%d", area, rect.Dx(), rect.Dy())
		}
	}
	reason, status := rect.Min.X, rect.Min.Y
	switch {
	case reason > 2:
		r.slip(at, "reason %d", reason)
	case reason == 1:
		c.Layout = status
	case status != 0:
		r.slip(at, "status %d with reason %d", status, reason)
	}
	if reason == 1 && status != 0 && (rect.Dx() != c.Width || rect.Dy() != c.Height) {
		r.slip(at, "a refusal with another size than the present one")
		return
	}
	c.resize(rect.Dx(), rect.Dy(), u, at)
}

func (c *Client) resize(w, h int, u *Update, at int64) {
	if w == 0 || h == 0 {
		c.r.slip(at, "a size of %dx%d", w, h)
		return
	}
	if w == c.Width && h == c.Height {
		return
	}
	if u.Pixels() {
		c.r.slip(at, "a new size in an update with pixels")
	}
	c.Width, c.Height = w, h
	c.Pix = make([]uint32, w*h)
	u.Resized = true
}

func (c *Client) cursor(rect Rect, at int64) {
	r := c.r
	w, h := rect.Dx(), rect.Dy()
	if w > 1024 || h > 1024 {
		r.slip(at, "a pointer of %dx%d", w, h)
		return
	}
	if hot := rect.Min; w*h > 0 && (hot.X >= w || hot.Y >= h) {
		r.slip(at, "hotspot %v outside the pointer of %dx%d", hot, w, h)
	}
	cur := &Cursor{Kind: names[rect.Encoding], Width: w, Height: h, HotX: rect.Min.X, HotY: rect.Min.Y}
	switch rect.Encoding {
	case RichCursor:
		b := r.bytes(w * h * c.Format.bytes())
		for i := range w * h {
			cur.Pix = append(cur.Pix, c.Format.pixel(b[i*c.Format.bytes():]))
		}
		cur.Mask = c.bitmap(w, h)
	case XCursor:
		if w*h > 0 {
			b := r.bytes(6)
			fore, back := uint32(b[0])<<16|uint32(b[1])<<8|uint32(b[2]), uint32(b[3])<<16|uint32(b[4])<<8|uint32(b[5])
			for _, set := range c.bitmap(w, h) {
				if set {
					cur.Pix = append(cur.Pix, fore)
				} else {
					cur.Pix = append(cur.Pix, back)
				}
			}
			cur.Mask = c.bitmap(w, h)
		}
	case CursorWithAlpha:
		if e := int32(r.u32()); e != Raw {
			r.slip(at, "pixels in encoding %d", e)
		}
		cur.Pix = c.rgba(w*h, true)
	case VMwareCursor:
		if kind := r.u8(); kind != 1 {
			r.slip(at, "kind %d", kind)
		}
		r.zero(1)
		cur.Pix = c.rgba(w*h, false)
	}
	c.Cursor = cur
}

// bitmap reads one bit a pixel; padding must be zero.
func (c *Client) bitmap(w, h int) []bool {
	var out []bool
	at := c.r.offset
	for range h {
		for i, b := range c.r.bytes((w + 7) / 8) {
			for bit := range 8 {
				set := b&(0x80>>bit) != 0
				if 8*i+bit < w {
					out = append(out, set)
				} else if set {
					c.r.slip(at, "padding of a bitmap is not zero")
				}
			}
		}
	}
	return out
}

// rgba reads pixels of red, green, blue and alpha.
func (c *Client) rgba(n int, premultiplied bool) []uint32 {
	at := c.r.offset
	b := c.r.bytes(4 * n)
	out := make([]uint32, n)
	for i := range out {
		p := b[4*i:]
		if premultiplied && max(p[0], p[1], p[2]) > p[3] {
			c.r.slip(at+int64(4*i), "a colour exceeds its alpha")
		}
		out[i] = uint32(p[3])<<24 | uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2])
	}
	return out
}
