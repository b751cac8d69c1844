package input

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input/keysym"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// printable is every printable character from one code point to another.
func printable(from, to rune) string {
	var b strings.Builder
	for r := from; r <= to; r++ {
		if _, control := controlName(r); !control {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var texts = map[string]string{
	"ascii":     printable(0x20, 0x7e),
	"data":      "--help -n $(id) `id` '\"' ~ ^ <>|@{}~ \\n %s",
	"latin1":    printable(0xa0, 0xff),
	"accents":   "ÀÉÎÕÜ ß Ø ø Š Ñandú ñ ÆØÅ æøå",
	"greek":     "Ελληνικά άέήίόύώ ΑΒΓ σς",
	"cyrillic":  "Съешь же ещё этих мягких французских булок, да выпей чаю ЖЩЁ",
	"cjk":       "测试文字 日本語を入力する 한국어 繁體",
	"combining": "e\u0301 a\u0308 o\u0302\u0323 n\u0303",
	"emoji":     "😀🎉👩‍👩‍👧🇩🇪🏳️‍🌈👍🏽",
	"lines":     "a\tb\nc\r\nd",
	"many":      printable(0x5000, 0x5000+299), // more than fit on the spare keys
}

// states are what a person may have left the keyboard in.
var states = map[string]struct {
	layout  string
	mods    byte // locked
	group   byte
	holding []uint32
}{
	"us":                {layout: "us"},
	"de":                {layout: "de"},
	"fr":                {layout: "fr"},
	"ru":                {layout: "ru"},
	"gr":                {layout: "gr"},
	"us of us,ru":       {layout: "us,ru"},
	"ru of us,ru":       {layout: "us,ru", group: 1},
	"caps us":           {layout: "us", mods: x11.Lock},
	"caps de":           {layout: "de", mods: x11.Lock},
	"caps fr":           {layout: "fr", mods: x11.Lock | x11.Mod2},
	"caps us of us,ru":  {layout: "us,ru", mods: x11.Lock},
	"caps ru of us,ru":  {layout: "us,ru", mods: x11.Lock, group: 1},
	"shift locked":      {layout: "us", mods: x11.Shift},
	"altgr locked":      {layout: "de", mods: x11.Mod5},
	"shift held":        {layout: "us", holding: []uint32{keysym.ShiftL}},
	"ctrl and alt held": {layout: "us", holding: []uint32{keysym.ControlL, keysym.AltL}},
	"altgr held":        {layout: "de", holding: []uint32{keysym.ISOLevel3Shift}},
	"a key held":        {layout: "de", holding: []uint32{'a', 0xdf, 0x0101f600}},
}

// S0-79: any text arrives, whatever the keyboard's layout and state.
func TestTypeTerminal(t *testing.T) {
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := openDevice(t, state.layout)
			term := openTerminal(t, s)
			d.keyboard.SetLocks(0xff, state.mods)
			d.keyboard.SetGroup(state.group)
			viewer := d.NewHolder()
			for _, sym := range state.holding {
				if err := viewer.Key(sym, true); err != nil {
					t.Fatal(err)
				}
				if r, ok := keysym.Rune(sym); ok {
					term.expect(string(r))
				}
			}
			before, _ := d.keyboard.State()
			for name, text := range texts {
				begin := time.Now()
				if err := d.NewHolder().Type(t.Context(), text); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				took := time.Since(begin)
				term.expect(strings.ReplaceAll(text, "\r", ""))
				t.Logf("%s: struck in %v, arrived in %v", name, took, time.Since(begin))
				if after, _ := d.keyboard.State(); after != before {
					t.Errorf("%s: the keyboard's state was %+v, is %+v", name, before, after)
				}
			}
			if err := viewer.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if down, _ := d.conn.KeysDown(); down != (x11.KeySet{}) {
				t.Errorf("keys are still down: %v", down)
			}
		})
	}
}

// fewStates are enough where what differs is the program.
var fewStates = []string{"us", "caps de", "caps fr", "ru of us,ru", "caps ru of us,ru", "altgr locked"}

func TestTypeGTK(t *testing.T) {
	for _, name := range fewStates {
		state := states[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := openDevice(t, state.layout)
			d.keyboard.SetLocks(0xff, state.mods)
			d.keyboard.SetGroup(state.group)
			var want strings.Builder
			field := openField(t, s)
			for name, text := range texts {
				text = strings.ReplaceAll(text, "\t", "")
				begin := time.Now()
				if err := d.NewHolder().Type(t.Context(), text); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				t.Logf("%s: struck in %v", name, time.Since(begin))
				want.WriteString(strings.ReplaceAll(text, "\r", ""))
			}
			field.expect(d, want.String())
		})
	}
}

func TestTypeChromium(t *testing.T) {
	for _, name := range []string{"caps de", "ru of us,ru"} {
		state := states[name]
		t.Run(name, func(t *testing.T) {
			d, s := openDevice(t, state.layout)
			d.keyboard.SetLocks(0xff, state.mods)
			d.keyboard.SetGroup(state.group)
			page := openPage(t, s)
			want := ""
			for name, text := range texts {
				text = strings.ReplaceAll(text, "\t", "")
				begin := time.Now()
				if err := d.NewHolder().Type(t.Context(), text); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				want += strings.ReplaceAll(text, "\r", "")
				page.expect(want)
				t.Logf("%s: arrived in %v", name, time.Since(begin))
			}
		})
	}
}

// A line that starts a program is followed by lines for that program.
func TestTypeAheadOfAProgram(t *testing.T) {
	xvfbtest.Need(t, "xterm", "bash")
	d, s := openDevice(t, "us")
	dir := t.TempDir()
	cmd := s.Command("xterm", "-u8", "-T", "shell", "-e", "bash", "--norc", "--noprofile", "-i")
	cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8")
	cmd.Dir = dir
	start(t, cmd)
	focus(t, s, "shell")
	h := d.NewHolder()
	if err := h.Type(t.Context(), "touch ready\n"); err != nil {
		t.Fatal(err)
	}
	wait := func(name string) string {
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			// The shell makes the file with its first line, cat writes at its end.
			if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				return string(text)
			}
			if time.Now().After(deadline) {
				t.Fatalf("no file %s", name)
			}
		}
	}
	wait("ready")
	for round := range 30 {
		text := fmt.Sprintf("cat > got; mv got %d\nfirst line\nsecond é\n", round)
		if err := h.Type(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if err := h.Chord(t.Context(), Chord{Modifiers: []uint32{keysym.ControlL}, Key: 'd'}, 0); err != nil {
			t.Fatal(err)
		}
		if got := wait(fmt.Sprint(round)); got != "first line\nsecond é\n" {
			t.Errorf("round %d: the file holds %q", round, got)
		}
	}
}
