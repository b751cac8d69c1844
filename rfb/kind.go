package rfb

import "github.com/falleng0d/computer-use-mcp/rfb/encode"

// viewerKind collects the numbers by which viewers give themselves away.
type viewerKind struct {
	tightPNG, vmwareCursor, vmwarePosition bool
	realVNC, apple, wmvi, libvncclient     bool
}

// note looks at one number of a viewer's SetEncodings.
func (k *viewerKind) note(e encode.Encoding) {
	switch {
	case e == -260:
		k.tightPNG = true
	case e == encode.VMwareCursor:
		k.vmwareCursor = true
	case e == 0x574d5666:
		k.vmwarePosition = true
	case e == 22 || e == 24: // JRLE, ZRLE2
		k.realVNC = true
	case e >= 1000 && e <= 1105:
		k.apple = true
	case e == 0x574d5669:
		k.wmvi = true
	case e >= -0x20000 && e <= -0x1fffd: // KeyboardLedState to ServerIdentity
		k.libvncclient = true
	}
}

// String names the viewer as well as one can guess: no message of RFB tells it.
func (k viewerKind) String() string {
	switch {
	case k.apple:
		return "macOS Screen Sharing"
	case k.realVNC:
		return "RealVNC"
	case k.wmvi:
		return "gtk-vnc"
	case k.vmwarePosition:
		return "TigerVNC"
	case k.tightPNG && k.vmwareCursor:
		return "noVNC"
	case k.libvncclient:
		return "libvncclient"
	}
	return "VNC viewer"
}
