package rfb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image"
	"io"

	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// The messages of a viewer, as the parser hands them out.
type (
	setPixelFormat struct{ format encode.PixelFormat }
	setEncodings   struct{ caps capabilities }
	updateRequest  struct {
		incremental bool
		area        image.Rectangle
	}
	keyEvent struct {
		down   bool
		keysym uint32
		code   uint32 // the client's scancode, 0 when it told none
	}
	pointerEvent struct {
		buttons uint16 // bit 0 is button 1
		at      image.Point
	}
	cutText                 struct{ text []byte } // Latin-1
	clipboardMessage        struct{ body []byte } // of the extended clipboard
	enableContinuousUpdates struct {
		enable bool
		area   image.Rectangle
	}
	fenceMessage struct {
		flags   uint32
		payload []byte
	}
	setDesktopSize struct{ valid bool }
	// skipped stands for a message that was too long to be kept.
	skipped struct{ size int }
)

// maxClipboard is the most text, in bytes, that a viewer and a screen exchange. A
// longer text is read and dropped.
const maxClipboard = 1 << 20

// parser reads a viewer's messages. What it keeps of one is bounded by
// maxClipboard, whatever lengths the viewer states.
type parser struct {
	r      *bufio.Reader
	source *patientReader // beneath r; nil when nobody waits
	// The two messages whose form depends on what was agreed on.
	extendedClipboard bool        // a negative length means an extended message
	extendedButtons   func() bool // the viewer was told that a tenth byte is understood
}

// next reads one message.
func (p *parser) next() (any, error) {
	p.within(false)
	kind, err := p.r.ReadByte()
	if err != nil {
		return nil, err
	}
	p.within(true)
	msg, err := p.body(kind)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return msg, err
}

func (p *parser) within(message bool) {
	if p.source != nil {
		p.source.within = message
	}
}

func (p *parser) body(kind byte) (any, error) {
	switch kind {
	case msgSetPixelFormat:
		return p.setPixelFormat()
	case msgSetEncodings:
		return p.setEncodings()
	case msgUpdateRequest:
		b, err := p.bytes(9)
		if err != nil {
			return nil, err
		}
		return updateRequest{b[0] != 0, area(b[1:])}, nil
	case msgKeyEvent:
		b, err := p.bytes(7)
		if err != nil {
			return nil, err
		}
		return keyEvent{down: b[0] != 0, keysym: binary.BigEndian.Uint32(b[3:])}, nil
	case msgPointerEvent:
		return p.pointerEvent()
	case msgClientCutText:
		return p.cutText()
	case msgEnableContinuousUpdates:
		b, err := p.bytes(9)
		if err != nil {
			return nil, err
		}
		return enableContinuousUpdates{b[0] != 0, area(b[1:])}, nil
	case msgClientFence:
		return p.fence()
	case msgSetDesktopSize:
		return p.setDesktopSize()
	case msgQEMU:
		return p.qemu()
	}
	return nil, protocolErrorf("unknown message type %d", kind)
}

// bytes reads n bytes, which are valid until the next read. n is at most the
// size of the reader's buffer.
func (p *parser) bytes(n int) ([]byte, error) {
	b, err := p.r.Peek(n)
	if err != nil {
		return nil, err
	}
	_, _ = p.r.Discard(n)
	return b, nil
}

// area reads a rectangle given as x, y, width and height. It may lie anywhere.
func area(b []byte) image.Rectangle {
	x, y := int(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint16(b[2:]))
	w, h := int(binary.BigEndian.Uint16(b[4:])), int(binary.BigEndian.Uint16(b[6:]))
	return image.Rect(x, y, x+w, y+h)
}

func (p *parser) setPixelFormat() (any, error) {
	b, err := p.bytes(3 + encode.PixelFormatSize)
	if err != nil {
		return nil, err
	}
	format, err := encode.ParsePixelFormat([encode.PixelFormatSize]byte(b[3:]))
	if err != nil {
		return nil, protocolErrorf("%v", err)
	}
	return setPixelFormat{format}, nil
}

func (p *parser) setEncodings() (any, error) {
	b, err := p.bytes(3)
	if err != nil {
		return nil, err
	}
	caps := noCapabilities
	for range binary.BigEndian.Uint16(b[1:]) {
		b, err := p.bytes(4)
		if err != nil {
			return nil, err
		}
		caps.add(encode.Encoding(binary.BigEndian.Uint32(b)))
	}
	p.extendedClipboard = caps.extendedClipboard
	return setEncodings{caps}, nil
}

func (p *parser) pointerEvent() (any, error) {
	b, err := p.bytes(5)
	if err != nil {
		return nil, err
	}
	m := pointerEvent{
		buttons: uint16(b[0]),
		at:      image.Pt(int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))),
	}
	const more = 1 << 7
	if m.buttons&more != 0 && p.extendedButtons() {
		high, err := p.r.ReadByte()
		if err != nil {
			return nil, err
		}
		m.buttons = m.buttons&^more | uint16(high)<<7
	}
	return m, nil
}

func (p *parser) cutText() (any, error) {
	b, err := p.bytes(7)
	if err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(b[3:])
	extended := p.extendedClipboard && int32(length) < 0
	if extended {
		length = -length
	}
	// An extended text comes compressed, with a few bytes around it.
	if length > maxClipboard {
		_, err := io.CopyN(io.Discard, p.r, int64(length))
		return skipped{int(length)}, err
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(p.r, body); err != nil {
		return nil, err
	}
	if extended {
		return clipboardMessage{body}, nil
	}
	return cutText{body}, nil
}

func (p *parser) fence() (any, error) {
	b, err := p.bytes(8)
	if err != nil {
		return nil, err
	}
	m := fenceMessage{flags: binary.BigEndian.Uint32(b[3:])}
	n := int(b[7])
	if n > maxFencePayload {
		return nil, protocolErrorf("fence payload of %d bytes", n)
	}
	b, err = p.bytes(n)
	if err != nil {
		return nil, err
	}
	m.payload = append(m.payload, b...)
	return m, nil
}

// setDesktopSize reads a wish for another size. It is never granted, so all that
// counts is whether the layout would have been valid.
func (p *parser) setDesktopSize() (any, error) {
	b, err := p.bytes(7)
	if err != nil {
		return nil, err
	}
	desktop := image.Rect(0, 0, int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:])))
	n := int(b[5])
	valid := n > 0 && !desktop.Empty()
	ids := make(map[uint32]bool, n)
	for range n {
		b, err := p.bytes(16)
		if err != nil {
			return nil, err
		}
		id, screen := binary.BigEndian.Uint32(b), area(b[4:])
		if ids[id] || screen.Empty() || !screen.In(desktop) {
			valid = false
		}
		ids[id] = true
	}
	return setDesktopSize{valid}, nil
}

func (p *parser) qemu() (any, error) {
	const extendedKey = 0
	subtype, err := p.r.ReadByte()
	if err != nil {
		return nil, err
	}
	if subtype != extendedKey {
		return nil, protocolErrorf("unknown QEMU message %d", subtype)
	}
	b, err := p.bytes(10)
	if err != nil {
		return nil, err
	}
	return keyEvent{
		down:   binary.BigEndian.Uint16(b) != 0,
		keysym: binary.BigEndian.Uint32(b[2:]),
		code:   binary.BigEndian.Uint32(b[6:]),
	}, nil
}
