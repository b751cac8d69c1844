package input

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

// strikeKeys presses and releases keys one by one, as a viewer does.
func strikeKeys(t testing.TB, h *Holder, syms ...uint32) {
	t.Helper()
	for _, sym := range syms {
		for _, down := range []bool{true, false} {
			if err := h.Key(sym, down); err != nil {
				t.Error(err)
			}
		}
	}
}

func press(t testing.TB, h *Holder, syms ...uint32) {
	t.Helper()
	for _, sym := range syms {
		if err := h.Key(sym, true); err != nil {
			t.Error(err)
		}
	}
}

func keysDown(t testing.TB, d *Device) (codes []byte) {
	t.Helper()
	set, err := d.conn.KeysDown()
	if err != nil {
		t.Error(err)
	}
	for code := range 256 {
		if set.Has(byte(code)) {
			codes = append(codes, byte(code))
		}
	}
	return codes
}

// A viewer's characters arrive as they are in every state of the keyboard, also by
// their older keysyms and with Shift held, as a viewer holds it for capitals.
func TestViewerCharacters(t *testing.T) {
	text := printable(0x20, 0x7e) + printable(0xa0, 0xff) + printable(0x410, 0x44f) + "€測😀"
	for _, name := range fewStates {
		state := states[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := openDevice(t, state.layout)
			term := openTerminal(t, s)
			d.keyboard.SetLocks(0xff, state.mods)
			d.keyboard.SetGroup(state.group)
			h := d.NewHolder()
			for _, r := range text {
				strikeKeys(t, h, keysym.FromRune(r))
			}
			term.expect(text)
			strikeKeys(t, h, 0x06c1, 0x06e1, 0x20ac) // Cyrillic_a, Cyrillic_A, EuroSign
			term.expect("аА€")
			press(t, h, keysym.ShiftL)
			strikeKeys(t, h, 'A', 'b', '7', '/', '{', 0xc9, 0xe9)
			strikeKeys(t, d.NewHolder(), 'x')
			h.Key(keysym.ShiftL, false)
			term.expect("Ab7/{Éé" + "x")
			press(t, h, keysym.ISOLevel3Shift)
			strikeKeys(t, h, '@', '\\', '[', 'q')
			h.Key(keysym.ISOLevel3Shift, false)
			term.expect("@\\[q")
			if codes := keysDown(t, d); codes != nil {
				t.Errorf("keys are still down: %v", codes)
			}
		})
	}
}

// What Control and Shift make of keys is up to the program.
func TestViewerCommands(t *testing.T) {
	for _, layout := range []string{"us", "de"} {
		d, s := openDevice(t, layout)
		term := openTerminal(t, s)
		h := d.NewHolder()
		press(t, h, keysym.ControlL)
		strikeKeys(t, h, 'c', 'z')
		h.Key(keysym.ControlL, false)
		term.expect("\x03\x1a")
		press(t, h, keysym.ShiftL)
		strikeKeys(t, h, keysym.Tab)
		term.expect("\x1b[Z")
		strikeKeys(t, h, keysym.ISOLeftTab)
		term.expect("\x1b[Z")
		strikeKeys(t, h, 0xff52) // Up
		term.expect("\x1b[1;2A")
		h.Key(keysym.ShiftL, false)
		strikeKeys(t, h, keysym.ISOLeftTab, keysym.Tab, keysym.Return, 0xff1b)
		term.expect("\x1b[Z\t\r\x1b")
		strikeKeys(t, h, 0xffb7, 0xffae) // KP_7, KP_Decimal: the keypad with Num Lock
		term.expect("7.")
		strikeKeys(t, h, 0xff95) // KP_Home
		term.expect("\x1b[H")
	}
}

func TestChord(t *testing.T) {
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := openDevice(t, state.layout)
			term := openTerminal(t, s)
			d.keyboard.SetLocks(0xff, state.mods)
			d.keyboard.SetGroup(state.group)
			viewer := d.NewHolder()
			for _, sym := range state.holding {
				if _, text := keysym.Rune(sym); !text {
					press(t, viewer, sym)
				}
			}
			h := d.NewHolder()
			before, _ := d.keyboard.State()
			for _, c := range []struct{ key, want string }{
				{"a", "a"},
				{"A", "A"},
				{"ctrl+a", "\x01"},
				{"ctrl+A", "\x01"},
				{"é", "é"},
				{"U20AC", "€"},
				{"+", "+"},
				{"enter", "\r"},
				{"tab", "\t"},
				{"shift+tab", "\x1b[Z"},
				{"ISO_Left_Tab", "\x1b[Z"},
				{"esc", "\x1b"},
				{"f5", "\x1b[15~"},
				{"ctrl+left", "\x1b[1;5D"},
				{"ctrl+shift+up", "\x1b[1;6A"},
				{"backspace", "\x7f"},
				{"shift+a", "A"},
				{"space", " "},
				{"ctrl+space", "\x00"},
				{"pageup", "\x1b[5~"},
				{"delete", "\x1b[3~"},
			} {
				chord, err := ParseKey(c.key)
				if err == nil {
					err = h.Chord(t.Context(), chord, 0)
				}
				if err != nil {
					t.Errorf("%s: %v", c.key, err)
				}
				if got := term.read(len(c.want)); got != c.want {
					t.Errorf("%s: got %q, want %q", c.key, got, c.want)
				}
				if after, _ := d.keyboard.State(); after != before {
					t.Errorf("%s: the keyboard's state was %+v, is %+v", c.key, before, after)
				}
			}
		})
	}
}

// A letter that the layout lacks is a key that Shift makes the capital of, for agents and
// for viewers, also when the small letter was typed before.
func TestShiftedCommands(t *testing.T) {
	for _, layout := range []string{"us", "ru", "gr"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			d, s := openDevice(t, layout)
			w := openWatcher(t, s)
			h := d.NewHolder()
			for _, c := range []struct{ key, want string }{
				{"ctrl+shift+t", "+Shift_L +Control_L +T -T -Control_L -Shift_L"},
				{"ctrl+t", "+Control_L +t -t -Control_L"},
				{"shift+alt+N", "+Shift_L +Meta_L +N -N -Meta_L -Shift_L"},
				{"shift+q", "+Shift_L +Q -Q -Shift_L"},
			} {
				chord, err := ParseKey(c.key)
				if err == nil {
					err = h.Chord(t.Context(), chord, 0)
				}
				if err != nil {
					t.Errorf("%s: %v", c.key, err)
				}
				w.expect(c.want)
			}
			if err := h.Type(t.Context(), "vw"); err != nil {
				t.Fatal(err)
			}
			w.expect("+v -v +w -w")
			press(t, h, keysym.ControlL, keysym.ShiftL)
			strikeKeys(t, h, 'V', 'W')
			w.expect("+Control_L +Shift_L +V -V +W -W")
			if err := h.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestChordLocks(t *testing.T) {
	d, _ := openDevice(t, "us")
	h := d.NewHolder()
	for _, c := range []struct {
		key  string
		want byte
	}{
		{"capslock", x11.Lock},
		{"numlock", x11.Lock | x11.Mod2},
		{"a", x11.Lock | x11.Mod2},
		{"capslock", x11.Mod2},
		{"ctrl", x11.Mod2},
		{"numlock", 0},
	} {
		chord, _ := ParseKey(c.key)
		if err := h.Chord(t.Context(), chord, 0); err != nil {
			t.Error(err)
		}
		if state, _ := d.keyboard.State(); state.Locked != c.want || state.Held != 0 {
			t.Errorf("after %s: %+v, want %#x locked", c.key, state, c.want)
		}
	}
}

func TestChordHold(t *testing.T) {
	d, _ := openDevice(t, "us")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- d.NewHolder().Chord(ctx, Chord{Key: 'a'}, time.Hour) }()
	for len(keysDown(t, d)) == 0 {
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if codes := keysDown(t, d); codes != nil {
		t.Errorf("keys are still down: %v", codes)
	}
}

func TestRelease(t *testing.T) {
	d, s := openDevice(t, "us")
	w := openWatcher(t, s)
	a, b := d.NewHolder(), d.NewHolder()
	press(t, a, keysym.ControlL, 'x', 0x01000436)
	press(t, b, keysym.ControlL, 'y')
	a.Button(1, true)
	b.Button(1, true)
	a.Button(3, true)
	b.Keycode(94, true)
	w.expect("+Control_L +x +U0436 +y +1 +3 +less")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := a.Release(ended); err != nil {
			t.Error(err)
		}
	}
	const controlKey, yKey = 37, 29
	if codes := keysDown(t, d); !slices.Equal(codes, []byte{yKey, controlKey, 94}) {
		t.Errorf("after the first Release keys %v are down", codes)
	}
	w.expect("-3 -U0436 -x")
	if err := b.Release(ended); err != nil {
		t.Error(err)
	}
	w.expect("-less -1 -y -Control_L")
	if codes := keysDown(t, d); codes != nil {
		t.Errorf("after the last Release keys %v are down", codes)
	}
	if len(d.down) != 0 {
		t.Errorf("the device still counts %v", d.down)
	}
}

// A release need not name the keysym that was pressed.
func TestReleaseByOtherKeysym(t *testing.T) {
	d, _ := openDevice(t, "us")
	h := d.NewHolder()
	press(t, h, keysym.ShiftL, 'A')
	h.Key(keysym.ShiftL, false)
	h.Key('b', false) // not held
	h.Key('a', false)
	press(t, h, 'a', 'A', 'a') // a viewer's repeat, then another character of the same key
	h.Key('a', false)
	if codes := keysDown(t, d); codes != nil {
		t.Errorf("keys are still down: %v", codes)
	}
}

func TestRepeat(t *testing.T) {
	d, s := openDevice(t, "us")
	term := openTerminal(t, s)
	h := d.NewHolder()
	press(t, h, 'a', 'a', 'a', 'é')
	h.Key('é', true)
	h.Release(t.Context())
	term.expect("aaaéé")
}

// However many keysyms come, the key map does not grow and nothing is lost that is held.
func TestSpareKeysAreReused(t *testing.T) {
	d, s := openDevice(t, "us")
	term := openTerminal(t, s)
	h := d.NewHolder()
	press(t, h, 0x0100263a)
	term.expect("☺")
	text := printable(0x5000, 0x5000+40)
	for _, r := range text {
		strikeKeys(t, h, keysym.FromRune(r))
	}
	term.expect(text)
	press(t, h, 0x0100263a)
	h.Key(0x0100263a, false)
	term.expect("☺")
	if codes := keysDown(t, d); codes != nil {
		t.Errorf("keys are still down: %v", codes)
	}
	keymap, err := d.keyboard.Map()
	if err != nil {
		t.Fatal(err)
	}
	empty := 0
	for code := int(keymap.Min); code <= int(keymap.Max); code++ {
		if keymap.Keys[code].Empty() {
			empty++
		}
	}
	if empty != leftOver {
		t.Errorf("%d keys are left for other programs, want %d", empty, leftOver)
	}
}

// A second Device on the same X server goes on with the keys that the first filled.
func TestSpareKeysAreFoundAgain(t *testing.T) {
	d, s := openDevice(t, "us")
	text := printable(0x5000, 0x5000+200)
	if err := d.NewHolder().Type(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	conn, err := x11.Dial(s.Display, s.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	second, err := New(conn, func(x, y int) {})
	if err != nil {
		t.Fatal(err)
	}
	term := openTerminal(t, s)
	text = printable(0x6000, 0x6000+200)
	if err := second.NewHolder().Type(t.Context(), text); err != nil {
		t.Error(err)
	}
	term.expect(text)
	if got, want := len(second.spares.slots), len(d.spares.slots); got != want {
		t.Errorf("the second device has %d places for characters, the first had %d", got, want)
	}
}

// Another layout may come at any time.
func TestLayoutChanges(t *testing.T) {
	d, s := openDevice(t, "us")
	term := openTerminal(t, s)
	for _, layout := range []string{"us", "de", "us,ru", "fr", "us"} {
		setLayout(t, s, layout)
		text := "y<>|@{}~ é ж 测 " + printable(0x5000, 0x5000+200)
		if err := d.NewHolder().Type(t.Context(), text); err != nil {
			t.Error(err)
		}
		term.expect(text)
	}
}

func TestTypingDoesNotMix(t *testing.T) {
	d, s := openDevice(t, "us")
	term := openTerminal(t, s)
	const line = "Quick Brown é 测 Fox\n"
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if err := d.NewHolder().Type(t.Context(), line); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	term.expect(strings.Repeat(line, 40))
}

func TestTypeRefuses(t *testing.T) {
	d, _ := openDevice(t, "us")
	h := d.NewHolder()
	if err := h.Type(t.Context(), "ab\x07c"); err == nil || !strings.Contains(err.Error(), "U+0007 (BEL) at character 3") {
		t.Errorf("a bell: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Type(ctx, strings.Repeat("x", 1000)); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "of 1000 characters") {
		t.Errorf("with an ended context: %v", err)
	}
	if err := h.Button(10, true); err == nil {
		t.Error("button 10 was pressed")
	}
	if err := h.Keycode(7, true); err == nil {
		t.Error("keycode 7 was pressed")
	}
}

// Whatever happens to the X server, every call comes back with an error in 5 s.
func TestServerFails(t *testing.T) {
	for name, fail := range map[string]func(testing.TB, int, func()){
		"dies":  func(t testing.TB, pid int, kill func()) { kill() },
		"hangs": func(t testing.TB, pid int, kill func()) { stop(t, pid) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := openDevice(t, "us")
			openTerminal(t, s)
			h := d.NewHolder()
			typed := make(chan error)
			begun := make(chan bool, 1)
			go func() {
				for {
					if err := h.Type(t.Context(), mixed(300)); err != nil {
						typed <- err
						return
					}
					select {
					case begun <- true:
					default:
					}
				}
			}()
			<-begun
			begin := time.Now()
			fail(t, s.PID, s.Kill)
			if err := <-typed; !errors.Is(err, x11.ErrClosed) {
				t.Errorf("Type: %v, want ErrClosed", err)
			}
			<-d.conn.Done()
			for call, err := range map[string]error{
				"Key": h.Key('a', true), "Move": h.Move(1, 1), "Button": h.Button(1, true), "Sync": d.Sync(),
				"Chord": h.Chord(t.Context(), Chord{Key: 'a'}, 0), "Keycode": h.Keycode(30, true),
				"Release": h.Release(t.Context()),
			} {
				if !errors.Is(err, x11.ErrClosed) {
					t.Errorf("%s: %v, want ErrClosed", call, err)
				}
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestPointer(t *testing.T) {
	d, s := openDevice(t, "us")
	var moves []image.Point
	d.onMove = func(x, y int) { moves = append(moves, image.Pt(x, y)) }
	w := openWatcher(t, s)
	h := d.NewHolder()
	for _, c := range []struct {
		x, y int
		want image.Point
	}{
		{0, 0, image.Pt(0, 0)},
		{1279, 799, image.Pt(1279, 799)},
		{640, 400, image.Pt(640, 400)},
		{-5, 5000, image.Pt(0, 799)},
		{65535, 65535, image.Pt(1279, 799)},
	} {
		if err := h.Move(c.x, c.y); err != nil {
			t.Error(err)
		}
		w.expect(fmt.Sprintf("%d,%d", c.want.X, c.want.Y))
		if got := moves[len(moves)-1]; got != c.want {
			t.Errorf("Move(%d, %d) was reported as %v, want %v", c.x, c.y, got, c.want)
		}
	}
	for button := 1; button <= 9; button++ {
		if err := h.Click(t.Context(), button, 2); err != nil {
			t.Error(err)
		}
		w.expect(strings.ReplaceAll("+N -N +N -N", "N", strconv.Itoa(button)))
	}
	// S2-29: the sign of an amount is a direction here.
	for direction, want := range map[Direction]string{Up: "+4 -4 +4 -4", Down: "+5 -5 +5 -5", Left: "+6 -6 +6 -6", Right: "+7 -7 +7 -7"} {
		if err := h.Scroll(direction, 2); err != nil {
			t.Error(err)
		}
		w.expect(want)
	}
}

func TestDrag(t *testing.T) {
	d, s := openDevice(t, "us")
	w := openWatcher(t, s)
	h := d.NewHolder()
	if err := h.Drag(t.Context(), 1, image.Pt(100, 100), image.Pt(180, 60), 0); err != nil {
		t.Error(err)
	}
	w.expect("100,100 +1 110,95 120,90 130,85 140,80 150,75 160,70 170,65 180,60 -1")

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := h.Drag(ctx, 3, image.Pt(100, 100), image.Pt(1000, 100), time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a drag that is cut short: %v", err)
	}
	w.expect("100,100 +3 -3")
}
