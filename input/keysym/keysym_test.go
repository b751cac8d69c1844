package keysym

import (
	"testing"
	"unicode/utf8"
)

func TestRuneRoundTrip(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		got, ok := Rune(FromRune(r))
		control := r < 0x20 || r >= 0x7f && r < 0xa0
		if want := utf8.ValidRune(r) && !control; ok != want || ok && got != r {
			t.Fatalf("Rune(FromRune(%U)) = %U, %v, want ok = %v", r, got, ok, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ sym, want uint32 }{
		{0x61, 0x61},
		{0x06c1, 0x01000430},     // Cyrillic_a
		{0x20ac, 0x010020ac},     // EuroSign
		{0x010020ac, 0x010020ac}, // the same by code point
		{0x01000041, 0x41},       // A, written the long way
		{0x07e1, 0x010003b1},     // Greek_alpha
		{Return, Return},
		{0xffb1, 0xffb1}, // KP_1 is not the character 1
		{0x0100d800, 0x0100d800},
		{0xffffffff, 0xffffffff},
	} {
		if got := Canonical(c.sym); got != c.want {
			t.Errorf("Canonical(%#x) = %#x, want %#x", c.sym, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name string
		want uint32 // None: refused
	}{
		{"Return", Return},
		{"return", Return},
		{"RETURN", Return},
		{"ISO_Left_Tab", ISOLeftTab},
		{"XF86AudioMute", 0x1008ff12},
		{"xf86audiomute", 0x1008ff12},
		{"a", 'a'},
		{"A", 'A'},
		{"é", 0xe9},
		{"€", 0x010020ac},
		{"😀", 0x0101f600},
		{" ", 0x20},
		{"eacute", 0xe9},
		{"Eacute", 0xc9},
		{"EACUTE", None}, // eacute or Eacute?
		{"U20AC", 0x010020ac},
		{"u+20ac", 0x010020ac},
		{"U0041", 'A'},
		{"U000A", None},
		{"UD800", None},
		{"U110000", None},
		{"U+", None},
		{"U", 'U'},
		{"", None},
		{"nonsense", None},
		{"\n", None},
		{"\xff", None},
	} {
		got, ok := Parse(c.name)
		if got != c.want && ok || ok != (c.want != None) {
			t.Errorf("Parse(%q) = %#x, %v, want %#x", c.name, got, ok, c.want)
		}
	}
}

func TestNameParsesBack(t *testing.T) {
	for _, name := range Names() {
		sym, ok := Parse(name)
		if !ok {
			t.Errorf("Parse(%q) refused a name of the headers", name)
		}
		if back, ok := Parse(Name(sym)); !ok || back != sym {
			t.Errorf("Parse(Name(%#x) = %q) = %#x, %v", sym, Name(sym), back, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"Return", "U20AC", "u+1f600", "A", "😀", "Ureset"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		sym, ok := Parse(name)
		if !ok {
			return
		}
		if back, ok := Parse(Name(sym)); !ok || Canonical(back) != Canonical(sym) {
			t.Errorf("Parse(%q) = %#x, named %q, which gives %#x, %v", name, sym, Name(sym), back, ok)
		}
	})
}
