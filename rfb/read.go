package rfb

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// maxOutbox bounds the answers that wait for the writer, in bytes. While they are
// more the reader stops, and so does the viewer that asks without listening.
const maxOutbox = 64 << 10

// read takes the viewer's messages until the connection ends. It returns nil when
// the viewer left between two of them.
func (c *Conn) read() error {
	p := &parser{r: c.in, source: c.source, extendedButtons: c.buttonsTold.Load}
	for {
		msg, err := p.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.handle(msg)
	}
}

// handle acts on one message.
func (c *Conn) handle(msg any) {
	switch m := msg.(type) {
	case keyEvent:
		c.note(nil)
		c.withInput(func() { c.key(m) })
	case pointerEvent:
		c.note(func() { c.want.pointer.move(m.at, c.cfg.Screen.frame) })
		c.withInput(func() { c.pointer(m) })
	case cutText:
		c.note(nil)
		c.gotText(fromLatin1(m.text))
	case clipboardMessage:
		c.note(nil)
		c.gotClipboard(m.body)
	case skipped:
		c.note(nil)
		c.log.Warn("clipboard text is too long and was dropped", "bytes", m.size)
	case setPixelFormat:
		c.note(func() { c.setPixelFormat(m) })
	case setEncodings:
		c.note(func() { c.setEncodings(m) })
	case updateRequest:
		c.note(func() { c.updateRequest(m) })
	case enableContinuousUpdates:
		c.note(func() { c.enableContinuousUpdates(m) })
	case fenceMessage:
		if !c.echo(m) {
			c.note(func() { c.fence(m) })
		}
	case setDesktopSize:
		c.note(func() { c.setDesktopSize(m) })
	}
}

// note applies a message to what the writer sees, in one step with the answer to
// a fence that asked to be in step with it, and wakes the writer.
func (c *Conn) note(apply func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.want.outbox) > maxOutbox && !c.ended {
		c.drained.Wait()
	}
	c.want.outbox = append(c.want.outbox, c.want.syncing...)
	c.want.syncing = nil
	if apply != nil {
		apply()
	}
	c.wake()
}

func (c *Conn) setPixelFormat(m setPixelFormat) {
	if !m.format.TrueColour {
		c.want.outbox = encode.AppendColourMap(c.want.outbox)
	}
	if c.want.format != m.format {
		c.want.format = m.format
		c.want.afresh = everything
	}
}

func (c *Conn) setEncodings(m setEncodings) {
	was := c.want.caps
	c.want.caps = m.caps
	if m.caps.fence && !c.flow.told {
		c.flow.told = true
		c.want.outbox = c.flow.appendFence(c.want.outbox, 0)
	}
	if m.caps.fence && m.caps.continuousUpdates && !c.flow.continuousTold {
		c.flow.continuousTold = true
		c.want.outbox = append(c.want.outbox, msgEndOfContinuousUpdates)
	}
	if !m.caps.fence || !m.caps.continuousUpdates {
		c.want.continuous = false
	}
	if m.caps.extendedClipboard {
		c.want.outbox = appendClipboardCaps(c.want.outbox)
	}
	c.want.layout = c.want.layout || m.caps.extendedDesktopSize && !was.extendedDesktopSize
	if !m.caps.fence {
		c.flow.marks = nil // their echoes may never come
	}
}

func (c *Conn) updateRequest(m updateRequest) {
	if !m.incremental {
		c.want.afresh = c.want.afresh.Union(m.area)
		// The community's registry has the size told with every such request.
		c.want.layout = true
	} else if c.want.continuous {
		return
	}
	c.want.requested = true
	c.want.area = c.want.area.Union(m.area)
}

func (c *Conn) enableContinuousUpdates(m enableContinuousUpdates) {
	able := c.want.caps.fence && c.want.caps.continuousUpdates
	c.want.continuous = m.enable && able
	c.want.continuousArea = m.area
	if c.want.continuous {
		c.watchStall() // a fence of earlier updates may keep new ones from being sent
	}
	// Without fences nothing would bound what is on its way, so the end is
	// declared at once.
	if !c.want.continuous && c.want.caps.continuousUpdates {
		c.want.outbox = append(c.want.outbox, msgEndOfContinuousUpdates)
	}
}

// echo takes note of the echo of a fence, if that is all there is to do: the writer
// waits neither for room on the line nor for this message. There is one for each
// update, and to have the writer look for nothing costs as much as a small update.
func (c *Conn) echo(m fenceMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.flags&fenceRequest != 0 || c.want.syncing != nil || !c.flow.open() {
		return false
	}
	c.flow.answered(m.payload)
	return true
}

func (c *Conn) fence(m fenceMessage) {
	if m.flags&fenceRequest == 0 {
		c.flow.answered(m.payload)
		return
	}
	// Messages are handled one after the other and answers precede updates, so
	// blocking before and after comes of itself.
	flags := m.flags & (fenceBlockBefore | fenceBlockAfter | fenceSyncNext)
	if flags&fenceSyncNext != 0 {
		c.want.syncing = appendFence(nil, flags, m.payload)
		return
	}
	c.want.outbox = appendFence(c.want.outbox, flags, m.payload)
}

func appendFence(dst []byte, flags uint32, payload []byte) []byte {
	dst = append(dst, msgServerFence, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, flags)
	dst = append(dst, byte(len(payload)))
	return append(dst, payload...)
}
