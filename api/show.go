package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShowName returns the name or path of a file as one line of valid text. One with
// control characters or broken UTF-8 is written as bash's $'...', which a command can
// hold as it is.
func ShowName(name string) string {
	clean := utf8.ValidString(name)
	for _, r := range name {
		clean = clean && unicode.IsPrint(r)
	}
	if clean && !strings.HasPrefix(name, "$'") {
		return name
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteString("$'")
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r) && !(r == utf8.RuneError && n == 1):
			b.WriteRune(r)
		default:
			for i := range n {
				b.WriteString(`\x` + string(hex[name[i]>>4]) + string(hex[name[i]&15]))
			}
		}
		name = name[n:]
	}
	return b.String() + "'"
}
