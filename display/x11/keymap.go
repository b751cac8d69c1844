package x11

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jezek/xgb"
)

// The core protocol knows two groups and guesses what the levels of a key are; XKB
// says it. The library has no XKB, so the few requests that are needed
// are made by hand here and in lights.go (X Keyboard Extension, protocol specification, appendix D).
const (
	xkbUseExtension   = 0
	xkbGetState       = 4
	xkbLatchLockState = 5
	xkbGetMap         = 8
	xkbSetMap         = 9

	xkbCoreKeyboard = 0x100 // device: whatever the core keyboard is

	xkbKeyTypes    = 1 << 0 // parts of a map
	xkbKeySyms     = 1 << 1
	xkbModifierMap = 1 << 2
)

// Bits of the eight real modifiers.
const (
	Shift = 1 << iota
	Lock  // Caps Lock
	Control
	Mod1 // Alt on every common layout
	Mod2 // Num Lock
	Mod3
	Mod4 // Super
	Mod5 // AltGr
)

// Keyboard is the X server's keyboard as XKB sees it. Its methods may be called from
// any goroutine; requests take effect in order with those of the same Conn.
type Keyboard struct {
	c      *Conn
	opcode byte
}

// Keyboard returns the X server's keyboard.
func (c *Conn) Keyboard() (*Keyboard, error) {
	c.x.ExtLock.RLock()
	k := &Keyboard{c, c.x.Extensions[xkbName]}
	c.x.ExtLock.RUnlock()
	b := k.request(xkbUseExtension, 8)
	xgb.Put16(b[4:], 1) // version 1.0
	if _, err := k.reply(b, 32); err != nil {
		return nil, failed("agree on an XKB version", err)
	}
	return k, nil
}

// request returns a request of size bytes with its head filled in.
func (k *Keyboard) request(minor byte, size int) []byte {
	b := make([]byte, size)
	b[0], b[1] = k.opcode, minor
	xgb.Put16(b[2:], uint16(size/4))
	xgb.Put16(b[4:], xkbCoreKeyboard)
	return b
}

func (k *Keyboard) reply(request []byte, least int) ([]byte, error) {
	cookie := k.c.x.NewCookie(true, true)
	k.c.x.NewRequest(request, cookie)
	b, err := cookie.Reply()
	if err == nil && len(b) < least {
		err = fmt.Errorf("the reply has %d bytes, not %d", len(b), least)
	}
	return b, err
}

// KeyState is which modifiers and which group are in force, and why.
type KeyState struct {
	Mods        byte // in force: held, latched or locked
	Held        byte // by keys that are down
	Locked      byte
	Latched     byte
	Group       byte // in force, from 0
	LockedGroup byte
}

// State returns the present state.
func (k *Keyboard) State() (KeyState, error) {
	b, err := k.reply(k.request(xkbGetState, 8), 32)
	if err != nil {
		return KeyState{}, failed("ask for the keyboard's state", err)
	}
	return KeyState{Mods: b[8], Held: b[9], Latched: b[10], Locked: b[11], Group: b[12], LockedGroup: b[13]}, nil
}

// SetLocks locks those of the affected modifiers that are in mods and unlocks the
// others. No key event comes of it; programs see the state in the events that follow.
func (k *Keyboard) SetLocks(affected, mods byte) {
	b := k.request(xkbLatchLockState, 16)
	b[6], b[7] = affected, mods&affected
	k.send(b)
}

// SetGroup locks a group, from 0.
func (k *Keyboard) SetGroup(group byte) {
	b := k.request(xkbLatchLockState, 16)
	b[8], b[9] = 1, group
	k.send(b)
}

// Unlatch ends latches: modifiers that wait for the next key.
func (k *Keyboard) Unlatch(mods byte) {
	b := k.request(xkbLatchLockState, 16)
	b[10] = mods
	k.send(b)
}

// send sends a request that has no reply.
func (k *Keyboard) send(request []byte) {
	k.c.x.NewRequest(request, k.c.x.NewCookie(false, false))
}

// Keymap says what every key stands for.
type Keymap struct {
	Types []KeyType
	Min   byte // lowest and highest keycode
	Max   byte
	Keys  [256]Key // by keycode
}

// KeyType says how modifiers choose the level of a key.
type KeyType struct {
	Mods    byte // modifiers that count
	Levels  int
	Entries []TypeEntry // combinations that do not choose level 0
}

// TypeEntry is one combination of modifiers.
type TypeEntry struct{ Mods, Level byte }

// Key is one key of a Keymap.
type Key struct {
	Modifiers byte // the modifiers that this key makes, 0 for most keys
	Groups    int
	Width     int // levels per group in Syms
	Syms      []uint32
	types     [4]byte // by group, index into Keymap.Types
	info      byte    // number of groups, and what stands for those above
}

// Empty reports whether the key stands for nothing.
func (k *Key) Empty() bool {
	for _, sym := range k.Syms {
		if sym != 0 {
			return false
		}
	}
	return k.Modifiers == 0
}

// Sym returns the keysym of one level, 0 for none.
func (k *Key) Sym(group, level int) uint32 {
	if group >= k.Groups || level >= k.Width {
		return 0
	}
	return k.Syms[group*k.Width+level]
}

// Type returns the type of a key's group.
func (m *Keymap) Type(key *Key, group int) *KeyType {
	if t := int(key.types[group]); t < len(m.Types) {
		return &m.Types[t]
	}
	return &KeyType{Levels: 1}
}

// Map reads the key map that is in force.
func (k *Keyboard) Map() (*Keymap, error) {
	reply, err := k.readMap()
	if err != nil {
		return nil, failed("read the key map", err)
	}
	m, err := parseKeymap(reply)
	if err != nil {
		return nil, fmt.Errorf("read the key map: %w", err)
	}
	return m, nil
}

func (k *Keyboard) readMap() ([]byte, error) {
	b := k.request(xkbGetMap, 28)
	xgb.Put16(b[6:], xkbKeyTypes|xkbKeySyms|xkbModifierMap) // all of these parts
	return k.reply(b, 40)
}

// parseKeymap reads the reply to GetMap with types, symbols and modifiers.
func parseKeymap(b []byte) (*Keymap, error) {
	r := reader{b: b[40:]}
	m := &Keymap{Min: b[10], Max: b[11], Types: make([]KeyType, 0, b[15])}
	for range b[15] {
		head := r.take(8)
		t := KeyType{Mods: head[0], Levels: int(head[4])}
		for range head[5] {
			e := r.take(8)
			entry := TypeEntry{Mods: e[1], Level: e[2]}
			// The first entry of a combination counts. Others arise from virtual
			// modifiers that no key makes.
			active := e[0] != 0
			if active && !slices.ContainsFunc(t.Entries, func(o TypeEntry) bool { return o.Mods == entry.Mods }) {
				t.Entries = append(t.Entries, entry)
			}
		}
		if preserve := head[6] != 0; preserve {
			r.take(4 * int(head[5]))
		}
		m.Types = append(m.Types, t)
	}
	for i := range int(b[20]) {
		head := r.take(8)
		key := &m.Keys[(int(b[17])+i)&0xff]
		copy(key.types[:], head)
		key.info = head[4]
		key.Groups, key.Width = min(int(head[4]&0x0f), 4), int(head[5])
		syms := r.take(4 * int(binary.LittleEndian.Uint16(head[6:])))
		for len(syms) > 0 {
			key.Syms = append(key.Syms, binary.LittleEndian.Uint32(syms))
			syms = syms[4:]
		}
		if key.Groups*key.Width > len(key.Syms) {
			return nil, fmt.Errorf("key %d has %d symbols for %d groups of %d", int(b[17])+i, len(key.Syms), key.Groups, key.Width)
		}
	}
	for range b[33] {
		pair := r.take(2)
		m.Keys[pair[0]].Modifiers = pair[1]
	}
	if r.short {
		return nil, fmt.Errorf("the reply of %d bytes ends too early", len(b))
	}
	return m, nil
}

// reader cuts pieces off a reply. After its end the pieces are zeros.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.short, r.b = true, nil
		return make([]byte, n)
	}
	piece := r.b[:n]
	r.b = r.b[n:]
	return piece
}

// Binding gives a key one group of symbols.
type Binding struct {
	Keycode byte
	Type    byte     // index into Keymap.Types
	Syms    []uint32 // one for each level of the type
}

// Bind changes what keys stand for and leaves the others of m, the map in force, as
// they are. Every program is told by the X server, before any event of these keys.
//
// One request names a range of keys, so those in between are sent again. With a
// request for each gap programs would be told more than once, and a window manager
// grabs all its keys anew every time: fluxbox takes about 20 ms.
func (k *Keyboard) Bind(m *Keymap, bindings []Binding) error {
	if len(bindings) == 0 {
		return nil
	}
	keys := m.Keys // a copy
	first, last := bindings[0].Keycode, bindings[0].Keycode
	for _, b := range bindings {
		const oneGroup = 1 // which stands for all others too
		keys[b.Keycode] = Key{Width: len(b.Syms), Syms: b.Syms, types: [4]byte{b.Type}, info: oneGroup}
		first, last = min(first, b.Keycode), max(last, b.Keycode)
	}
	b := k.request(xkbSetMap, 36)
	xgb.Put16(b[6:], xkbKeySyms)
	b[10], b[11] = m.Min, m.Max
	b[14], b[15] = first, last-first+1
	total := 0
	for _, key := range keys[first : int(last)+1] {
		b = append(b, key.types[:]...)
		b = append(b, key.info, byte(key.Width))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(key.Syms)))
		for _, sym := range key.Syms {
			b = binary.LittleEndian.AppendUint32(b, sym)
		}
		total += len(key.Syms)
	}
	xgb.Put16(b[16:], uint16(total))
	xgb.Put16(b[2:], uint16(len(b)/4))
	cookie := k.c.x.NewCookie(true, false)
	k.c.x.NewRequest(b, cookie)
	return failed("change the key map", cookie.Check())
}
