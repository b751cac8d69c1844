package encode

import "github.com/falleng0d/computer-use-mcp/capture/jpeg"

// Encoding is the number of a way to send a rectangle.
type Encoding int32

// The encodings of pixels that this package writes.
const (
	Raw      Encoding = 0
	CopyRect Encoding = 1
	Hextile  Encoding = 5
	Zlib     Encoding = 6
	Tight    Encoding = 7
	ZRLE     Encoding = 16
)

// String returns the encoding's name in the RFB documents.
func (e Encoding) String() string {
	switch e {
	case Raw:
		return "Raw"
	case CopyRect:
		return "CopyRect"
	case Hextile:
		return "Hextile"
	case Zlib:
		return "Zlib"
	case Tight:
		return "Tight"
	case ZRLE:
		return "ZRLE"
	}
	return "unknown"
}

// DefaultLevel is the compression level for a viewer that asks for none.
const DefaultLevel = 2

// Settings say how rectangles are encoded. Settings are comparable: two viewers
// with equal Settings that are Shared can be sent the same Batch.
type Settings struct {
	Format   PixelFormat
	Encoding Encoding // Raw, Hextile, Zlib, Tight or ZRLE
	Level    int      // compression level 0 (fast) to 9 (small)
	JPEG     JPEG     // for what looks like a photo; Tight only
	Shared   bool     // compress without history, for any number of viewers

	// Gradient allows Tight's gradient filter, which saves a tenth of a photo without
	// JPEG. It is part of Tight, but few servers use it and some viewers do not know
	// it: noVNC before 1.5 ends the connection. TigerVNC, TurboVNC, gtk-vnc and
	// libvncclient know it, and noVNC from the version on that lists QEMU's LED state.
	Gradient bool
}

// JPEG says whether and how well JPEG may be used. The zero value means never.
type JPEG struct {
	Quality     int // 1 to 100 as libjpeg counts; 0: no JPEG
	Subsampling Subsampling
}

// Subsampling is how coarse a JPEG keeps colour, as against brightness.
type Subsampling = jpeg.Chroma

// The subsamplings that a viewer can ask for.
const (
	Sub444  = jpeg.Chroma444 // full
	Sub422  = jpeg.Chroma422 // half the columns
	Sub420  = jpeg.Chroma420 // half the columns and rows
	SubGray = jpeg.Gray      // no colour
)

// QualityLevel returns the JPEG setting that a viewer means by quality level 0 to 9,
// as TigerVNC defines it: full colour resolution from 6.
func QualityLevel(level int) JPEG {
	level = min(max(level, 0), 9)
	quality := [10]int{15, 29, 41, 42, 62, 77, 79, 86, 92, 100}[level]
	switch {
	case level <= 2:
		return JPEG{quality, Sub420}
	case level <= 5:
		return JPEG{quality, Sub422}
	}
	return JPEG{quality, Sub444}
}
