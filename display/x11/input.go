package x11

import (
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
