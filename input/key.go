package input

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

// Chord is a key that is struck while modifiers are held.
type Chord struct {
	Modifiers []uint32 // keysyms of modifier keys
	Key       uint32   // keysym
}

// modifiers are the names of modifiers. Keyboards of other systems have other
// words for the key in the same place.
var modifiers = map[string]uint32{
	"ctrl": keysym.ControlL, "control": keysym.ControlL,
	"alt": keysym.AltL, "option": keysym.AltL,
	"shift": keysym.ShiftL,
	"super": keysym.SuperL, "cmd": keysym.SuperL, "command": keysym.SuperL,
	"meta": keysym.SuperL, "win": keysym.SuperL, "windows": keysym.SuperL,
	"altgr": keysym.ISOLevel3Shift,
}

// keys are the names of keys beside those of the X headers: what people,
// other programs and web pages call them. Spaces, "_" and "-" in a name do not count.
var keys = map[string]string{
	"enter": "Return", "esc": "Escape", "del": "Delete", "ins": "Insert", "spacebar": "space",
	"pageup": "Page_Up", "pgup": "Page_Up", "pagedown": "Page_Down", "pgdn": "Page_Down", "pgdown": "Page_Down",
	"arrowup": "Up", "arrowdown": "Down", "arrowleft": "Left", "arrowright": "Right",
	"uparrow": "Up", "downarrow": "Down", "leftarrow": "Left", "rightarrow": "Right",
	"capslock": "Caps_Lock", "numlock": "Num_Lock", "scrolllock": "Scroll_Lock",
	"printscreen": "Print", "prtsc": "Print", "prtscr": "Print", "sysrq": "Sys_Req",
	"apps": "Menu", "contextmenu": "Menu", "backtab": "ISO_Left_Tab",
	"dot": "period", "dash": "minus", "hyphen": "minus", "equals": "equal", "tilde": "asciitilde",
	"backtick": "grave", "backquote": "grave", "quote": "apostrophe",
	"hash": "numbersign", "caret": "asciicircum", "pipe": "bar", "openbracket": "bracketleft", "closebracket": "bracketright",
	"volumeup": "XF86AudioRaiseVolume", "volumedown": "XF86AudioLowerVolume", "volumemute": "XF86AudioMute", "mute": "XF86AudioMute",
	"playpause": "XF86AudioPlay", "nexttrack": "XF86AudioNext", "previoustrack": "XF86AudioPrev",
	"browserback": "XF86Back", "browserforward": "XF86Forward",
}

// fold takes out of a name what does not count.
var fold = strings.NewReplacer(" ", "", "_", "", "-", "")

// ParseKey reads the name of a key, alone ("enter", "f5", "A", "XF86AudioMute", "U20AC") or after
// modifiers ("ctrl+l", "ctrl+shift+t", "ctrl++"). Case does not count but in single characters: "A"
// is the capital letter; with modifiers it is the key a, as in "ctrl+A".
// The error names the value and suggests names that are close.
func ParseKey(name string) (Chord, error) {
	parts := splitChord(name)
	var c Chord
	for _, part := range parts[:len(parts)-1] {
		m, err := ParseModifier(part)
		if err != nil {
			return Chord{}, fmt.Errorf("key %.40q: %w", name, err)
		}
		c.Modifiers = append(c.Modifiers, m)
	}
	key := parts[len(parts)-1]
	sym, ok := parseOne(key)
	if !ok {
		return Chord{}, fmt.Errorf("there is no key %.40q%s", key, suggest(key, keyNames()))
	}
	c.Key = sym
	if r, ok := keysym.Rune(sym); ok && len(c.Modifiers) > 0 && utf8.RuneCountInString(key) == 1 {
		c.Key = keysym.FromRune(unicode.ToLower(r))
	}
	return c, nil
}

// ParseModifier reads the name of a modifier (ctrl, alt, shift, super, their aliases, or an X
// name such as Control_R) and returns the keysym of its key.
func ParseModifier(name string) (uint32, error) {
	if sym, ok := modifiers[strings.ToLower(strings.TrimSpace(name))]; ok {
		return sym, nil
	}
	if sym, ok := keysym.Parse(strings.TrimSpace(name)); ok && isModifier(sym) {
		return sym, nil
	}
	return 0, fmt.Errorf("there is no modifier %.40q%s", name, cmp.Or(suggest(name, modifierNames()), "; there are ctrl, alt, shift and super"))
}

// splitChord cuts at the plus signs that join keys, not at one that is the key or is
// part of U+20AC.
func splitChord(name string) []string {
	if before, ok := strings.CutSuffix(name, "++"); ok && before != "" {
		return append(strings.Split(before, "+"), "+")
	}
	if name == "+" {
		return []string{name}
	}
	parts := strings.Split(name, "+")
	if n := len(parts); n > 1 && strings.EqualFold(parts[n-2], "u") {
		return append(parts[:n-2], "U+"+parts[n-1])
	}
	return parts
}

// parseOne reads the name of one key.
func parseOne(name string) (uint32, bool) {
	if utf8.RuneCountInString(name) != 1 {
		name = strings.TrimSpace(name)
		folded := fold.Replace(strings.ToLower(name))
		if sym, ok := modifiers[folded]; ok {
			return sym, true
		}
		if alias, ok := keys[folded]; ok {
			name = alias
		}
	}
	switch name {
	case "\n":
		return keysym.Return, true
	case "\t":
		return keysym.Tab, true
	}
	return keysym.Parse(name)
}

func isModifier(sym uint32) bool {
	return sym >= keysym.ShiftL && sym <= keysym.HyperR || sym == keysym.ISOLevel3Shift || sym == keysym.ISOLevel5Shift
}

// suggest words the names that are nearest to a wrong one, or nothing.
func suggest(wrong string, names []string) string {
	const most = 3
	wrong = fold.Replace(strings.ToLower(wrong))
	if n := len(wrong); n == 0 || n > 32 {
		return ""
	}
	limit := min(len(wrong)/2, 2) // more changes make another word
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, name := range names {
		if d := distance(wrong, fold.Replace(strings.ToLower(name)), limit); d <= limit {
			found = append(found, near{name, d})
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var quoted []string
	for _, n := range found[:min(len(found), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", n.name))
	}
	return " (did you mean " + strings.Join(quoted, ", ") + "?)"
}

// distance counts the bytes to insert, delete, replace or swap to get from a to b;
// it may answer anything above limit once it is above limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// keyNames lists all names of keys, the short ones first, so that they win among
// suggestions that are equally near.
func keyNames() []string {
	return slices.Concat(sorted(keys), modifierNames(), []string{
		"return", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end", "up", "down", "left", "right",
		"menu", "pause", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
	}, keysym.Names())
}

func modifierNames() []string { return sorted(modifiers) }

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
