package rfb

import (
	"context"
	"time"
	"unicode/utf8"
)

// heldInput is what a viewer holds down.
type heldInput struct {
	keys    map[keyID]key
	buttons uint16
}

// keyID names a key as the viewer does: by its scancode when it tells one, else by
// the keysym.
type keyID struct {
	code, keysym uint32
}

// key is what was pressed for it: a keysym, or an X keycode when that is not 0. It
// is released as it was pressed, even if the viewer names another keysym then.
type key struct {
	keysym  uint32
	keycode byte
}

const (
	maxHeldKeys    = 256
	releaseTimeout = 5 * time.Second
)

// withInput calls f with inputMu held, and releases what is held if control was
// lost meanwhile.
func (c *Conn) withInput(f func()) {
	c.inputMu.Lock()
	f()
	c.inputMu.Unlock()
	c.releaseIfDue()
}

// releaseIfDue releases what a viewer holds that lost control. It leaves that to
// whoever has inputMu.
func (c *Conn) releaseIfDue() {
	for c.releaseDue.Load() && c.inputMu.TryLock() {
		if c.releaseDue.Swap(false) {
			c.releaseHeld()
		}
		c.inputMu.Unlock()
	}
}

// mayInput tells whether the viewer's input counts. A press of a Viewer asks the
// owner. The caller holds inputMu.
func (c *Conn) mayInput(press bool) bool {
	if c.Role() != Controller && press && c.cfg.OnInput != nil && c.cfg.OnInput(c) {
		c.SetRole(Controller)
	}
	return c.Role() == Controller && c.cfg.Input != nil
}

// key acts on a key event. The caller holds inputMu.
func (c *Conn) key(m keyEvent) {
	if !c.mayInput(m.down && !locks(m.keysym)) {
		return
	}
	id := keyID{code: m.code}
	if m.code == 0 {
		id.keysym = m.keysym
	}
	was, held := c.held.keys[id]
	if !m.down {
		if held {
			delete(c.held.keys, id)
			c.press(was, false)
		}
		return
	}
	// The keysym comes first: it is what the person meant, whatever the layouts
	// at both ends. The scancode serves the keys that have no keysym.
	k := key{keysym: m.keysym}
	if !validKeysym(m.keysym) {
		k = key{keycode: keycodeOf(m.code)}
	}
	if k == (key{}) || !held && len(c.held.keys) >= maxHeldKeys {
		return
	}
	if held && was != k {
		c.press(was, false)
	}
	if c.held.keys == nil {
		c.held.keys = make(map[keyID]key)
	}
	c.held.keys[id] = k
	c.press(k, true)
}

func (c *Conn) press(k key, down bool) {
	var err error
	if k.keycode != 0 {
		err = c.cfg.Input.Keycode(k.keycode, down)
	} else {
		err = c.cfg.Input.Key(k.keysym, down)
	}
	c.logInput(err)
}

// locks reports whether a keysym is that of a lock key. Viewers press these by themselves
// when they get the focus, to make the screen's locks like their own: nobody means to
// take control by that.
func locks(keysym uint32) bool {
	const scrollLock, numLock, capsLock, shiftLock = 0xff14, 0xff7f, 0xffe5, 0xffe6
	return keysym == scrollLock || keysym == numLock || keysym == capsLock || keysym == shiftLock
}

// validKeysym tells X keysyms from numbers that are none.
func validKeysym(k uint32) bool {
	const (
		unicode  = 0x01000000 // plus a code point
		vendor   = 0x10000000 // such as the media keys
		greatest = 0x1fffffff
	)
	switch {
	case k < unicode:
		return k != 0
	case k < vendor:
		return utf8.ValidRune(rune(k - unicode))
	}
	return k <= greatest
}

// pointer acts on a pointer event. The caller holds inputMu.
func (c *Conn) pointer(m pointerEvent) {
	if !c.mayInput(m.buttons&^c.held.buttons != 0) {
		return
	}
	at := clamp(m.at, c.cfg.Screen.bounds())
	c.logInput(c.cfg.Input.Move(at.X, at.Y))
	changed := m.buttons ^ c.held.buttons
	c.held.buttons = m.buttons
	for button := 1; button <= 9; button++ {
		bit := uint16(1) << (button - 1)
		if changed&bit != 0 {
			c.logInput(c.cfg.Input.Button(button, m.buttons&bit != 0))
		}
	}
}

// logInput notes that input did not work, as while the screen restarts. The viewer
// cannot be told.
func (c *Conn) logInput(err error) {
	if err != nil {
		c.log.Debug("input failed", "error", err)
	}
}

// releaseHeld releases what the viewer holds, within a time of its own: the
// connection's may be over. The caller holds inputMu.
func (c *Conn) releaseHeld() {
	c.held = heldInput{}
	if c.cfg.Input == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := c.cfg.Input.Release(ctx); err != nil {
		c.log.Warn("release of keys and buttons failed", "error", err)
	}
}

// bell rings at the viewer.
func (c *Conn) bell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.want.outbox) < maxOutbox {
		c.want.outbox = append(c.want.outbox, msgBell)
	}
	c.wake()
}
