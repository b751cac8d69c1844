package input

import (
	"slices"

	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

// stance is which modifiers and which group are in force while keys are struck. It
// begins with what others hold and lock, changes as each key needs it, and gives back
// what there was in the end.
//
// Modifiers are made by pressing their keys, as a person does, because programs that
// show another machine's screen pass on keys and not states. Caps Lock, Num Lock and
// the group have no key that only holds them, so their state is set directly.
type stance struct {
	d       *Device
	l       *layout
	before  x11.KeyState
	down    x11.KeySet // keys that are down
	lifted  []lifted   // modifier keys of others, released for the time being
	pressed []byte     // modifier keys pressed here
	locks   byte       // modifiers locked now
	group   byte       // in force now
}

// lifted is a modifier key to press again.
type lifted struct {
	code    byte
	counted bool // by a Holder, who may let go of it meanwhile
}

// newStance reads the state of the keyboard. The caller has the lock on the keys.
func (d *Device) newStance() (*stance, error) {
	before, err := d.keyboard.State()
	if err != nil {
		return nil, err
	}
	down, err := d.conn.KeysDown()
	if err != nil {
		return nil, err
	}
	if before.Latched != 0 {
		d.keyboard.Unlatch(before.Latched)
	}
	s := &stance{d: d, before: before, down: down, locks: before.Locked, group: before.Group}
	return s, s.readLayout()
}

func (s *stance) readLayout() error {
	keymap, err := s.d.keyboard.Map()
	if err != nil {
		return err
	}
	s.l = newLayout(keymap, s.before.Group)
	s.d.spares.recount(keymap)
	return nil
}

// set brings exactly these modifiers and this group into force.
func (s *stance) set(mods, group byte) {
	var held byte
	for i, made := range s.l.makes {
		code := byte(i)
		switch {
		case made == 0 || !s.down.Has(code):
		case made&^mods != 0:
			s.lift(code)
		default:
			held |= made
		}
	}
	locks := mods &^ held
	for bit, code := range s.l.makers {
		if code != 0 && locks>>bit&1 != 0 {
			s.press(code)
			locks &^= 1 << bit
		}
	}
	if change := locks ^ s.locks; change != 0 {
		s.d.keyboard.SetLocks(change, locks)
		s.locks = locks
	}
	if group != s.group {
		s.d.keyboard.SetGroup(group)
		s.group = group
	}
}

func (s *stance) press(code byte) {
	s.d.conn.FakeKey(code, true)
	s.down.Add(code)
	s.pressed = append(s.pressed, code)
}

// lift releases a modifier key, whoever pressed it.
func (s *stance) lift(code byte) {
	s.d.conn.FakeKey(code, false)
	s.down.Remove(code)
	if i := slices.Index(s.pressed, code); i >= 0 {
		s.pressed = slices.Delete(s.pressed, i, i+1)
	} else {
		s.lifted = append(s.lifted, lifted{code, s.d.holds(code)})
	}
}

// tap strikes a key.
func (s *stance) tap(code byte) {
	s.strike(code)
	s.d.conn.FakeKey(code, false)
	s.down.Remove(code)
}

// strike presses a key, anew if somebody holds it down already.
func (s *stance) strike(code byte) {
	if s.down.Has(code) {
		s.d.conn.FakeKey(code, false)
	}
	s.d.conn.FakeKey(code, true)
	s.down.Add(code)
}

// around returns the modifiers to have in force when a person presses a key of this
// position. For a character they are those that choose it, so that it arrives whatever
// Shift or lock says; Control, Alt and Super stay, for they make a command of it. For
// any other key all that is held stays, as in Shift with Return.
func (s *stance) around(sym uint32, p position) byte {
	matter, keep := p.matter&^notTyped, byte(0)
	if _, ok := keysym.Rune(sym); ok {
		matter |= x11.Lock // programs make a capital of a letter that Lock does not matter to
	} else {
		keep = s.before.Held
	}
	return p.mods | s.before.Mods&^matter | keep
}

// restore gives back what newStance found, as far as it was changed here.
func (s *stance) restore() {
	for _, code := range slices.Backward(s.pressed) {
		s.d.conn.FakeKey(code, false)
	}
	if change := s.locks ^ s.before.Locked; change != 0 {
		s.d.keyboard.SetLocks(change, s.before.Locked)
	}
	if s.group != s.before.Group {
		s.d.keyboard.SetGroup(s.before.LockedGroup)
	}
	for _, l := range s.lifted {
		if !l.counted || s.d.holds(l.code) {
			s.d.conn.FakeKey(l.code, true)
		}
	}
}
