package input

import (
	"slices"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

// S0-80, S2-31.
func TestParseKey(t *testing.T) {
	const ctrl, shift, alt, super = keysym.ControlL, keysym.ShiftL, keysym.AltL, keysym.SuperL
	for _, c := range []struct {
		name string
		want uint32
		mods []uint32
	}{
		{name: "enter", want: keysym.Return},
		{name: "Enter", want: keysym.Return},
		{name: "Return", want: keysym.Return},
		{name: "esc", want: 0xff1b},
		{name: "f5", want: 0xffc2},
		{name: "F12", want: 0xffc9},
		{name: "PageUp", want: 0xff55},
		{name: "page_up", want: 0xff55},
		{name: "pgdn", want: 0xff56},
		{name: "ArrowLeft", want: 0xff51},
		{name: "backspace", want: 0xff08},
		{name: "space", want: 0x20},
		{name: " ", want: 0x20},
		{name: "\n", want: keysym.Return},
		{name: "\t", want: keysym.Tab},
		{name: "caps lock", want: 0xffe5},
		{name: "ISO_Left_Tab", want: keysym.ISOLeftTab},
		{name: "XF86AudioMute", want: 0x1008ff12},
		{name: "U20AC", want: 0x010020ac},
		{name: "U+20AC", want: 0x010020ac},
		{name: "a", want: 'a'},
		{name: "A", want: 'A'},
		{name: "ß", want: 0xdf},
		{name: "ж", want: 0x01000436},
		{name: "+", want: '+'},
		{name: "-", want: '-'},
		{name: "plus", want: '+'},
		{name: "ctrl", want: ctrl},
		{name: "cmd", want: super},
		{name: "shift", want: shift},
		{name: "ctrl+l", want: 'l', mods: []uint32{ctrl}},
		{name: "Ctrl+Shift+T", want: 't', mods: []uint32{ctrl, shift}},
		{name: "ctrl+Delete", want: 0xffff, mods: []uint32{ctrl}},
		{name: "ctrl++", want: '+', mods: []uint32{ctrl}},
		{name: "ctrl+plus", want: '+', mods: []uint32{ctrl}},
		{name: "alt+F4", want: 0xffc1, mods: []uint32{alt}},
		{name: "option + tab", want: keysym.Tab, mods: []uint32{alt}},
		{name: "cmd+win+meta+super+a", want: 'a', mods: []uint32{super, super, super, super}},
		{name: "ctrl+U+20AC", want: 0x010020ac, mods: []uint32{ctrl}},
		{name: "shift+eacute", want: 0xe9, mods: []uint32{shift}},
	} {
		got, err := ParseKey(c.name)
		if err != nil || got.Key != c.want || !slices.Equal(got.Modifiers, c.mods) {
			t.Errorf("ParseKey(%q) = %#x, %v, want %#x with %#x", c.name, got, err, c.want, c.mods)
		}
	}
}

// An error shows the beginning of a name that is none, however long it is.
func TestParseKeyErrorIsShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, name := range []string{long, long + "+a", "ctrl+" + long, strings.Repeat("x+", 1<<19) + "a"} {
		if _, err := ParseKey(name); err == nil || len(err.Error()) > 300 {
			t.Errorf("ParseKey(%.10q...): %.400v", name, err)
		}
	}
	if _, err := ParseModifier("foo"); err == nil || !strings.Contains(err.Error(), "super") {
		t.Errorf("ParseModifier: %v", err)
	}
}

func TestParseKeyRefuses(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"entr", `there is no key "entr" (did you mean "enter"`},
		{"retrun", `(did you mean "return"`},
		{"ctrl+entr", `there is no key "entr" (did you mean "enter"`},
		{"ctl+l", `key "ctl+l": there is no modifier "ctl" (did you mean "ctrl"?)`},
		{"", `there is no key ""`},
		{"ctrl+", `there is no key ""`},
		{"+a", `there is no modifier ""`},
		{"\x07", `there is no key "\a"`},
		{strings.Repeat("x", 1000), "there is no key"},
	} {
		_, err := ParseKey(c.name)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseKey(%q): %v, want an error with %s", c.name, err, c.want)
		}
	}
}

// S0-81.
func TestParseModifier(t *testing.T) {
	for name, want := range map[string]uint32{
		"ctrl": keysym.ControlL, "Control": keysym.ControlL, "alt": keysym.AltL, "option": keysym.AltL,
		"SHIFT": keysym.ShiftL, "super": keysym.SuperL, "cmd": keysym.SuperL, "meta": keysym.SuperL, "win": keysym.SuperL,
		"altgr": keysym.ISOLevel3Shift, "Control_R": keysym.ControlR,
	} {
		if got, err := ParseModifier(name); err != nil || got != want {
			t.Errorf("ParseModifier(%q) = %#x, %v, want %#x", name, got, err, want)
		}
	}
	for _, name := range []string{"", "a", "hyperdrive", "Return", "ctrl+alt"} {
		if got, err := ParseModifier(name); err == nil {
			t.Errorf("ParseModifier(%q) = %#x, want an error", name, got)
		}
	}
}

// S2-41: what cannot be typed is refused by name and place.
func TestCheckText(t *testing.T) {
	for _, text := range []string{"", "plain", "a\tb\nc\r\n", "--help 'x' \"y\" $(id) `id`", "Ñandú \u0301 を 😀 👩‍👩‍👧", "\ufffd"} {
		if err := CheckText(text); err != nil {
			t.Errorf("CheckText(%q): %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"é\x07":        "the control character U+0007 (BEL) at character 2 cannot be typed",
		"\x00":         "the control character U+0000 (NUL) at character 1 cannot be typed",
		"ab\x1b[A":     "the control character U+001B (ESC) at character 3 cannot be typed",
		"\u007f":       "the control character U+007F (DEL) at character 1 cannot be typed",
		"a\u0085":      "the control character U+0085 (NEL) at character 2 cannot be typed",
		"\u009f":       "the control character U+009F (APC) at character 1 cannot be typed",
		"é\xffrest":    "the text is not valid UTF-8 at character 2 (byte 0xFF)",
		"\xed\xa0\x80": "the text is not valid UTF-8 at character 1 (byte 0xED)",
	} {
		if err := CheckText(text); err == nil || err.Error() != want {
			t.Errorf("CheckText(%q): %v, want %s", text, err, want)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, name := range []string{"enter", "ctrl+shift+t", "ctrl++", "++", "U+20AC", "entr", "é"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c, err := ParseKey(name)
		if err == nil && c.Key == keysym.None {
			t.Errorf("ParseKey(%q) gave no key and no error", name)
		}
		for _, m := range c.Modifiers {
			if !isModifier(m) {
				t.Errorf("ParseKey(%q) gave the modifier %s", name, keysym.Name(m))
			}
		}
	})
}

func FuzzCheckText(f *testing.F) {
	for _, text := range []string{"plain", "a\r\nb\tc", "\x1b", "\xff", "😀"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if CheckText(text) != nil {
			return
		}
		var typed strings.Builder
		for _, sym := range textKeys(text) {
			switch r, ok := keysym.Rune(sym); {
			case ok:
				typed.WriteRune(r)
			case sym == keysym.Return:
				typed.WriteByte('\n')
			case sym == keysym.Tab:
				typed.WriteByte('\t')
			default:
				t.Errorf("CheckText passed %q, which has no key for %s", text, keysym.Name(sym))
			}
		}
		if want := strings.ReplaceAll(text, "\r", ""); typed.String() != want {
			t.Errorf("%q becomes the keys of %q", text, typed.String())
		}
	})
}
