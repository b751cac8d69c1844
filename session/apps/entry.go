package apps

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// extension is that of desktop entries, whose id is their file's name.
const extension = ".desktop"

// maxFile is how much of an entry or a list is read, in bytes.
const maxFile = 1 << 20

// entry is what is needed of a desktop entry (Desktop Entry Specification 1.5).
type entry struct {
	id       string
	file     string // its path, for %k
	name     string
	names    []string // the name in all languages
	icon     string
	exec     string
	tryExec  string // the entry counts only where this program is
	types    []string
	terminal bool
	hidden   bool // the entry takes itself, and those after it, away
	unlisted bool // in no menu
}

// entries returns the applications that are installed, best first. An entry of the user
// takes the place of the system's with the same id.
func (a Apps) entries() []entry {
	var list []entry
	seen := map[string]bool{}
	for _, dir := range a.entryFolders() {
		files, _ := filepath.Glob(filepath.Join(dir, "*"+extension))
		for _, file := range files {
			id := filepath.Base(file)
			if seen[id] {
				continue
			}
			seen[id] = true
			if e, ok := a.readEntry(file); ok {
				list = append(list, e)
			}
		}
	}
	return list
}

// byName returns the entry that an application's name means: the one whose file is called
// so, else one of a menu by its name. Case does not count.
func (a Apps) byName(name string) (entry, bool) {
	all := a.entries()
	for _, fits := range []func(entry) bool{
		func(e entry) bool {
			return strings.EqualFold(strings.TrimSuffix(e.id, extension), strings.TrimSuffix(name, extension))
		},
		func(e entry) bool {
			return !e.unlisted && slices.ContainsFunc(e.names, func(n string) bool { return strings.EqualFold(n, name) })
		},
	} {
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return all[i], true
		}
	}
	return entry{}, false
}

// byID returns the entry with an id.
func (a Apps) byID(id string) (entry, bool) {
	if strings.Contains(id, "/") || !strings.HasSuffix(id, extension) {
		return entry{}, false
	}
	for _, dir := range a.entryFolders() {
		file := filepath.Join(dir, id)
		if _, err := os.Lstat(file); err == nil {
			return a.readEntry(file)
		}
	}
	return entry{}, false
}

// readEntry reads an entry and reports whether its application is installed.
func (a Apps) readEntry(file string) (entry, bool) {
	f, err := openFile(file)
	if err != nil {
		return entry{}, false
	}
	defer f.Close()
	e, ok := parseEntry(io.LimitReader(f, maxFile))
	e.id, e.file = filepath.Base(file), file
	return e, ok && !e.hidden && a.usable(e)
}

// usable reports whether the programs of an entry are there.
func (a Apps) usable(e entry) bool {
	argv := e.argv("")
	if len(argv) == 0 {
		return false
	}
	_, ok := a.lookUp(argv[0])
	if ok && e.tryExec != "" {
		_, ok = a.lookUp(e.tryExec)
	}
	return ok
}

// openFile opens a regular file of a folder that may be the agent's own: a pipe in it
// must not hold us up.
func openFile(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, os.ErrInvalid
	}
	return f, nil
}

// groups reads a file of the format that entries and lists have: groups of keys and
// values. set is called for each of them.
func groups(r io.Reader, set func(group, key, value string)) {
	group := ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			group = strings.Trim(line, "[]")
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			set(group, strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
}

// parseEntry reads an entry and reports whether it is one of an application.
func parseEntry(r io.Reader) (e entry, ok bool) {
	kind := "Application"
	groups(r, func(group, key, value string) {
		if group != "Desktop Entry" {
			return
		}
		key, language, _ := strings.Cut(key, "[")
		if key == "Name" {
			e.names = append(e.names, unescape(value))
		}
		if language != "" {
			return
		}
		switch key {
		case "Type":
			kind = value
		case "Name":
			e.name = unescape(value)
		case "Icon":
			e.icon = unescape(value)
		case "Exec":
			e.exec = unescape(value)
		case "TryExec":
			e.tryExec = unescape(value)
		case "MimeType":
			e.types = splitList(value)
		case "Terminal":
			e.terminal = value == "true"
		case "Hidden":
			e.hidden = value == "true"
		case "NoDisplay":
			e.unlisted = value == "true"
		}
	})
	return e, e.exec != "" && kind == "Application"
}

// unescape undoes the escapes of a value of type string.
var unescape = strings.NewReplacer(`\\`, `\`, `\s`, " ", `\n`, "\n", `\t`, "\t", `\r`, "\r").Replace

// splitList returns the items of a value that is a list.
func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ';' || r == ' ' })
}
