package apps

import "strings"

// argv returns the entry's command line, with uri in the place of the field codes that
// stand for files and addresses; behind it where it has none. No shell sees it.
func (e entry) argv(uri string) []string {
	var argv []string
	placed := false
	for _, word := range words(e.exec) {
		switch fieldCode(word) {
		case 'i':
			if e.icon != "" {
				argv = append(argv, "--icon", e.icon)
			}
			continue
		case 'f', 'F', 'u', 'U':
			if uri == "" || placed {
				continue // nothing, and not an empty argument
			}
		case 'd', 'D', 'n', 'N', 'v', 'm':
			continue // of older specifications
		}
		arg, has := e.expand(word, uri)
		argv = append(argv, arg)
		placed = placed || has
	}
	if uri != "" && !placed && len(argv) > 0 {
		argv = append(argv, uri)
	}
	return argv
}

// fieldCode returns the letter of a word that is one field code and nothing else, or 0.
func fieldCode(word string) byte {
	if len(word) == 2 && word[0] == '%' {
		return word[1]
	}
	return 0
}

// expand replaces the field codes in a word. has reports that one of them was for uri.
func (e entry) expand(word, uri string) (arg string, has bool) {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] != '%' || i+1 == len(word) {
			b.WriteByte(word[i])
			continue
		}
		i++
		switch word[i] {
		case '%':
			b.WriteByte('%')
		case 'f', 'F', 'u', 'U':
			b.WriteString(uri)
			has = true
		case 'c':
			b.WriteString(e.name)
		case 'k':
			b.WriteString(e.file)
		}
	}
	return b.String(), has
}

// words splits an Exec value: at spaces, but not inside double quotes, where a backslash
// takes the next character as it is.
func words(exec string) []string {
	var (
		list   []string
		word   strings.Builder
		begun  bool
		quoted bool
	)
	for i := 0; i < len(exec); i++ {
		switch c := exec[i]; {
		case c == '"':
			quoted, begun = !quoted, true
		case c == '\\' && quoted && i+1 < len(exec):
			i++
			word.WriteByte(exec[i])
		case c == ' ' && !quoted:
			if begun {
				list = append(list, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteByte(c)
		}
	}
	if begun {
		list = append(list, word.String())
	}
	return list
}
