package input

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

// CheckText reports why a text cannot be typed: it is not UTF-8, or it has a
// control character that no key stands for. Newline (Enter), tab (Tab) and carriage return (nothing,
// so that CR LF is one Enter) can be typed. The error names the code point and its
// place, counted in characters from 1.
func CheckText(text string) error {
	place := 0
	for i, r := range text {
		place++
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return fmt.Errorf("the text is not valid UTF-8 at character %d (byte 0x%02X)", place, text[i])
			}
		}
		if name, ok := controlName(r); ok && r != '\n' && r != '\t' && r != '\r' {
			return fmt.Errorf("the control character %U (%s) at character %d cannot be typed", r, name, place)
		}
	}
	return nil
}

// textKeys returns the keysyms to strike for a text that CheckText passed.
func textKeys(text string) []uint32 {
	syms := make([]uint32, 0, len(text))
	for _, r := range text {
		switch r {
		case '\n':
			syms = append(syms, keysym.Return)
		case '\t':
			syms = append(syms, keysym.Tab)
		case '\r':
		default:
			syms = append(syms, keysym.FromRune(r))
		}
	}
	return syms
}

// The abbreviations of the control characters (ISO/IEC 6429), from U+0000 and from
// U+007F.
var (
	controls0 = strings.Fields(`NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI
		DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US`)
	controls1 = strings.Fields(`DEL PAD HOP BPH NBH IND NEL SSA ESA HTS HTJ VTS PLD PLU RI SS2 SS3
		DCS PU1 PU2 STS CCH MW SPA EPA SOS SGC SCI CSI ST OSC PM APC`)
)

func controlName(r rune) (name string, ok bool) {
	switch {
	case r >= 0 && r < 0x20:
		return controls0[r], true
	case r >= 0x7f && r < 0xa0:
		return controls1[r-0x7f], true
	}
	return "", false
}
