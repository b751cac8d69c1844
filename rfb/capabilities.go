package rfb

import "github.com/falleng0d/computer-use-mcp/rfb/encode"

// capabilities are what a viewer listed in its latest SetEncodings. Nothing that
// is not in them may be sent, except Raw rectangles.
type capabilities struct {
	encoding encode.Encoding // the first one listed that this package writes
	copyRect bool

	level       int // compression level 0 to 9
	quality     int // quality level 0 to 9, -1 when not listed
	fineQuality int // JPEG quality 0 to 100, -1 when not listed
	subsampling int // -1 when not listed

	cursor encode.Encoding // the best kind of cursor listed, 0 when none

	desktopSize, extendedDesktopSize bool
	lastRect, desktopName            bool
	fence, continuousUpdates         bool
	extendedClipboard                bool
	qemuKeys, extendedButtons        bool
	qemuLEDs, vmwareLEDs             bool

	kind viewerKind
}

// noCapabilities is an empty list.
var noCapabilities = capabilities{
	encoding: noEncoding, level: encode.DefaultLevel, quality: -1, fineQuality: -1, subsampling: -1,
}

// noEncoding stands for a list without a pixel encoding, for which Raw is used.
const noEncoding encode.Encoding = -1

// add takes note of one listed number. Unknown numbers mean nothing.
func (c *capabilities) add(e encode.Encoding) {
	switch e {
	case encode.Raw, encode.Hextile, encode.Zlib, encode.Tight, encode.ZRLE:
		if c.encoding == noEncoding {
			c.encoding = e
		}
	case encode.CopyRect:
		c.copyRect = true
	case encode.VMwareCursor, encode.CursorWithAlpha, encode.Cursor, encode.XCursor:
		if cursorRank(e) > cursorRank(c.cursor) {
			c.cursor = e
		}
	case pseudoDesktopSize:
		c.desktopSize = true
	case pseudoExtendedDesktopSize:
		c.extendedDesktopSize = true
	case pseudoLastRect:
		c.lastRect = true
	case pseudoDesktopName:
		c.desktopName = true
	case pseudoFence:
		c.fence = true
	case pseudoContinuousUpdates:
		c.continuousUpdates = true
	case pseudoExtendedClipboard:
		c.extendedClipboard = true
	case pseudoQEMUKeys:
		c.qemuKeys = true
	case pseudoExtendedButtons:
		c.extendedButtons = true
	case pseudoQEMULEDs:
		c.qemuLEDs = true
	case pseudoVMwareLEDs:
		c.vmwareLEDs = true
	}
	switch {
	case e >= pseudoQuality0 && e < pseudoQuality0+10:
		c.quality = int(e - pseudoQuality0)
	case e >= pseudoCompression0 && e < pseudoCompression0+10:
		c.level = int(e - pseudoCompression0)
	case e >= pseudoFineQuality0 && e <= pseudoFineQuality0+100:
		c.fineQuality = int(e - pseudoFineQuality0)
	case e >= pseudoSubsampling0 && e < pseudoSubsampling0+6:
		c.subsampling = int(e - pseudoSubsampling0)
	}
	c.kind.note(e)
}

// cursorRank orders the cursor's encodings. VMware's comes first: it has alpha,
// and noVNC shows the colours of the classic one in the wrong order.
func cursorRank(e encode.Encoding) int {
	switch e {
	case encode.VMwareCursor:
		return 4
	case encode.CursorWithAlpha:
		return 3
	case encode.Cursor:
		return 2
	case encode.XCursor:
		return 1
	}
	return 0
}

// settings returns how rectangles are encoded for the viewer.
func (c *capabilities) settings(format encode.PixelFormat) encode.Settings {
	s := encode.Settings{Format: format, Encoding: c.encoding, Level: c.level}
	if s.Encoding == noEncoding {
		s.Encoding = encode.Raw
	}
	// JPEG knows colours, not indices, and has more than 8 bits of them.
	if s.Encoding == encode.Tight && format.TrueColour && format.BitsPerPixel > 8 {
		s.JPEG = c.jpeg()
	}
	s.Gradient = c.gradient()
	return s
}

// gradient reports whether the viewer is known to have Tight's gradient filter.
// Nothing says so itself, and a viewer without it ends the connection. noVNC has had it
// since the version that first listed QEMU's LED state.
func (c *capabilities) gradient() bool {
	return c.qemuLEDs || c.cursor == encode.CursorWithAlpha || c.kind.libvncclient || c.kind.wmvi
}

// jpeg returns what the viewer allows of JPEG. Listing any of the three kinds of
// pseudo-encoding allows it; the fine ones weigh more.
func (c *capabilities) jpeg() encode.JPEG {
	if c.quality < 0 && c.fineQuality < 0 && c.subsampling < 0 {
		return encode.JPEG{}
	}
	const defaultQuality = 8 // what TigerVNC asks for by default
	j := encode.QualityLevel(defaultQuality)
	if c.quality >= 0 {
		j = encode.QualityLevel(c.quality)
	}
	if c.fineQuality >= 0 {
		j.Quality = max(c.fineQuality, 1)
	}
	switch c.subsampling {
	case 0:
		j.Subsampling = encode.Sub444
	case 1, 4, 5: // 4 and 5 ask for 8 and 16 pixels a colour, which no JPEG here has
		j.Subsampling = encode.Sub420
	case 2:
		j.Subsampling = encode.Sub422
	case 3:
		j.Subsampling = encode.SubGray
	}
	return j
}
