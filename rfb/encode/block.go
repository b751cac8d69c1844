package encode

import (
	"encoding/binary"
	"image"
)

// Block is a rectangle of the screen with its pixels, as frame keeps them.
type Block struct {
	image.Rectangle
	Pix    []uint32 // 0x00RRGGBB; Pix[0] is the pixel at Min
	Stride int      // pixels from one row to the next
}

// Sub returns the part of b inside r, which must lie in b.
func (b Block) Sub(r image.Rectangle) Block {
	return Block{r, b.Pix[(r.Min.Y-b.Min.Y)*b.Stride+r.Min.X-b.Min.X:], b.Stride}
}

// row returns the pixels of row y, counted from the block's top.
func (b Block) row(y int) []uint32 { return b.Pix[y*b.Stride:][:b.Dx()] }

// AppendRectHeader appends the 12 bytes that begin a rectangle of an update.
// The coordinates must be 0 to 65535. Pseudo-encodings use it as well.
func AppendRectHeader(dst []byte, r image.Rectangle, e Encoding) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Min.X))
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Min.Y))
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Dx()))
	dst = binary.BigEndian.AppendUint16(dst, uint16(r.Dy()))
	return binary.BigEndian.AppendUint32(dst, uint32(e))
}
