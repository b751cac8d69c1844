package apps

import (
	"bufio"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Default returns the application that opens files of a MIME type, with the file at path:
// the one that the user or the system has chosen, else any that says it can, else one for
// a more general type. ok is false when none is installed.
func (a Apps) Default(mimeType, path string) (app App, ok bool) {
	lists := a.lists()
	for _, t := range append([]string{mimeType}, a.parents(mimeType)...) {
		if e, ok := a.chosen(lists, t); ok {
			app, err := a.start(e, path)
			return app, err == nil
		}
	}
	return App{}, false
}

// list is a mimeapps.list (MIME Applications Specification 1.0.1): entry ids by type.
type list struct {
	defaults, added, removed map[string][]string
}

// lists reads the lists of defaults, the user's own first.
func (a Apps) lists() []list {
	var all []list
	for _, dir := range append(a.folders("CONFIG", ".config", "/etc/xdg"), a.entryFolders()...) {
		f, err := openFile(filepath.Join(dir, "mimeapps.list"))
		if err != nil {
			continue
		}
		all = append(all, parseList(io.LimitReader(f, maxFile)))
		f.Close()
	}
	return all
}

func parseList(r io.Reader) list {
	l := list{map[string][]string{}, map[string][]string{}, map[string][]string{}}
	byGroup := map[string]map[string][]string{
		"Default Applications": l.defaults, "Added Associations": l.added, "Removed Associations": l.removed,
	}
	groups(r, func(group, key, value string) {
		if ids := byGroup[group]; ids != nil {
			ids[key] = append(ids[key], splitList(value)...)
		}
	})
	return l
}

// chosen returns the entry for exactly one type.
func (a Apps) chosen(lists []list, mimeType string) (entry, bool) {
	for _, l := range lists {
		for _, id := range l.defaults[mimeType] {
			if e, ok := a.byID(id); ok {
				return e, true
			}
		}
	}
	removed := map[string]bool{}
	for _, l := range lists { // an earlier list overrules a later one
		for _, id := range l.added[mimeType] {
			if e, ok := a.byID(id); ok && !removed[id] {
				return e, true
			}
		}
		for _, id := range l.removed[mimeType] {
			removed[id] = true
		}
	}
	all := a.entries()
	i := slices.IndexFunc(all, func(e entry) bool { return slices.Contains(e.types, mimeType) && !removed[e.id] })
	if i < 0 {
		return entry{}, false
	}
	return all[i], true
}

// parents returns the types that a type is a kind of, nearest first (Shared MIME-info
// Database): every text is a text/plain.
func (a Apps) parents(mimeType string) []string {
	above := map[string][]string{}
	for _, dir := range a.folders("DATA", ".local/share", "/usr/local/share:/usr/share") {
		f, err := openFile(filepath.Join(dir, "mime/subclasses"))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(io.LimitReader(f, maxFile)); lines.Scan(); {
			if child, parent, ok := strings.Cut(lines.Text(), " "); ok {
				above[child] = append(above[child], parent)
			}
		}
		f.Close()
	}
	var all []string
	for next := []string{mimeType}; len(next) > 0; next = next[1:] {
		parents := above[next[0]]
		if strings.HasPrefix(next[0], "text/") {
			parents = append(parents, "text/plain")
		}
		for _, t := range parents {
			if t != mimeType && !slices.Contains(all, t) {
				all = append(all, t)
				next = append(next, t)
			}
		}
	}
	return all
}
