package rfbtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"unicode/utf8"
)

// The messages of a server.
type (
	// Update is a FramebufferUpdate. Its pixels are in the Client.
	Update struct {
		Rects   []Rect
		Resized bool
	}
	// ColourMap tells that the Client's Map changed.
	ColourMap struct{}
	// Bell rings.
	Bell struct{}
	// CutText is clipboard text in Latin-1.
	CutText struct{ Text []byte }
	// Clip is a message of the extended clipboard.
	Clip struct {
		Flags uint32
		Sizes []uint32 // of ClipCaps
		Text  string   // of ClipProvide
	}
	// EndOfContinuousUpdates ends them, or tells that they are understood.
	EndOfContinuousUpdates struct{}
	// Fence is a fence of the server's (FenceRequest is set), which was echoed
	// already, or the echo of one of the client's.
	Fence struct {
		Flags   uint32
		Payload []byte
	}
)

// Rect is one rectangle of an update.
type Rect struct {
	image.Rectangle
	Encoding int32
}

// Pixels tells whether the rectangle carries pixels.
func (r Rect) Pixels() bool {
	switch r.Encoding {
	case Raw, CopyRect, Hextile, Zlib, Tight, ZRLE:
		return true
	}
	return false
}

// Pixels tells whether the update carries pixels.
func (u *Update) Pixels() bool {
	for _, r := range u.Rects {
		if r.Pixels() {
			return true
		}
	}
	return false
}

// Flags of the extended clipboard.
const (
	ClipText    uint32 = 1 << 0
	ClipCaps    uint32 = 1 << 24
	ClipRequest uint32 = 1 << 25
	ClipPeek    uint32 = 1 << 26
	ClipNotify  uint32 = 1 << 27
	ClipProvide uint32 = 1 << 28
)

const maxText = 16 << 20

// Next reads one message: *Update, ColourMap, Bell, CutText, *Clip,
// EndOfContinuousUpdates or Fence. It echoes the server's fences.
func (c *Client) Next() (any, error) {
	r := c.r
	r.in = "message type"
	at := r.offset
	var msg any
	switch kind := r.u8(); {
	case r.err != nil:
		return nil, r.err
	case kind == 0:
		msg = c.update(at)
	case kind == 1:
		msg = c.colourMap()
	case kind == 2:
		c.Bells++
		msg = Bell{}
	case kind == 3:
		msg = c.cutText()
	case kind == 150:
		if !c.isListed(ContinuousUpdates) {
			r.slip(at, "EndOfContinuousUpdates was not listed")
		}
		// The first one only tells that they are understood.
		c.mu.Lock()
		c.continuous = c.continuous && !c.continuousTold
		c.continuousTold = true
		c.mu.Unlock()
		msg = EndOfContinuousUpdates{}
	case kind == 248:
		msg = c.fence(at)
	default:
		r.slip(at, "unknown message type %d", kind)
	}
	return msg, r.err
}

func (c *Client) colourMap() any {
	r := c.r
	r.in = "SetColourMapEntries"
	r.zero(1)
	at := r.offset
	first, n := r.u16(), r.u16()
	if first+n > len(c.Map) {
		r.slip(at, "entries %d to %d", first, first+n-1)
		return nil
	}
	if c.Format.TrueColour {
		r.slip(at, "the format has true colour")
	}
	for i := range n {
		red, green, blue := uint32(r.u16()), uint32(r.u16()), uint32(r.u16())
		c.Map[first+i] = red>>8<<16 | green>>8<<8 | blue>>8
	}
	return ColourMap{}
}

func (c *Client) cutText() any {
	r := c.r
	r.in = "ServerCutText"
	r.zero(3)
	at := r.offset
	n := int32(r.u32())
	if n >= 0 {
		if n > maxText {
			r.slip(at, "text of %d bytes", n)
			return nil
		}
		return CutText{r.bytes(int(n))}
	}
	if !c.isListed(ExtendedClipboard) {
		r.slip(at, "the extended clipboard was not listed")
	}
	if n < -maxText || n > -4 {
		r.slip(at, "extended message of %d bytes", n)
		return nil
	}
	return c.clip(at, r.bytes(int(-n)))
}

func (c *Client) clip(at int64, body []byte) any {
	r := c.r
	m := &Clip{Flags: binary.BigEndian.Uint32(body)}
	rest := body[4:]
	const actions = ClipCaps | ClipRequest | ClipPeek | ClipNotify | ClipProvide
	switch {
	case m.Flags&ClipCaps != 0:
		for ; len(rest) >= 4; rest = rest[4:] {
			m.Sizes = append(m.Sizes, binary.BigEndian.Uint32(rest))
		}
		if formats := m.Flags & 0xffff; formats != ClipText || len(m.Sizes) != 1 || len(rest) != 0 {
			r.slip(at, "capabilities with formats %#x and %d sizes", formats, len(m.Sizes))
		}
	case m.Flags&actions == ClipProvide:
		var z inflater
		defer z.close()
		data, err := z.piece(rest, maxText)
		if err != nil {
			r.slip(at, "%v", err)
			return m
		}
		if len(data) < 5 || binary.BigEndian.Uint32(data) != uint32(len(data)-4) || data[len(data)-1] != 0 {
			r.slip(at, "text of %d bytes does not match its length or does not end in NUL", len(data))
			return m
		}
		m.Text = string(data[4 : len(data)-1])
		if !utf8.ValidString(m.Text) {
			r.slip(at, "text is not UTF-8")
		}
		if bytes.Count(data, []byte("\n")) != bytes.Count(data, []byte("\r\n")) {
			r.slip(at, "lines do not end in CRLF")
		}
	case m.Flags&actions == ClipRequest, m.Flags&actions == ClipPeek, m.Flags&actions == ClipNotify:
		if len(rest) != 0 {
			r.slip(at, "%d bytes after the flags", len(rest))
		}
	default:
		r.slip(at, "flags %#x", m.Flags)
	}
	return m
}

func (c *Client) fence(at int64) any {
	r := c.r
	r.in = "ServerFence"
	if !c.isListed(FenceSupport) {
		r.slip(at, "fences were not listed")
	}
	r.zero(3)
	flags := r.u32()
	n := r.u8()
	if n > 64 {
		r.slip(at, "payload of %d bytes", n)
		return nil
	}
	m := Fence{flags, r.bytes(int(n))}
	if r.err != nil {
		return nil
	}
	if flags&FenceRequest != 0 {
		if c.Mute {
			return m
		}
		echo := flags & (FenceBlockBefore | FenceBlockAfter | FenceSyncNext)
		if err := c.Send(fence(echo, m.Payload)); err != nil {
			r.err = fmt.Errorf("echo a fence: %w", err)
		}
		return m
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fences) == 0 || !bytes.Equal(c.fences[0], m.Payload) {
		r.slip(at, "an echo of %q, which is not the oldest fence sent", m.Payload)
		return m
	}
	c.fences = c.fences[1:]
	return m
}
