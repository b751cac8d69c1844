package rfb

import (
	"encoding/binary"
	"image"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// Why an ExtendedDesktopSize rectangle is sent, and how a viewer's wish for
// another size ended.
const (
	reasonServer = 0
	reasonViewer = 1

	statusProhibited = 1
	statusInvalid    = 3

	maxLayoutAnswers = 64 // kept for a viewer that does not ask for updates
)

// setDesktopSize answers a viewer that wants another size. The size belongs to the
// screen's owner: agents count on it, and viewers that each wanted their own would
// change it for ever.
func (c *Conn) setDesktopSize(m setDesktopSize) {
	status := uint16(statusProhibited)
	if !m.valid {
		status = statusInvalid
	}
	c.want.answers = append(c.want.answers, status)
	c.want.answers = c.want.answers[:min(len(c.want.answers), maxLayoutAnswers)]
}

// tellNewSize sends the size that the screen has now, of which the viewer then has
// no pixel.
func (u *updater) tellNewSize() error {
	w := u.w
	caps := &u.want.caps
	if !caps.extendedDesktopSize && !caps.desktopSize {
		return errCannotResize
	}
	w.resize(u.look.pic.width, u.look.pic.height)
	w.cursor.painted = paintedCursor{}
	w.seen = frame.Stamp{}
	if caps.extendedDesktopSize {
		u.layout(reasonServer, 0)
	} else {
		w.out = encode.AppendRectHeader(w.out, w.bounds(), pseudoDesktopSize)
		u.count++
	}
	return nil
}

// tellLayout sends the present size if the viewer is to be told it anyway, and
// reports whether it did.
func (u *updater) tellLayout() bool {
	w := u.w
	layout, answers := w.layout, w.answers
	w.layout, w.answers = false, nil
	if !u.want.caps.extendedDesktopSize {
		return false
	}
	for _, status := range answers {
		u.layout(reasonViewer, status)
	}
	// A viewer that only ever asks for all of the picture would get nothing else,
	// so it is told the size every other time.
	if layout && !w.layoutTold && u.count == 0 {
		u.layout(reasonServer, 0)
	}
	w.layoutTold = u.count > 0
	return u.count > 0
}

// layout appends an ExtendedDesktopSize rectangle: one screen that is the desktop.
func (u *updater) layout(reason int, status uint16) {
	w := u.w
	at := image.Pt(reason, int(status))
	w.out = encode.AppendRectHeader(w.out, w.bounds().Add(at), pseudoExtendedDesktopSize)
	w.out = append(w.out, 1, 0, 0, 0)             // one screen
	w.out = append(w.out, 0, 0, 0, 0, 0, 0, 0, 0) // number 0 at 0, 0
	w.out = binary.BigEndian.AppendUint16(w.out, uint16(w.width))
	w.out = binary.BigEndian.AppendUint16(w.out, uint16(w.height))
	w.out = append(w.out, 0, 0, 0, 0) // no flags
	u.count++
}

// tellState sends the name and the keyboard's lights when they changed, and tells
// once that the extended keys and buttons are understood.
func (u *updater) tellState() {
	w := u.w
	caps := &u.want.caps
	name, leds, known := u.conn.cfg.Screen.state()
	if caps.desktopName && name != w.name {
		w.name = name
		u.pseudo(pseudoDesktopName)
		w.out = appendString(w.out, name)
	}
	if known && (caps.qemuLEDs || caps.vmwareLEDs) && (!w.ledsTold || leds != w.leds) {
		w.leds, w.ledsTold = leds, true
		if caps.qemuLEDs {
			u.pseudo(pseudoQEMULEDs)
			w.out = append(w.out, byte(leds))
		} else {
			u.pseudo(pseudoVMwareLEDs)
			w.out = binary.BigEndian.AppendUint32(w.out, uint32(leds))
		}
	}
	if caps.qemuKeys && !w.keysTold {
		w.keysTold = true
		u.pseudo(pseudoQEMUKeys)
	}
	if caps.extendedButtons && !w.buttonsTold {
		w.buttonsTold = true
		u.conn.buttonsTold.Store(true)
		u.pseudo(pseudoExtendedButtons)
	}
}

// pseudo begins a rectangle that has neither place nor size.
func (u *updater) pseudo(e encode.Encoding) {
	u.w.out = encode.AppendRectHeader(u.w.out, image.Rectangle{}, e)
	u.count++
}
