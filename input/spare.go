package input

import (
	"cmp"
	"maps"
	"slices"
	"time"
	"unicode"

	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

// spares are keys that stand for nothing in the layout. They are given the characters
// that it lacks, several to a key by means of Shift and AltGr, many with one change of
// the key map. A character stays where it is until its place is needed, least recently
// used first.
//
// Programs are told of a change, and read the new map when they get round to it. So a
// place is only used again once they have taken the events of its old character, and
// only struck once they have taken the change.
type spares struct {
	slots []*slot
	kind  byte // type of a spare key in the key map
}

// slot is one place for a character: a level of a spare key.
type slot struct {
	keycode byte
	level   int
	sym     uint32    // what it stands for, None while it is free
	used    time.Time // when it was last struck
	pending bool      // whether a program may still have that event before it
}

// leftOver is how many spare keys stay untouched, for other programs that need one.
const leftOver = 2

// mark stands on the highest level of each key that was filled here, a private-use
// character. It tells them from the layout's, also after this Device's time.
const mark = 0x0110fffd

// recount brings the slots in line with a key map, which anybody may have changed.
func (s *spares) recount(keymap *x11.Keymap) {
	old := s.slots
	s.slots = nil
	kind, levels := spareType(keymap)
	if levels == 0 {
		return
	}
	s.kind = kind
	var codes []byte
	for code := int(keymap.Min); code <= int(keymap.Max); code++ {
		if key := &keymap.Keys[code]; key.Empty() || key.Sym(0, levels-1) == mark {
			codes = append(codes, byte(code))
		}
	}
	codes = codes[:max(len(codes)-leftOver, 0)]
	for level := range levels - 1 {
		for _, code := range codes {
			now := &slot{keycode: code, level: level, sym: keymap.Keys[code].Sym(0, level)}
			if i := slices.IndexFunc(old, func(o *slot) bool { return o.keycode == code && o.level == level }); i >= 0 {
				now.used, now.pending = old[i].used, old[i].pending
			}
			s.slots = append(s.slots, now)
		}
	}
}

// spareType chooses the key type that offers the most levels by means of modifiers
// that may be in force while text is typed.
func spareType(keymap *x11.Keymap) (kind byte, levels int) {
	for i := range keymap.Types {
		t := &keymap.Types[i]
		n := 0
		for n < t.Levels {
			if _, ok := levelMods(t, n); !ok {
				break
			}
			n++
		}
		if t.Mods&notTyped == 0 && n == t.Levels && n > levels {
			kind, levels = byte(i), n
		}
	}
	return kind, levels
}

// plan looks how far a text can be typed with one change of the key map. It returns
// the number of keysyms it took from the front, those among them to be bound, and the
// slots for these. busy are keys that are down.
func (s *spares) plan(l *layout, syms []uint32, busy *x11.KeySet) (n int, missing []uint32, victims []*slot) {
	free := s.free(busy)
	for _, sym := range syms {
		sym = keysym.Canonical(sym)
		if _, ok := l.find(sym); ok {
			// A character that is bound already and needed here must keep its place.
			if i := slices.IndexFunc(free, func(o *slot) bool { return o.sym == sym }); i >= 0 {
				if len(missing) == len(free) {
					break
				}
				free = slices.Delete(free, i, i+1)
			}
		} else if !slices.Contains(missing, sym) {
			if len(missing) == len(free) {
				break
			}
			missing = append(missing, sym)
		}
		n++
	}
	return n, missing, free[:len(missing)]
}

// free returns the slots of keys that are not busy, those to use first before others.
func (s *spares) free(busy *x11.KeySet) []*slot {
	var free []*slot
	for _, slot := range s.slots {
		if !busy.Has(slot.keycode) {
			free = append(free, slot)
		}
	}
	slices.SortStableFunc(free, func(a, b *slot) int {
		return cmp.Or(cmp.Compare(min(a.sym, 1), min(b.sym, 1)), a.used.Compare(b.used))
	})
	return free
}

// planCommand is plan for one key that is struck with Control, Alt, Super or Shift held,
// whatever the program makes of it then. A character takes a whole key, as on a keyboard:
// the small letter, and with Shift the capital one.
func (s *spares) planCommand(l *layout, sym uint32, busy *x11.KeySet) (n int, missing []uint32, victims []*slot) {
	sym = keysym.Canonical(sym)
	lower, upper := cases(sym)
	p, found := l.find(sym)
	var second *slot
	for _, first := range s.free(busy) {
		if first.level != 0 || found && first.keycode != p.keycode {
			continue
		}
		second = s.at(first.keycode, 1)
		if first.sym == lower && (second == nil || second.sym == upper) {
			return 1, nil, nil
		}
		missing, victims = []uint32{lower}, []*slot{first}
		if second != nil {
			missing, victims = append(missing, upper), append(victims, second)
		}
		return 1, missing, victims
	}
	if found {
		return 1, nil, nil // on a key of the layout
	}
	return 0, nil, nil
}

// at returns the slot of a level of a key, nil if there is none.
func (s *spares) at(keycode byte, level int) *slot {
	for _, slot := range s.slots {
		if slot.keycode == keycode && slot.level == level {
			return slot
		}
	}
	return nil
}

// cases returns what a key without and with Shift stands for that has a character on it.
func cases(sym uint32) (lower, upper uint32) {
	r, ok := keysym.Rune(sym)
	if !ok {
		return sym, sym
	}
	lower, upper = keysym.FromRune(unicode.ToLower(r)), keysym.FromRune(unicode.ToUpper(r))
	if sym != lower && sym != upper { // in a title's case, as U+01C5 is
		return sym, sym
	}
	return lower, upper
}

// bindings gives the victims their new keysyms and returns the keys to change.
func (s *spares) bindings(victims []*slot, syms []uint32) []x11.Binding {
	changed := make(map[byte]bool)
	for i, slot := range victims {
		slot.sym, slot.pending = syms[i], false
		changed[slot.keycode] = true
	}
	var all []x11.Binding
	for _, code := range slices.Sorted(maps.Keys(changed)) {
		b := x11.Binding{Keycode: code, Type: s.kind}
		for _, slot := range s.slots { // by level
			if slot.keycode == code {
				b.Syms = append(b.Syms, slot.sym)
			}
		}
		b.Syms = append(b.Syms, mark)
		all = append(all, b)
	}
	return all
}

// struck notes that a keysym was struck.
func (s *spares) struck(sym uint32, now time.Time) {
	sym = keysym.Canonical(sym)
	for _, slot := range s.slots {
		if slot.sym == sym {
			slot.used, slot.pending = now, true
		}
	}
}

// taken notes that programs have taken all events so far.
func (s *spares) taken() {
	for _, slot := range s.slots {
		slot.pending = false
	}
}

// pending reports whether a program may still have the event of one of these slots
// before it.
func pending(slots []*slot) bool {
	return slices.ContainsFunc(slots, func(s *slot) bool { return s.pending })
}
