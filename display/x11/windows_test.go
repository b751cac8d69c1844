package x11

import (
	"testing"
	"unicode/utf8"
)

func TestOldText(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"plain":                        "plain",
		"caf\xe9":                      "café",
		"a \x1b%G\xe2\x9c\x93\x1b%@ b": "a ✓ b",
		"\x1b%G\xe2\x9c\x93":           "✓",
		"x \x1b$(BAk\x1b(B \xe9":       "x \uFFFD é", // a section in JIS X 0208
		"\x1b":                         "\uFFFD",
	} {
		if got := oldText([]byte(in)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestClassOf(t *testing.T) {
	for in, want := range map[string]string{
		"xterm\x00XTerm\x00": "XTerm",
		"xterm\x00XTerm":     "XTerm",
		"xterm\x00\x00":      "xterm",
		"xterm":              "xterm",
		"":                   "",
	} {
		if got := classOf([]byte(in)); got != want {
			t.Errorf("%q has class %q, want %q", in, got, want)
		}
	}
}

func FuzzOldText(f *testing.F) {
	f.Add([]byte("a \x1b%G\xe2\x9c\x93\x1b%@ b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := utf8.RuneCountInString(oldText(b)); n > len(b) {
			t.Errorf("%q became %d runes", b, n)
		}
	})
}
