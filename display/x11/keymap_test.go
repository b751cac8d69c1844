package x11

import (
	"errors"
	"testing"

	"github.com/jezek/xgb/xproto"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func openKeyboard(t testing.TB) *Keyboard {
	t.Helper()
	k, err := dialTest(t, xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64})).Keyboard()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeymap(t *testing.T) {
	m, err := openKeyboard(t).Map()
	if err != nil {
		t.Fatal(err)
	}
	const aKey, shiftKey, enterKey = 38, 50, 36 // of the default layout
	a := &m.Keys[aKey]
	if a.Sym(0, 0) != 'a' || a.Sym(0, 1) != 'A' || a.Sym(0, 2) != 0 || a.Sym(4, 0) != 0 || a.Modifiers != 0 {
		t.Errorf("the key a is %+v", a)
	}
	if kind := m.Type(a, 0); kind.Levels != 2 || kind.Mods != Shift|Lock {
		t.Errorf("the type of the key a is %+v", kind)
	}
	if m.Keys[shiftKey].Modifiers != Shift || m.Keys[enterKey].Sym(0, 0) != 0xff0d {
		t.Errorf("Shift is %+v, Enter is %+v", m.Keys[shiftKey], m.Keys[enterKey])
	}
	if m.Min != 8 || m.Max != 255 || !m.Keys[8].Empty() {
		t.Errorf("keycodes go from %d to %d, the first is %+v", m.Min, m.Max, m.Keys[8])
	}
}

func TestBind(t *testing.T) {
	k := openKeyboard(t)
	m, err := k.Map()
	if err != nil {
		t.Fatal(err)
	}
	const twoLevels = 1 // every XKB map has this type there
	bindings := []Binding{
		{8, twoLevels, []uint32{0x0100ac00, 0x0101f600}}, {93, twoLevels, []uint32{0xc9, 0xe9}}, {97, twoLevels, []uint32{'x', 0}},
	}
	if err := k.Bind(m, bindings); err != nil {
		t.Fatal(err)
	}
	changed, err := k.Map()
	if err != nil {
		t.Fatal(err)
	}
	for code := range changed.Keys {
		want := [2]uint32{m.Keys[code].Sym(0, 0), m.Keys[code].Sym(0, 1)}
		for _, b := range bindings {
			if int(b.Keycode) == code {
				want = [2]uint32(b.Syms)
			}
		}
		if got := [2]uint32{changed.Keys[code].Sym(0, 0), changed.Keys[code].Sym(0, 1)}; got != want {
			t.Errorf("key %d is %#x, want %#x", code, got, want)
		}
	}
	if err := k.Bind(m, []Binding{{8, 200, []uint32{'x'}}}); err == nil {
		t.Error("a type that does not exist was accepted")
	}
}

func TestKeyState(t *testing.T) {
	k := openKeyboard(t)
	k.SetLocks(Lock|Mod2, Lock|Mod5)
	if s, err := k.State(); err != nil || s != (KeyState{Mods: Lock, Locked: Lock}) {
		t.Errorf("with Caps Lock: %+v, %v", s, err)
	}
	k.SetLocks(Lock, 0)
	const shiftKey = 50
	k.c.FakeKey(shiftKey, true)
	if s, err := k.State(); err != nil || s != (KeyState{Mods: Shift, Held: Shift}) {
		t.Errorf("with Shift: %+v, %v", s, err)
	}
	down, err := k.c.KeysDown()
	if err != nil || !down.Has(shiftKey) || down.Has(shiftKey+1) {
		t.Errorf("keys down: %v, %v", down, err)
	}
	k.c.Close()
	if _, err := k.State(); !errors.Is(err, ErrClosed) {
		t.Errorf("State on a closed connection: %v, want ErrClosed", err)
	}
}

// The X server is ours, but a key map that cannot be read must be an error and no
// more.
func FuzzParseKeymap(f *testing.F) {
	k := openKeyboard(f)
	reply, err := k.readMap()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(reply)
	f.Add(reply[:len(reply)/2])
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 40 {
			return // refused before it is parsed
		}
		m, err := parseKeymap(b)
		if err != nil {
			return
		}
		for code := range m.Keys {
			key := &m.Keys[code]
			key.Empty()
			for group := range 4 {
				for level := range m.Type(key, group).Levels {
					key.Sym(group, level)
				}
			}
		}
	})
}

// Checklist 42 and 43: a light that changes and a bell that rings are told of.
func TestLightsAndBell(t *testing.T) {
	k := openKeyboard(t)
	changed, rung := make(chan struct{}, 10), make(chan struct{}, 10)
	stop := k.Notify(func() { changed <- struct{}{} }, func() { rung <- struct{}{} })
	defer stop()
	wantLights := func(caps, num, scroll bool) {
		t.Helper()
		if c, n, s, err := k.Lights(); err != nil || c != caps || n != num || s != scroll {
			t.Errorf("lights %v %v %v, %v; want %v %v %v", c, n, s, err, caps, num, scroll)
		}
	}
	wantLights(false, false, false)
	k.SetLocks(Lock, Lock)
	<-changed
	wantLights(true, false, false)
	k.SetLocks(Lock|Mod2, Mod2)
	<-changed
	wantLights(false, true, false)
	xproto.Bell(k.c.x, 50)
	<-rung
	if len(changed)+len(rung) > 0 {
		t.Errorf("%d more changes and %d more bells", len(changed), len(rung))
	}
}
