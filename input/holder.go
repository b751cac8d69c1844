package input

import (
	"context"
	"slices"
	"sync"
	"time"
)

// releaseTimeout bounds how long Release waits for a text that another types.
const releaseTimeout = 2 * time.Second

// Holder is one party at the keyboard and the pointer: a viewer, or one batch of an
// agent's actions. It remembers what it pressed, so that Release lets go of exactly
// that. A key or button that several Holders press stays down until the last one
// lets go.
//
// Its methods may be called from any goroutine. An error means that the X server is
// gone (x11.ErrClosed), unless the method says more.
type Holder struct {
	d *Device

	mu   sync.Mutex
	held []hold // guarded by mu; in the order of pressing, each switched once
}

// switched is a key or a button, something that goes down and up.
type switched struct {
	button bool
	code   byte
}

// hold is one key or button that a Holder holds down.
type hold struct {
	switched
	sym uint32 // that a key was pressed as, None for a button or a Keycode
}

// NewHolder returns a Holder that holds nothing.
func (d *Device) NewHolder() *Holder { return &Holder{d: d} }

// Release lets go of all that is held, in reverse order. It does so also after ctx has
// ended, within a short time of its own. It may be called again at any time.
func (h *Holder) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	// Without the lock a key may come up in the middle of another's text, which is
	// still better than one that stays down.
	if h.d.lock(ctx) == nil {
		defer h.d.unlock()
	}
	return h.d.send(func() {
		for h.letGo(func(hold) bool { return true }) {
		}
	})
}

// hold presses a key or button, with again also if it is down already. What this
// Holder holds already is not counted twice.
func (h *Holder) hold(s switched, sym uint32, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.held, func(o hold) bool { return o.switched == s })
	if i >= 0 {
		h.held[i].sym = sym
	} else {
		h.held = append(h.held, hold{s, sym})
	}
	h.d.press(s, i < 0, again)
}

// letGo releases the latest hold that matches and reports whether there was one.
func (h *Holder) letGo(match func(hold) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, hold := range slices.Backward(h.held) {
		if match(hold) {
			h.held = slices.Delete(h.held, i, i+1)
			h.d.release(hold.switched)
			return true
		}
	}
	return false
}

// press presses a key or button, with count for one Holder more. One that is down
// stays so, but with again it is pressed anew: it may stand for something else now, and
// it is how a viewer's keys repeat.
func (d *Device) press(s switched, count, again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	up := d.down[s] == 0
	if !up && again {
		d.fake(s, false)
	}
	if up || again {
		d.fake(s, true)
	}
	if count {
		d.down[s]++
	}
}

// release takes one Holder off the count, and releases the key or button after the last.
func (d *Device) release(s switched) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down[s]--
	if d.down[s] == 0 {
		delete(d.down, s)
		d.fake(s, false)
	}
}

func (d *Device) fake(s switched, down bool) {
	if s.button {
		d.conn.FakeButton(s.code, down)
	} else {
		d.conn.FakeKey(s.code, down)
	}
}

// holds reports whether any Holder holds a key.
func (d *Device) holds(keycode byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down[switched{code: keycode}] > 0
}
