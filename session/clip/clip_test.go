package clip

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShortTextIsKept(t *testing.T) {
	for _, s := range []string{"", "a", strings.Repeat("ä", Keep), "x" + strings.Repeat("ä", Keep-1)} {
		if got, dropped := Text(s); got != s || dropped != 0 {
			t.Errorf("%d bytes: %d bytes left, %d dropped", len(s), len(got), dropped)
		}
	}
}

// S0x.13: cuts never split a character, whatever their offset, and what is kept and
// what is dropped adds up (S0-98).
func TestCutsAreBetweenCharacters(t *testing.T) {
	for _, char := range []string{"a", "ä", "€", "😀"} {
		for shift := range 5 {
			s := strings.Repeat("x", shift) + strings.Repeat(char, 3*Keep/len(char))
			text, dropped := Text(s)
			head, tail, ok := strings.Cut(text, Marker(dropped))
			if !ok || strings.ContainsRune(text, utf8.RuneError) {
				t.Fatalf("%s shifted by %d: no marker, or a split character", char, shift)
			}
			if int64(len(head)+len(tail))+dropped != int64(len(s)) {
				t.Errorf("%s shifted by %d: %d + %d kept, %d dropped of %d", char, shift, len(head), len(tail), dropped, len(s))
			}
			if len(head) <= Keep-utf8.UTFMax || len(head) > Keep || len(tail) <= Keep-utf8.UTFMax || len(tail) > Keep {
				t.Errorf("%s shifted by %d: head %d, tail %d", char, shift, len(head), len(tail))
			}
			if !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
				t.Errorf("%s shifted by %d: other text", char, shift)
			}
		}
	}
}

func TestInvalidBytesAreReplaced(t *testing.T) {
	if got, _ := Text("a\xffb\xc3"); got != "a\uFFFDb\uFFFD" {
		t.Errorf("%q", got)
	}
}

// Text comes in pieces of any size; the result is that of the whole.
func FuzzPieces(f *testing.F) {
	f.Add([]byte("some text"), uint16(3))
	f.Add(bytes.Repeat([]byte("ä€😀"), Keep/2), uint16(7000))
	f.Add(bytes.Repeat([]byte{0x80}, 3*Keep), uint16(65535))
	f.Fuzz(func(t *testing.T, text []byte, size uint16) {
		want, dropped := Text(string(text))
		var w Writer
		for rest := text; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			w.Write(rest[:n])
			rest = rest[n:]
		}
		if got, d := w.Text(); got != want || d != dropped {
			t.Errorf("in pieces of %d: %d bytes, want %d", size, len(got), len(want))
		}
		if !utf8.ValidString(want) || dropped < 0 {
			t.Errorf("not valid, or %d dropped", dropped)
		}
	})
}
