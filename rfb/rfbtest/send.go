package rfbtest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
)

// Encodings and pseudo-encodings by their numbers.
const (
	Raw      int32 = 0
	CopyRect int32 = 1
	Hextile  int32 = 5
	Zlib     int32 = 6
	Tight    int32 = 7
	ZRLE     int32 = 16

	Quality0     int32 = -32
	Compression0 int32 = -256
	FineQuality0 int32 = -512
	Subsampling0 int32 = -768

	DesktopSize         int32 = -223
	LastRect            int32 = -224
	RichCursor          int32 = -239
	XCursor             int32 = -240
	QEMUKeys            int32 = -258
	QEMULEDs            int32 = -261
	DesktopName         int32 = -307
	ExtendedDesktopSize int32 = -308
	FenceSupport        int32 = -312
	ContinuousUpdates   int32 = -313
	CursorWithAlpha     int32 = -314
	ExtendedButtons     int32 = -316
	VMwareCursor        int32 = 0x574d5664
	VMwareLEDs          int32 = 0x574d5668
	ExtendedClipboard   int32 = -0x3f5e1a32
)

// NoVNC is what noVNC 1.7.0 lists in Chromium, in its order. 50, -260, 21, 2 and -309
// are encodings that no server need have.
var NoVNC = []int32{
	CopyRect, 50, Tight, -260, ZRLE, 21, Hextile, 2, Zlib, Raw, Quality0 + 6, Compression0 + 2,
	DesktopSize, LastRect, QEMUKeys, QEMULEDs, ExtendedDesktopSize, -309, FenceSupport, ContinuousUpdates,
	DesktopName, ExtendedClipboard, ExtendedButtons, VMwareCursor, RichCursor,
}

// Flags of a fence.
const (
	FenceBlockBefore uint32 = 1 << 0
	FenceBlockAfter  uint32 = 1 << 1
	FenceSyncNext    uint32 = 1 << 2
	FenceRequest     uint32 = 1 << 31
)

// SetFormat changes the pixel format. No update may be on its way: the protocol
// does not tell where in the stream the change takes effect.
func (c *Client) SetFormat(f Format) error {
	c.Format = f
	clear(c.Pix)
	return c.Send(append([]byte{0, 0, 0, 0}, f.Bytes()...))
}

// SetEncodings lists what the server may send, best first. It replaces the list.
func (c *Client) SetEncodings(list ...int32) error {
	c.mu.Lock()
	// What was listed before may be on its way, so it stays allowed.
	msg := appendU16s([]byte{2, 0}, len(list))
	for _, e := range list {
		msg = binary.BigEndian.AppendUint32(msg, uint32(e))
		c.listed[e] = true
		if e >= Quality0 && e < Quality0+10 || e >= FineQuality0 && e <= FineQuality0+100 || e >= Subsampling0 && e < Subsampling0+6 {
			c.jpeg = true
		}
	}
	c.mu.Unlock()
	return c.Send(msg)
}

// Forget makes it a slip to send what was listed in the past. It is for a moment
// when nothing is on its way.
func (c *Client) Forget(list ...int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range list {
		delete(c.listed, e)
	}
}

// Request asks for an update of an area.
func (c *Client) Request(incremental bool, x, y, w, h int) error {
	c.mu.Lock()
	c.requests++
	c.mu.Unlock()
	return c.Send(appendU16s([]byte{3, flag(incremental)}, x, y, w, h))
}

// RequestAll asks for an update of the whole screen.
func (c *Client) RequestAll(incremental bool) error {
	return c.Request(incremental, 0, 0, c.Width, c.Height)
}

// EnableContinuousUpdates turns updates without requests on or off.
func (c *Client) EnableContinuousUpdates(on bool, x, y, w, h int) error {
	if on {
		c.mu.Lock()
		c.continuous = true
		c.mu.Unlock()
	}
	return c.Send(appendU16s([]byte{150, flag(on)}, x, y, w, h))
}

// Key sends a key event.
func (c *Client) Key(keysym uint32, down bool) error {
	return c.Send(binary.BigEndian.AppendUint32([]byte{4, flag(down), 0, 0}, keysym))
}

// QEMUKey sends an extended key event.
func (c *Client) QEMUKey(keysym, code uint32, down bool) error {
	msg := binary.BigEndian.AppendUint32([]byte{255, 0, 0, flag(down)}, keysym)
	return c.Send(binary.BigEndian.AppendUint32(msg, code))
}

// Pointer sends a pointer event. Bit 0 of buttons is button 1; buttons 8 and 9 need
// the server's acknowledgement of ExtendedMouseButtons.
func (c *Client) Pointer(x, y int, buttons uint16) error {
	if buttons < 0x80 {
		return c.Send(appendU16s([]byte{5, byte(buttons)}, x, y))
	}
	return c.Send(append(appendU16s([]byte{5, byte(buttons)&0x7f | 0x80}, x, y), byte(buttons>>7)))
}

// CutText sends clipboard text in Latin-1.
func (c *Client) CutText(latin1 []byte) error {
	msg := binary.BigEndian.AppendUint32([]byte{6, 0, 0, 0}, uint32(len(latin1)))
	return c.Send(append(msg, latin1...))
}

// Clipboard sends a message of the extended clipboard.
func (c *Client) Clipboard(flags uint32, rest []byte) error {
	msg := binary.BigEndian.AppendUint32([]byte{6, 0, 0, 0}, uint32(-int32(4+len(rest))))
	msg = binary.BigEndian.AppendUint32(msg, flags)
	return c.Send(append(msg, rest...))
}

// Provide sends text with the extended clipboard. An unfinished zlib stream is as
// good as a finished one.
func (c *Client) Provide(text string, finish bool) error {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text)+1)))
	z.Write(append([]byte(text), 0))
	if finish {
		z.Close()
	} else {
		z.Flush()
	}
	return c.Clipboard(ClipProvide|ClipText, b.Bytes())
}

// Fence sends a fence. The echo of one with FenceRequest comes as a message.
func (c *Client) Fence(flags uint32, payload []byte) error {
	c.mu.Lock()
	if flags&FenceRequest != 0 {
		c.fences = append(c.fences, payload)
	}
	c.mu.Unlock()
	return c.Send(fence(flags, payload))
}

func fence(flags uint32, payload []byte) []byte {
	msg := binary.BigEndian.AppendUint32([]byte{248, 0, 0, 0}, flags)
	return append(append(msg, byte(len(payload))), payload...)
}

// Screen is one screen of a layout.
type Screen struct {
	ID         uint32
	X, Y, W, H int
}

// SetDesktopSize asks for another size.
func (c *Client) SetDesktopSize(w, h int, screens ...Screen) error {
	msg := append(appendU16s([]byte{251, 0}, w, h), byte(len(screens)), 0)
	for _, s := range screens {
		msg = binary.BigEndian.AppendUint32(msg, s.ID)
		msg = append(appendU16s(msg, s.X, s.Y, s.W, s.H), 0, 0, 0, 0)
	}
	return c.Send(msg)
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}
