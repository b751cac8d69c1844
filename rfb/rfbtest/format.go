package rfbtest

import "encoding/binary"

// Format is a PIXEL_FORMAT (RFC 6143 section 7.4).
type Format struct {
	BPP, Depth             uint8
	BigEndian, TrueColour  bool
	RMax, GMax, BMax       uint16
	RShift, GShift, BShift uint8
}

// Formats are pixel formats that viewers are known to ask for.
var Formats = map[string]Format{
	"bgrx":    {32, 24, false, true, 255, 255, 255, 16, 8, 0}, // bytes B, G, R, 0
	"rgbx":    {32, 24, false, true, 255, 255, 255, 0, 8, 16}, // noVNC
	"xrgb":    {32, 24, true, true, 255, 255, 255, 16, 8, 0},
	"xbgr":    {32, 24, true, true, 255, 255, 255, 0, 8, 16},
	"high-le": {32, 24, false, true, 255, 255, 255, 24, 16, 8}, // colours in the high bytes
	"high-be": {32, 24, true, true, 255, 255, 255, 24, 16, 8},
	"15in32":  {32, 15, false, true, 31, 31, 31, 10, 5, 0},
	"565":     {16, 16, false, true, 31, 63, 31, 11, 5, 0},
	"565-be":  {16, 16, true, true, 31, 63, 31, 11, 5, 0},
	"555":     {16, 15, false, true, 31, 31, 31, 10, 5, 0},
	"332":     {8, 8, false, true, 7, 7, 3, 5, 2, 0},
	"bgr233":  {8, 8, false, true, 7, 7, 3, 0, 3, 6},
	"222":     {8, 6, false, true, 3, 3, 3, 4, 2, 0}, // RealVNC begins with it
	"map":     {8, 8, false, false, 0, 0, 0, 0, 0, 0},
}

// Bytes returns the message body that describes the format.
func (f Format) Bytes() []byte {
	b := make([]byte, 16)
	b[0], b[1] = f.BPP, f.Depth
	if f.BigEndian {
		b[2] = 1
	}
	if f.TrueColour {
		b[3] = 1
	}
	binary.BigEndian.PutUint16(b[4:], f.RMax)
	binary.BigEndian.PutUint16(b[6:], f.GMax)
	binary.BigEndian.PutUint16(b[8:], f.BMax)
	b[10], b[11], b[12] = f.RShift, f.GShift, f.BShift
	return b
}

func parseFormat(b []byte) Format {
	return Format{
		BPP: b[0], Depth: b[1], BigEndian: b[2] != 0, TrueColour: b[3] != 0,
		RMax: binary.BigEndian.Uint16(b[4:]), GMax: binary.BigEndian.Uint16(b[6:]), BMax: binary.BigEndian.Uint16(b[8:]),
		RShift: b[10], GShift: b[11], BShift: b[12],
	}
}

// bytes is the size of a pixel.
func (f Format) bytes() int { return int(f.BPP) / 8 }

// pixel reads a pixel's value from its bytes.
func (f Format) pixel(b []byte) uint32 {
	switch {
	case f.BPP == 8:
		return uint32(b[0])
	case f.BPP == 16 && f.BigEndian:
		return uint32(binary.BigEndian.Uint16(b))
	case f.BPP == 16:
		return uint32(binary.LittleEndian.Uint16(b))
	case f.BigEndian:
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// compact tells which bytes of a pixel make ZRLE's CPIXEL: three when all colour
// bits fit into the low or the high three, the low ones when both would do.
func (f Format) compact() (from, to int) {
	if f.BPP != 32 || f.Depth > 24 || !f.TrueColour {
		return 0, f.bytes()
	}
	mask := uint32(f.RMax)<<f.RShift | uint32(f.GMax)<<f.GShift | uint32(f.BMax)<<f.BShift
	low, high := mask>>24 == 0, mask&0xff == 0
	switch {
	case low && f.BigEndian, !low && high && !f.BigEndian:
		return 1, 4
	case low, high:
		return 0, 3
	}
	return 0, 4
}

// compactPixel reads a CPIXEL.
func (f Format) compactPixel(b []byte) uint32 {
	from, to := f.compact()
	var whole [4]byte
	copy(whole[from:to], b)
	return f.pixel(whole[:])
}

// tightRGB tells whether Tight's TPIXEL is the three bytes red, green and blue.
func (f Format) tightRGB() bool {
	return f.TrueColour && f.BPP == 32 && f.Depth == 24 && f.RMax == 255 && f.GMax == 255 && f.BMax == 255
}

// tightSize is the size of a TPIXEL.
func (f Format) tightSize() int {
	if f.tightRGB() {
		return 3
	}
	return f.bytes()
}

// tightPixel reads a TPIXEL.
func (f Format) tightPixel(b []byte) uint32 {
	if f.tightRGB() {
		return f.Value(uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]))
	}
	return f.pixel(b)
}

// Value returns the pixel for a colour 0x00RRGGBB: each part is scaled to its
// maximum and rounded.
func (f Format) Value(rgb uint32) uint32 {
	part := func(v uint32, most uint16, shift uint8) uint32 {
		return (v&0xff*uint32(most) + 127) / 255 << shift
	}
	return part(rgb>>16, f.RMax, f.RShift) | part(rgb>>8, f.GMax, f.GShift) | part(rgb, f.BMax, f.BShift)
}

// RGB returns the colour 0x00RRGGBB of a pixel of a true-colour format.
func (f Format) RGB(v uint32) uint32 {
	part := func(most uint16, shift uint8) uint32 {
		m := uint32(most)
		return (v>>shift&m*255 + m/2) / m
	}
	return part(f.RMax, f.RShift)<<16 | part(f.GMax, f.GShift)<<8 | part(f.BMax, f.BShift)
}
