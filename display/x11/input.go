package x11

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// FakeKey presses or releases a key. Like the other two it does not wait for the X
// server: a following Sync does, and reports the end of the connection.
func (c *Conn) FakeKey(keycode byte, down bool) {
	kind := byte(xproto.KeyRelease)
	if down {
		kind = xproto.KeyPress
	}
	c.fake(kind, keycode, 0, 0)
}

// FakeButton presses or releases a button of the pointer, from 1.
func (c *Conn) FakeButton(button byte, down bool) {
	kind := byte(xproto.ButtonRelease)
	if down {
		kind = xproto.ButtonPress
	}
	c.fake(kind, button, 0, 0)
}

// FakeMotion moves the pointer to a pixel of the screen.
func (c *Conn) FakeMotion(x, y int) {
	const absolute = 0
	c.fake(xproto.MotionNotify, absolute, int16(x), int16(y))
}

func (c *Conn) fake(kind, detail byte, x, y int16) {
	const now, anyDevice = 0, 0
	xtest.FakeInput(c.x, kind, detail, now, c.root, x, y, anyDevice)
}

// KeySet is a set of keycodes.
type KeySet [32]byte

// Has reports whether a keycode is in the set.
func (s *KeySet) Has(keycode byte) bool { return s[keycode/8]>>(keycode%8)&1 != 0 }

// Add puts a keycode into the set.
func (s *KeySet) Add(keycode byte) { s[keycode/8] |= 1 << (keycode % 8) }

// Remove takes a keycode out of the set.
func (s *KeySet) Remove(keycode byte) { s[keycode/8] &^= 1 << (keycode % 8) }

// KeysDown returns the keys that are down, whoever pressed them.
func (c *Conn) KeysDown() (KeySet, error) {
	reply, err := xproto.QueryKeymap(c.x).Reply()
	if err != nil {
		return KeySet{}, failed("ask which keys are down", err)
	}
	var s KeySet
	copy(s[:], reply.Keys)
	return s, nil
}

// SetAutoRepeat makes the X server repeat keys that are held down, or not.
func (c *Conn) SetAutoRepeat(on bool) error {
	mode := uint32(xproto.AutoRepeatModeOff)
	if on {
		mode = xproto.AutoRepeatModeOn
	}
	return failed("set the keyboard's repeat", xproto.ChangeKeyboardControlChecked(c.x, xproto.KbAutoRepeatMode, []uint32{mode}).Check())
}

// ErrNoAnswer is returned by Ping when the program does not answer in time.
var ErrNoAnswer = errors.New("the program does not answer")

var pings atomic.Uint32

// Ping asks the program that gets the keys to answer, with _NET_WM_PING of the Extended
// Window Manager Hints, and waits for it. The question comes after all events of this Conn's earlier
// requests, so a program that answers has taken those. It reports false when the
// program's window does not offer to answer, as with xterm.
func (c *Conn) Ping(ctx context.Context, timeout time.Duration) (bool, error) {
	protocols, err := c.atom("WM_PROTOCOLS")
	if err != nil {
		return false, err
	}
	ping, err := c.atom("_NET_WM_PING")
	if err != nil {
		return false, err
	}
	window, err := c.focused(func(w xproto.Window) (bool, error) {
		p, err := xproto.GetProperty(c.x, false, w, protocols, xproto.AtomAtom, 0, 64).Reply()
		if err != nil {
			return false, err
		}
		for i := 0; i+4 <= len(p.Value); i += 4 {
			if xproto.Atom(binary.LittleEndian.Uint32(p.Value[i:])) == ping {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil && !vanished(err) {
		return false, failed("ask for the focused window", err)
	}
	if window == 0 {
		return false, nil
	}

	// The program sends the message back to the root window, with our number in it.
	number := pings.Add(1)
	answered := make(chan struct{}, 1)
	stop := c.listen(func(ev xgb.Event) {
		m, ok := ev.(xproto.ClientMessageEvent)
		if ok && m.Type == protocols && m.Format == 32 && m.Data.Data32[0] == uint32(ping) && m.Data.Data32[1] == number {
			select {
			case answered <- struct{}{}:
			default:
			}
		}
	})
	defer stop()
	xproto.ChangeWindowAttributes(c.x, c.root, xproto.CwEventMask, []uint32{xproto.EventMaskSubstructureNotify})
	defer xproto.ChangeWindowAttributes(c.x, c.root, xproto.CwEventMask, []uint32{0})
	message := xproto.ClientMessageEvent{Format: 32, Window: window, Type: protocols,
		Data: xproto.ClientMessageDataUnionData32New([]uint32{uint32(ping), number, uint32(window), 0, 0})}
	err = xproto.SendEventChecked(c.x, false, window, 0, string(message.Bytes())).Check()
	if vanished(err) {
		return false, nil
	}
	if err != nil {
		return false, failed("send a ping", err)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-answered:
		return true, nil
	case <-timer.C:
		return true, ErrNoAnswer
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-c.done:
		return true, failed("wait for the answer to a ping", ErrClosed)
	}
}

// focused returns the window that gets the keys, or that one of its ancestors which
// ok accepts, 0 if none.
func (c *Conn) focused(ok func(xproto.Window) (bool, error)) (xproto.Window, error) {
	focus, err := xproto.GetInputFocus(c.x).Reply()
	if err != nil {
		return 0, err
	}
	w := focus.Focus
	if w == xproto.InputFocusPointerRoot { // keys go to the window under the pointer
		for w = c.root; ; {
			p, err := xproto.QueryPointer(c.x, w).Reply()
			if err != nil {
				return 0, err
			}
			if p.Child == 0 {
				break
			}
			w = p.Child
		}
	}
	for w != 0 && w != c.root {
		if found, err := ok(w); err != nil {
			return 0, err
		} else if found {
			return w, nil
		}
		tree, err := xproto.QueryTree(c.x, w).Reply()
		if err != nil {
			return 0, err
		}
		w = tree.Parent
	}
	return 0, nil
}

// vanished reports whether a request failed because its window no longer exists,
// which may happen to any window of another program at any time.
func vanished(err error) bool {
	var e xproto.WindowError
	return errors.As(err, &e)
}
