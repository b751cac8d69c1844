package rfb

import (
	"fmt"

	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// Types of the messages from viewer to server.
const (
	msgSetPixelFormat          = 0
	msgSetEncodings            = 2
	msgUpdateRequest           = 3
	msgKeyEvent                = 4
	msgPointerEvent            = 5
	msgClientCutText           = 6
	msgEnableContinuousUpdates = 150
	msgClientFence             = 248
	msgSetDesktopSize          = 251
	msgQEMU                    = 255
)

// Types of the messages from server to viewer.
const (
	msgUpdate                 = 0
	msgBell                   = 2
	msgServerCutText          = 3
	msgEndOfContinuousUpdates = 150
	msgServerFence            = 248
)

// Pseudo-encodings: what a viewer can do beside showing pixels. The cursor's are
// in package encode.
const (
	pseudoDesktopSize         encode.Encoding = -223
	pseudoLastRect            encode.Encoding = -224
	pseudoQEMUKeys            encode.Encoding = -258
	pseudoQEMULEDs            encode.Encoding = -261
	pseudoDesktopName         encode.Encoding = -307
	pseudoExtendedDesktopSize encode.Encoding = -308
	pseudoFence               encode.Encoding = -312
	pseudoContinuousUpdates   encode.Encoding = -313
	pseudoExtendedButtons     encode.Encoding = -316
	pseudoVMwareLEDs          encode.Encoding = 0x574d5668
	pseudoExtendedClipboard   encode.Encoding = -0x3f5e1a32 // 0xC0A1E5CE

	pseudoQuality0     encode.Encoding = -32 // to -23: quality level 0 to 9
	pseudoCompression0 encode.Encoding = -256
	pseudoFineQuality0 encode.Encoding = -512 // to -412: JPEG quality 0 to 100
	pseudoSubsampling0 encode.Encoding = -768 // to -763
)

// Flags of a fence.
const (
	fenceBlockBefore = 1 << 0
	fenceBlockAfter  = 1 << 1
	fenceSyncNext    = 1 << 2
	fenceRequest     = 1 << 31

	maxFencePayload = 64 // bytes
)

// ProtocolError reports that the viewer sent what RFB does not allow. The
// connection cannot go on after it.
type ProtocolError struct {
	Message string // what was wrong, with the value
}

func (e *ProtocolError) Error() string { return "RFB protocol error: " + e.Message }

func protocolErrorf(format string, args ...any) error {
	return &ProtocolError{fmt.Sprintf(format, args...)}
}
