// Package keysym knows the X Window System's names for what keys stand for: a
// keysym is a number such as 0xff0d (Return) or 0x61 (a). Characters beyond Latin-1
// have the keysym 0x01000000 + code point; about 900 of them have an older
// keysym too (X Window System Protocol, appendix A), which keyboard layouts
// still use.
package keysym

//go:generate sh -c "go run gen.go /usr/include/X11/keysymdef.h /usr/include/X11/XF86keysym.h > keysyms.txt"

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Keysyms that have a meaning of their own for this program.
const (
	None           = 0 // what no key stands for
	ISOLevel3Shift = 0xfe03
	ISOLevel5Shift = 0xfe11
	ISOLeftTab     = 0xfe20 // what Shift with Tab gives
	Tab            = 0xff09
	Return         = 0xff0d
	ShiftL         = 0xffe1
	ShiftR         = 0xffe2
	ControlL       = 0xffe3
	ControlR       = 0xffe4
	MetaL          = 0xffe7
	MetaR          = 0xffe8
	AltL           = 0xffe9
	AltR           = 0xffea
	SuperL         = 0xffeb
	SuperR         = 0xffec
	HyperL         = 0xffed
	HyperR         = 0xffee
)

// unicodeBase is added to a code point to make its keysym.
const unicodeBase = 0x01000000

//go:embed keysyms.txt
var list string

type tables struct {
	byName map[string]uint32
	folded map[string][]string // lower case to the names spelled so
	names  []string            // sorted
	name   map[uint32]string   // the name to prefer
	runes  map[uint32]rune     // the characters of the older keysyms
}

var load = sync.OnceValue(func() *tables {
	t := &tables{
		byName: make(map[string]uint32),
		folded: make(map[string][]string),
		name:   make(map[uint32]string),
		runes:  make(map[uint32]rune),
	}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		value, err := strconv.ParseUint(fields[1], 16, 32)
		if err != nil {
			panic("keysyms.txt: " + err.Error())
		}
		name, sym := fields[0], uint32(value)
		if _, ok := t.byName[name]; !ok {
			folded := strings.ToLower(name)
			t.folded[folded] = append(t.folded[folded], name)
			t.names = append(t.names, name)
		}
		t.byName[name] = sym
		if _, ok := t.name[sym]; !ok {
			t.name[sym] = name
		}
		if len(fields) == 3 {
			r, err := strconv.ParseUint(fields[2], 16, 32)
			if err != nil {
				panic("keysyms.txt: " + err.Error())
			}
			t.runes[sym] = rune(r)
		}
	}
	slices.Sort(t.names)
	return t
})

// FromRune returns the keysym of a character: of Latin-1 the code itself, of any
// other its Unicode keysym.
func FromRune(r rune) uint32 {
	if r >= 0x20 && r < 0x7f || r >= 0xa0 && r < 0x100 {
		return uint32(r)
	}
	return unicodeBase + uint32(r)
}

// Rune returns the character that a keysym stands for and whether it stands for
// one. Return, Tab and the keys of the keypad stand for none.
func Rune(sym uint32) (rune, bool) {
	switch {
	case sym >= 0x20 && sym < 0x7f || sym >= 0xa0 && sym < 0x100:
		return rune(sym), true
	case sym >= unicodeBase && sym <= unicodeBase+utf8.MaxRune:
		r := rune(sym - unicodeBase)
		return r, utf8.ValidRune(r) && r >= 0x20 && (r < 0x7f || r >= 0xa0)
	}
	r, ok := load().runes[sym]
	return r, ok
}

// Canonical returns the one keysym that stands for the same character, and any
// other keysym unchanged. Two keysyms mean the same if their canonical forms are equal.
func Canonical(sym uint32) uint32 {
	if r, ok := Rune(sym); ok {
		return FromRune(r)
	}
	return sym
}

// Parse returns the keysym of a name of the X headers (Return, eacute,
// XF86AudioMute), of "U" and a code point in hexadecimal (U20AC, U+20AC), or of a single character.
// Case may differ where only one key is meant. ok is false for any other name.
func Parse(name string) (sym uint32, ok bool) {
	if r, size := utf8.DecodeRuneInString(name); size == len(name) && r != utf8.RuneError {
		sym := FromRune(r)
		_, ok := Rune(sym)
		return sym, ok
	}
	t := load()
	if sym, ok := t.byName[name]; ok {
		return sym, sym != None
	}
	if alike := t.folded[strings.ToLower(name)]; len(alike) > 0 {
		sym := t.byName[alike[0]]
		for _, other := range alike[1:] {
			if t.byName[other] != sym {
				return None, false
			}
		}
		return sym, true
	}
	if digits, found := strings.CutPrefix(strings.ToUpper(name), "U"); found {
		digits = strings.TrimPrefix(digits, "+")
		if r, err := strconv.ParseUint(digits, 16, 32); err == nil && len(digits) >= 4 && r <= utf8.MaxRune {
			sym := FromRune(rune(r))
			_, ok := Rune(sym)
			return sym, ok
		}
	}
	return None, false
}

// Name returns the name of a keysym: that of the X headers, or "U20AC", or a number
// such as "0x10000001".
func Name(sym uint32) string {
	if name, ok := load().name[sym]; ok {
		return name
	}
	if r, ok := Rune(sym); ok {
		return fmt.Sprintf("U%04X", r)
	}
	return fmt.Sprintf("%#x", sym)
}

// Names returns the names of the X headers, sorted. The caller must not change them.
func Names() []string { return load().names }
