package input

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

// position is where a keysym is on the keyboard: a key, and the group and the
// modifiers that must be in force when it is struck.
type position struct {
	keycode byte
	group   byte
	mods    byte
	matter  byte // the modifiers that choose among this key's symbols
}

// layout is a key map turned around: from keysyms to positions.
type layout struct {
	keymap    *x11.Keymap
	positions map[uint32]position // by canonical keysym
	makers    [8]byte             // the key to press for each modifier, 0 for none
	makes     [256]byte           // by keycode, the modifiers of keys that hold some and lock none
}

// notTyped are the modifiers that a position never asks for: programs take keys with
// these as commands, whatever the key stands for.
const notTyped = x11.Control | x11.Mod1 | x11.Mod4

// makerKeys are the keys that are pressed to get a modifier, in order of choice. Keys
// that lock one, or that switch groups, are not among them.
var makerKeys = []uint32{
	keysym.ShiftL, keysym.ShiftR, keysym.ControlL, keysym.ControlR, keysym.AltL, keysym.AltR, keysym.SuperL, keysym.SuperR,
	keysym.ISOLevel3Shift, keysym.ISOLevel5Shift, keysym.MetaL, keysym.MetaR, keysym.HyperL, keysym.HyperR,
}

// newLayout turns a key map around for a keyboard on which group is in force.
func newLayout(keymap *x11.Keymap, group byte) *layout {
	l := &layout{keymap: keymap, positions: make(map[uint32]position)}
	for code := int(keymap.Min); code <= int(keymap.Max); code++ {
		key := &keymap.Keys[code]
		for g := range key.Groups {
			t := keymap.Type(key, g)
			for level := range min(t.Levels, key.Width) {
				sym := key.Sym(g, level)
				if sym == keysym.None {
					continue
				}
				mods, ok := levelMods(t, level)
				if !ok {
					continue
				}
				p := position{keycode: byte(code), group: byte(g), mods: mods, matter: t.Mods}
				if key.Groups == 1 {
					p.group = group // any group will do
				}
				sym = keysym.Canonical(sym)
				if old, ok := l.positions[sym]; !ok || p.cost(group) < old.cost(group) {
					l.positions[sym] = p
				}
			}
		}
	}
	for code := range keymap.Keys {
		key := &keymap.Keys[code]
		if key.Modifiers != 0 && slices.Contains(makerKeys, key.Sym(0, 0)) {
			l.makes[code] = key.Modifiers
		}
	}
	for _, sym := range makerKeys {
		code := l.positions[sym].keycode
		for bit := range l.makers {
			if l.makes[code] == 1<<bit && l.makers[bit] == 0 {
				l.makers[bit] = code
			}
		}
	}
	return l
}

// cost ranks the positions of one keysym: in the group in force, on the main block that
// everybody's keyboard has, with few modifiers. Beyond keycode 93 (evdev) are the extra
// key of ISO keyboards and media keys, some of which stand for parentheses or the euro.
func (p position) cost(group byte) int {
	const mainBlockEnds = 93
	cost := bits.OnesCount8(p.mods)
	if p.keycode > mainBlockEnds {
		cost += 10
	}
	if p.group != group {
		cost += 100
	}
	return cost
}

// levelMods returns the smallest set of modifiers that chooses a level, without Caps
// Lock where that can be. ok is false if none may be typed with.
func levelMods(t *x11.KeyType, level int) (mods byte, ok bool) {
	if level == 0 {
		return 0, true
	}
	weight := func(mods byte) int { return cmp.Compare(mods&x11.Lock, 0)*8 + bits.OnesCount8(mods) }
	for _, e := range t.Entries {
		if int(e.Level) == level && e.Mods&notTyped == 0 && (!ok || weight(e.Mods) < weight(mods)) {
			mods, ok = e.Mods, true
		}
	}
	return mods, ok
}

// find returns the position of a keysym.
func (l *layout) find(sym uint32) (position, bool) {
	p, ok := l.positions[keysym.Canonical(sym)]
	return p, ok
}

// modifiers returns the modifiers that a keysym's key makes or locks, 0 for most keys.
func (l *layout) modifiers(sym uint32) byte {
	p, ok := l.find(sym)
	if !ok {
		return 0
	}
	return l.keymap.Keys[p.keycode].Modifiers
}
