package frame

import "image"

// Cursor is the pointer's picture and place, a layer over the pixels.
type Cursor struct {
	// Serial counts shapes: equal serials within one epoch mean an equal picture.
	Serial uint64
	// Name is the shape's X cursor name ("watch", "left_ptr"), or empty.
	Name string
	// X, Y is the hotspot's place on the screen.
	X, Y int
	// HotX, HotY is the hotspot inside the picture.
	HotX, HotY int
	// Width, Height is the picture's size; both 0 when the cursor is hidden.
	Width, Height int
	// Pix holds Width*Height pixels 0xAARRGGBB with premultiplied alpha. It is
	// never written after it was handed to a Buffer.
	Pix []uint32
}

// Bounds returns the part of the screen that the cursor covers.
func (c Cursor) Bounds() image.Rectangle {
	x, y := c.X-c.HotX, c.Y-c.HotY
	return image.Rect(x, y, x+c.Width, y+c.Height)
}

// Draw draws the part of the cursor that is inside r over pix, which holds r's pixels
// 0x00RRGGBB with stride pixels a row.
func (c Cursor) Draw(pix []uint32, stride int, r image.Rectangle) {
	at := c.Bounds()
	visible := at.Intersect(r)
	for y := visible.Min.Y; y < visible.Max.Y; y++ {
		from := c.Pix[(y-at.Min.Y)*c.Width+visible.Min.X-at.Min.X:]
		to := pix[(y-r.Min.Y)*stride+visible.Min.X-r.Min.X:]
		for x := range visible.Dx() {
			to[x] = over(from[x], to[x])
		}
	}
}

// over returns the opaque colour below with the premultiplied colour top above it.
func over(top, below uint32) uint32 {
	rest := 255 - top>>24
	var out uint32
	for shift := 16; shift >= 0; shift -= 8 {
		v := top>>shift&0xff + ((below>>shift&0xff)*rest+127)/255
		out = out<<8 | min(v, 255) // a bad cursor may not be premultiplied
	}
	return out
}
