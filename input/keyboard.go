package input

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

const (
	// chunk is how many keys are struck between two round trips.
	chunk = 100
	// lineTime is the pause behind an Enter with more text to come. A line may start
	// a program, and what is typed before that has set up its terminal reaches it as the
	// shell's raw keys: without a pause `cat > file` read CR for each newline.
	lineTime = 30 * time.Millisecond
	// firstTime is the pause behind the first key of a text: GTK's file dialogs make the
	// field for a path on that key, and lose what comes before it is on the screen.
	firstTime = 40 * time.Millisecond
	// enterTime is how old a text in a dialog must be for the Enter behind it: GTK's file
	// dialogs drop an Enter while they still look for files that the name may mean.
	enterTime = 300 * time.Millisecond
)

// Type strikes the keys of a text: exactly its characters, whatever layout is in
// force and whatever is locked or held by others. See [CheckText] for what a text may
// hold. The error of a text that was cut short says how far it got.
func (h *Holder) Type(ctx context.Context, text string) error {
	if err := CheckText(text); err != nil {
		return err
	}
	syms := textKeys(text)
	if n, err := h.d.strikeAll(ctx, syms); err != nil {
		return fmt.Errorf("typing stopped after %d of %d characters: %w", n, len(syms), err)
	}
	return nil
}

func (d *Device) strikeAll(ctx context.Context, syms []uint32) (done int, err error) {
	s, end, err := d.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	for done < len(syms) {
		n, err := s.bind(ctx, syms[done:], false)
		if err != nil {
			return done, err
		}
		for bound := done + n; done < bound; {
			if err := d.pause(ctx, syms, done); err != nil {
				return done, err
			}
			part := syms[done:partEnd(syms, done, bound)]
			err := d.step(func() error {
				for _, sym := range part {
					p, _ := s.l.find(sym)
					s.set(p.mods, p.group)
					s.tap(p.keycode)
					d.spares.struck(sym, time.Now())
				}
				return d.conn.Sync()
			})
			if err != nil {
				return done, err
			}
			d.struck = time.Now()
			if part[0] != keysym.Return {
				d.typed = d.struck
			}
			done += len(part)
		}
	}
	return done, nil
}

// partEnd returns the end of what is struck in one go from a key on: at most chunk keys,
// with no pause among them, of which the last is before bound.
func partEnd(syms []uint32, from, bound int) int {
	end := from + 1
	for end < min(bound, from+chunk) && !pauses(syms, end) {
		end++
	}
	return end
}

// pauses reports whether a text pauses before the key at index i.
func pauses(syms []uint32, i int) bool {
	return i == 1 || syms[i-1] == keysym.Return || closes(syms, i)
}

// closes reports whether the key at index i is the Enter that a text ends with.
func closes(syms []uint32, i int) bool { return syms[i] == keysym.Return && i == len(syms)-1 }

// pause waits as long as a text pauses before the key at index i.
func (d *Device) pause(ctx context.Context, syms []uint32, i int) error {
	err := ctx.Err()
	switch {
	case err != nil:
		return context.Cause(ctx)
	case closes(syms, i):
		err = d.beforeEnter(ctx)
	case i == 1:
		err = d.afterFirst(ctx)
	}
	if err == nil && i > 0 && syms[i-1] == keysym.Return {
		err = wait(ctx, lineTime)
	}
	return err
}

// afterFirst returns when the focused program should be ready for more than the first key
// of a text: it has taken that key, had time for what it does then, and has done it.
// xterm, which does not answer, is ready at once.
func (d *Device) afterFirst(ctx context.Context) error {
	f, err := d.answerer()
	if err != nil || f == nil {
		return err
	}
	if err := d.hurry(ctx, f); err != nil {
		return err
	}
	if err := wait(ctx, firstTime); err != nil {
		return err
	}
	return d.hurry(ctx, f)
}

// beforeEnter returns when the text that was typed last is old enough for an Enter, which
// it is at once where the focus is in no dialog.
func (d *Device) beforeEnter(ctx context.Context) error {
	left := time.Until(d.typed.Add(enterTime))
	if left <= 0 {
		return nil
	}
	f, err := d.answerer()
	if err != nil || f == nil {
		return err
	}
	dialog := false
	err = d.step(func() error {
		dialog, err = f.IsDialog()
		return err
	})
	if err != nil || !dialog {
		return err
	}
	if err := d.hurry(ctx, f); err != nil {
		return err
	}
	return wait(ctx, left)
}

// answerer returns the focused window, nil if there is none that answers.
func (d *Device) answerer() (f *x11.Focus, err error) {
	err = d.step(func() error {
		f, err = d.conn.Focus()
		return err
	})
	if f != nil && !f.CanAnswer() {
		f = nil
	}
	return f, err
}

// hurry waits for a program's answer, but not for long: text for one that hangs is taken
// when it goes on.
func (d *Device) hurry(ctx context.Context, f *x11.Focus) error {
	brief, cancel := context.WithTimeoutCause(ctx, unknownWait, errNoAnswer)
	defer cancel()
	if err := d.waitAnswer(brief, f); !errors.Is(err, errNoAnswer) {
		return err
	}
	return nil
}

// Chord strikes a key while the modifiers of c, and no others, are held. The key
// stays down for hold, or until ctx ends. A modifier or lock key can be struck too.
func (h *Holder) Chord(ctx context.Context, c Chord, hold time.Duration) error {
	if err := h.d.chord(ctx, c, hold); err != nil {
		return fmt.Errorf("press %s: %w", keysym.Name(c.Key), err)
	}
	return nil
}

func (d *Device) chord(ctx context.Context, c Chord, hold time.Duration) error {
	s, end, err := d.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	var mods byte
	for _, sym := range c.Modifiers {
		made := s.l.modifiers(sym)
		if made == 0 {
			return fmt.Errorf("the keyboard has no modifier %s", keysym.Name(sym))
		}
		mods |= made
	}
	if _, err := s.bind(ctx, []uint32{c.Key}, len(c.Modifiers) > 0); err != nil {
		return err
	}
	if c.Key == keysym.Return {
		if err := d.beforeEnter(ctx); err != nil {
			return err
		}
	}
	p, _ := s.l.find(c.Key)
	if s.l.modifiers(c.Key) != 0 {
		mods |= s.before.Locked // so that what a lock key changes is not given back
	}
	s.set(mods|p.mods, p.group)
	s.strike(p.keycode)
	d.struck = time.Now()
	d.spares.struck(c.Key, d.struck)
	if hold > 0 {
		select {
		case <-time.After(hold):
		case <-ctx.Done():
		}
	}
	d.conn.FakeKey(p.keycode, false)
	return d.Sync()
}

// Key presses or releases the key that stands for a keysym, as a viewer does. A
// character arrives as that character whatever layout, lock or Shift is in force;
// with Control, Alt or Super held it is a command. The release finds its key by the
// keysym it was pressed as, or by another one of the same key. Releasing what is not
// held does nothing.
func (h *Holder) Key(sym uint32, down bool) error {
	act := h.keyUp
	if down {
		act = h.keyDown
	}
	err := errors.New("it is no key")
	if sym != keysym.None {
		err = act(context.Background(), sym)
	}
	if err != nil {
		return fmt.Errorf("key %s: %w", keysym.Name(sym), err)
	}
	return nil
}

func (h *Holder) keyDown(ctx context.Context, sym uint32) error {
	s, end, err := h.d.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if _, err := s.bind(ctx, []uint32{sym}, s.before.Held&notTyped != 0); err != nil {
		return err
	}
	p, _ := s.l.find(sym)
	again := s.l.modifiers(sym) == 0
	if again {
		s.set(s.around(sym, p), p.group)
	}
	h.hold(switched{code: p.keycode}, sym, again)
	h.d.struck = time.Now()
	h.d.spares.struck(sym, h.d.struck)
	return nil
}

func (h *Holder) keyUp(ctx context.Context, sym uint32) error {
	if err := h.d.lock(ctx); err != nil {
		return err
	}
	defer h.d.unlock()
	return h.d.step(func() error {
		if h.letGo(func(o hold) bool { return !o.button && o.sym == sym }) {
			return nil
		}
		// A viewer that pressed A and then let go of Shift may now release a.
		s, err := h.d.newStance()
		if err != nil {
			return err
		}
		if p, ok := s.l.find(sym); ok {
			h.letGo(func(o hold) bool { return !o.button && o.sym != keysym.None && o.code == p.keycode })
		}
		return nil
	})
}

// Keycode presses or releases a key by its number in the X server, 8 to 255. What it
// does is up to the layout and the locks in force.
func (h *Holder) Keycode(keycode byte, down bool) error {
	const lowest = 8
	if keycode < lowest {
		return fmt.Errorf("there is no keycode %d", keycode)
	}
	s, end, err := h.d.begin(context.Background())
	if err != nil {
		return err
	}
	defer end()
	key := switched{code: keycode}
	if down {
		h.hold(key, keysym.None, s.l.keymap.Keys[keycode].Modifiers == 0)
		h.d.struck = time.Now()
	} else {
		h.letGo(func(o hold) bool { return o.switched == key })
	}
	return nil
}

// begin takes the lock on the keys and looks at the keyboard. end gives back both.
func (d *Device) begin(ctx context.Context) (s *stance, end func(), err error) {
	if err := d.lock(ctx); err != nil {
		return nil, nil, err
	}
	err = d.step(func() error {
		s, err = d.newStance()
		return err
	})
	if err != nil {
		d.unlock()
		return nil, nil, err
	}
	return s, func() {
		s.restore()
		d.unlock()
	}, nil
}

// bind makes sure that the first n keysyms are on the keyboard: as many as one change
// of the key map can do, and at least one. command asks for a key for one keysym that
// modifiers can be held with.
func (s *stance) bind(ctx context.Context, syms []uint32, command bool) (n int, err error) {
	spares := &s.d.spares
	plan := func() (int, []uint32, []*slot) {
		if command {
			return spares.planCommand(s.l, syms[0], &s.down)
		}
		return spares.plan(s.l, syms, &s.down)
	}
	n, missing, slots := plan()
	// A program may still have the events of the characters that were in these places. And
	// Xlib reads its first map when the first key comes, and only then asks to be told of
	// changes: what is changed in between it never learns.
	if len(missing) > 0 && (pending(slots) || time.Since(s.d.struck) < unknownWait) {
		if err := s.d.waitTaken(ctx, s.d.struck); err != nil {
			return 0, err
		}
		spares.taken()
		// The map may be another by now, and what is sent must not bring back the old.
		if err := s.d.step(s.readLayout); err != nil {
			return 0, err
		}
		n, missing, slots = plan()
	}
	if n == 0 {
		return 0, fmt.Errorf("the keyboard has no spare key for %s", keysym.Name(syms[0]))
	}
	if len(missing) == 0 {
		return n, nil
	}
	err = s.d.step(func() error {
		if err := s.d.keyboard.Bind(s.l.keymap, spares.bindings(slots, missing)); err != nil {
			return err
		}
		return s.readLayout()
	})
	if err != nil {
		return 0, err
	}
	// Chromium asks for the new map when it is told of it, but reads keys that come
	// before the answer by the old one.
	if err := s.d.waitTaken(ctx, time.Now()); err != nil {
		return 0, err
	}
	for _, sym := range missing {
		if _, ok := s.l.find(sym); !ok {
			return 0, fmt.Errorf("another program changed the key map: %s is not on it", keysym.Name(sym))
		}
	}
	return n, nil
}
