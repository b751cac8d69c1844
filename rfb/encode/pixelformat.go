package encode

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// PixelFormat is RFB's PIXEL_FORMAT (RFC 6143 section 7.4). It is comparable: equal
// formats give equal bytes.
type PixelFormat struct {
	BitsPerPixel uint8 // 8, 16 or 32
	Depth        uint8 // useful bits, at most BitsPerPixel
	BigEndian    bool
	TrueColour   bool // false: pixels are indices into the map of AppendColourMap

	// The rest counts only with TrueColour. A maximum is 2^n-1; a shift is the
	// position of the colour's lowest bit.
	RedMax, GreenMax, BlueMax       uint16
	RedShift, GreenShift, BlueShift uint8
}

// Native is the format that a server offers: 32 bits, little-endian, in the
// order of frame's pixels.
var Native = PixelFormat{
	BitsPerPixel: 32, Depth: 24, TrueColour: true,
	RedMax: 255, GreenMax: 255, BlueMax: 255,
	RedShift: 16, GreenShift: 8, BlueShift: 0,
}

// PixelFormatSize is the length of a PIXEL_FORMAT in bytes.
const PixelFormatSize = 16

// ParsePixelFormat reads a PIXEL_FORMAT. The error says what makes the format
// unusable; a viewer that sends such a format cannot be served.
func ParsePixelFormat(b [PixelFormatSize]byte) (PixelFormat, error) {
	f := PixelFormat{
		BitsPerPixel: b[0], Depth: b[1], BigEndian: b[2] != 0, TrueColour: b[3] != 0,
	}
	if f.TrueColour {
		f.RedMax = binary.BigEndian.Uint16(b[4:])
		f.GreenMax = binary.BigEndian.Uint16(b[6:])
		f.BlueMax = binary.BigEndian.Uint16(b[8:])
		f.RedShift, f.GreenShift, f.BlueShift = b[10], b[11], b[12]
	}
	if f.BitsPerPixel == 8 {
		f.BigEndian = false // one byte has no order: keep equal formats equal
	}
	return f, f.check()
}

// Append appends the 16 bytes of the format.
func (f PixelFormat) Append(dst []byte) []byte {
	dst = append(dst, f.BitsPerPixel, f.Depth, flag(f.BigEndian), flag(f.TrueColour))
	dst = binary.BigEndian.AppendUint16(dst, f.RedMax)
	dst = binary.BigEndian.AppendUint16(dst, f.GreenMax)
	dst = binary.BigEndian.AppendUint16(dst, f.BlueMax)
	return append(dst, f.RedShift, f.GreenShift, f.BlueShift, 0, 0, 0)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (f PixelFormat) check() error {
	switch f.BitsPerPixel {
	case 8, 16, 32:
	default:
		return fmt.Errorf("pixel format: %d bits per pixel", f.BitsPerPixel)
	}
	if f.Depth == 0 || f.Depth > f.BitsPerPixel {
		return fmt.Errorf("pixel format: depth %d of %d bits", f.Depth, f.BitsPerPixel)
	}
	if !f.TrueColour {
		return nil
	}
	var seen uint64
	for _, c := range [3]struct {
		max   uint16
		shift uint8
	}{{f.RedMax, f.RedShift}, {f.GreenMax, f.GreenShift}, {f.BlueMax, f.BlueShift}} {
		if c.max == 0 || c.max&(c.max+1) != 0 {
			return fmt.Errorf("pixel format: colour maximum %d", c.max)
		}
		if c.shift >= f.BitsPerPixel {
			return fmt.Errorf("pixel format: colour shift %d in %d bits", c.shift, f.BitsPerPixel)
		}
		bits := uint64(c.max) << c.shift
		if bits>>f.BitsPerPixel != 0 {
			return fmt.Errorf("pixel format: colour maximum %d at bit %d of %d", c.max, c.shift, f.BitsPerPixel)
		}
		if seen&bits != 0 {
			return errors.New("pixel format: colours overlap")
		}
		seen |= bits
	}
	return nil
}

// String describes the format, as for a log line.
func (f PixelFormat) String() string {
	order := "little-endian"
	if f.BigEndian {
		order = "big-endian"
	}
	if !f.TrueColour {
		return fmt.Sprintf("%d bits %s, colour map", f.BitsPerPixel, order)
	}
	return fmt.Sprintf("%d bits %s, depth %d, max %d %d %d, shift %d %d %d", f.BitsPerPixel, order, f.Depth,
		f.RedMax, f.GreenMax, f.BlueMax, f.RedShift, f.GreenShift, f.BlueShift)
}

// bytes is the size of a pixel on the wire.
func (f PixelFormat) bytes() int { return int(f.BitsPerPixel) / 8 }

// mask has the bits of a pixel that carry colour.
func (f PixelFormat) mask() uint32 {
	return uint32(f.RedMax)<<f.RedShift | uint32(f.GreenMax)<<f.GreenShift | uint32(f.BlueMax)<<f.BlueShift
}

// tightRGB reports whether Tight's TPIXEL is the three bytes red, green, blue
// rather than a whole pixel.
func (f PixelFormat) tightRGB() bool {
	return f.TrueColour && f.BitsPerPixel == 32 && f.Depth == 24 &&
		f.RedMax == 255 && f.GreenMax == 255 && f.BlueMax == 255
}

// compact tells which bytes of a pixel's wire form are its ZRLE CPIXEL. All
// colour bits must lie in the three low or the three high bytes; when both hold
// the low ones are meant.
func (f PixelFormat) compact() (from, to int) {
	if !f.TrueColour || f.BitsPerPixel != 32 || f.Depth > 24 {
		return 0, f.bytes()
	}
	switch m := f.mask(); {
	case m&0xff000000 == 0 && f.BigEndian, m&0x000000ff == 0 && !f.BigEndian && m&0xff000000 != 0:
		return 1, 4
	case m&0xff000000 == 0, m&0x000000ff == 0:
		return 0, 3
	}
	return 0, 4
}
