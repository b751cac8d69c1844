package x11

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Focus is the window that gets the keys.
type Focus struct {
	c      *Conn
	window xproto.Window // the focused window itself
	pinged xproto.Window // it or one of its ancestors that offers to answer a ping, 0 if none
}

// Focus returns the window that gets the keys, nil if there is none.
func (c *Conn) Focus() (*Focus, error) {
	f := &Focus{c: c}
	err := f.find()
	if vanished(err) || err == nil && f.window == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, failed("ask for the focused window", err)
	}
	return f, nil
}

func (f *Focus) find() error {
	c := f.c
	focus, err := xproto.GetInputFocus(c.x).Reply()
	if err != nil {
		return err
	}
	f.window = focus.Focus
	if f.window == xproto.InputFocusPointerRoot { // the keys go to the window under the pointer
		for f.window = c.root; ; {
			p, err := xproto.QueryPointer(c.x, f.window).Reply()
			if err != nil {
				return err
			}
			if p.Child == 0 {
				break
			}
			f.window = p.Child
		}
	}
	if f.window == c.root {
		f.window = 0
	}
	for w := f.window; w != 0 && w != c.root; {
		offers, err := c.lists(w, "WM_PROTOCOLS", "_NET_WM_PING")
		if err != nil {
			return err
		}
		if offers {
			f.pinged = w
			return nil
		}
		tree, err := xproto.QueryTree(c.x, w).Reply()
		if err != nil {
			return err
		}
		w = tree.Parent
	}
	return nil
}

// lists reports whether a property of a window, which is a list of atoms, has one.
func (c *Conn) lists(w xproto.Window, property, atom string) (bool, error) {
	list, err := c.atom(property)
	if err != nil {
		return false, err
	}
	wanted, err := c.atom(atom)
	if err != nil {
		return false, err
	}
	const most = 64 // units of 4 bytes
	p, err := xproto.GetProperty(c.x, false, w, list, xproto.AtomAtom, 0, most).Reply()
	if err != nil {
		return false, err
	}
	for i := 0; i+4 <= len(p.Value); i += 4 {
		if xproto.Atom(binary.LittleEndian.Uint32(p.Value[i:])) == wanted {
			return true, nil
		}
	}
	return false, nil
}

// CanAnswer reports whether the window's program offers to answer a Ping. Programs
// made with the common toolkits do, xterm does not.
func (f *Focus) CanAnswer() bool { return f.pinged != 0 }

// IsDialog reports whether the window that CanAnswer is a dialog: by its type (Extended
// Window Manager Hints), or because it belongs to another window (Inter-Client
// Communication Conventions Manual, section 4.1.2.6).
func (f *Focus) IsDialog() (bool, error) {
	dialog, err := f.c.lists(f.pinged, "_NET_WM_WINDOW_TYPE", "_NET_WM_WINDOW_TYPE_DIALOG")
	if err == nil && !dialog {
		var owner *xproto.GetPropertyReply
		owner, err = xproto.GetProperty(f.c.x, false, f.pinged, xproto.AtomWmTransientFor, xproto.AtomWindow, 0, 1).Reply()
		dialog = err == nil && len(owner.Value) > 0
	}
	if vanished(err) {
		return false, nil
	}
	return dialog, failed("ask whether a window is a dialog", err)
}

var pings atomic.Uint32

// Ping asks the program to answer (_NET_WM_PING of the Extended Window Manager Hints).
// The channel gets a value when it does. The question comes after all events of
// earlier requests on this Conn, so a program that answers has taken those. The caller
// calls end when it waits no longer, and has one question open at a time.
func (f *Focus) Ping() (answered <-chan struct{}, end func(), err error) {
	c := f.c
	protocols, err := c.atom("WM_PROTOCOLS")
	if err != nil {
		return nil, nil, err
	}
	ping, err := c.atom("_NET_WM_PING")
	if err != nil {
		return nil, nil, err
	}
	// The program sends the message back to the root window, with our number in it.
	number := pings.Add(1)
	answer := make(chan struct{}, 1)
	stop := c.listen(func(ev xgb.Event) {
		m, ok := ev.(xproto.ClientMessageEvent)
		if ok && m.Type == protocols && m.Format == 32 && m.Data.Data32[0] == uint32(ping) && m.Data.Data32[1] == number {
			select {
			case answer <- struct{}{}:
			default:
			}
		}
	})
	c.selectRoot(xproto.EventMaskSubstructureNotify)
	end = func() {
		stop()
		c.selectRoot(0)
	}
	message := xproto.ClientMessageEvent{
		Format: 32, Window: f.pinged, Type: protocols,
		Data: xproto.ClientMessageDataUnionData32New([]uint32{uint32(ping), number, uint32(f.pinged), 0, 0}),
	}
	err = xproto.SendEventChecked(c.x, false, f.pinged, 0, string(message.Bytes())).Check()
	switch {
	case vanished(err): // it takes no keys any more
		answer <- struct{}{}
	case err != nil:
		end()
		return nil, nil, failed("send a ping", err)
	}
	return answer, end, nil
}

func (c *Conn) selectRoot(events uint32) {
	xproto.ChangeWindowAttributes(c.x, c.root, xproto.CwEventMask, []uint32{events})
}

// PID returns the process that owns the window, as the X server sees it (X-Resource
// extension 1.2), 0 if it does not say.
func (f *Focus) PID() (int, error) {
	const name, queryClientIDs, localPID = "X-Resource", 4, 1 << 1
	c := f.c
	ext, err := xproto.QueryExtension(c.x, uint16(len(name)), name).Reply()
	if err != nil {
		return 0, failed("ask for the extension "+name, err)
	}
	if !ext.Present {
		return 0, nil
	}
	b := make([]byte, 16) // the library's own version of this request cannot be read back
	b[0], b[1] = ext.MajorOpcode, queryClientIDs
	xgb.Put16(b[2:], uint16(len(b)/4))
	xgb.Put32(b[4:], 1) // one question
	xgb.Put32(b[8:], uint32(f.window))
	xgb.Put32(b[12:], localPID)
	cookie := c.x.NewCookie(true, true)
	c.x.NewRequest(b, cookie)
	reply, err := cookie.Reply()
	if err != nil {
		return 0, failed("ask for a window's process", err)
	}
	if len(reply) < 48 || xgb.Get32(reply[8:]) != 1 {
		return 0, nil
	}
	return int(xgb.Get32(reply[44:])), nil
}

// vanished reports whether a request failed because its window no longer exists,
// which may happen to any window of another program at any time.
func vanished(err error) bool {
	var e xproto.WindowError
	return errors.As(err, &e)
}
