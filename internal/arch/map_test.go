package arch

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of folders in docs/ARCHITECTURE.md has every package, and no folder that is
// not there. What is internal to one package, and the test helpers, stand in its row.
func TestTheMapIsTheTree(t *testing.T) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		row := strings.Split(line, "|")
		if len(row) != 4 {
			continue
		}
		parent := ""
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			name := m[1]
			if rest, ok := strings.CutPrefix(name, ".../"); ok { // below the first one of the row
				name = path.Join(parent, rest)
			} else if parent == "" {
				parent = name
			}
			named[name] = true
			if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
				t.Errorf("the row of %s: %v", name, err)
			}
		}
	}
	for _, p := range list(t) {
		name := p.name()
		if outer, _, ok := strings.Cut(name, "internal/"); ok {
			name = cmp.Or(strings.TrimSuffix(outer, "/"), "internal")
		}
		if !named[name] {
			t.Errorf("%s stands in no row", p.name())
		}
	}
}

// The line of docs/ARCHITECTURE.md that sums up the import table has every root folder but
// those that both ends share, and no import of the table goes up in it.
func TestTheSummaryOfImports(t *testing.T) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "Imports point down: ")
	line, _, _ = strings.Cut(line, ". ")
	levels := map[string]int{} // 0 is the highest
	for level, names := range strings.Split(line, ">") {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(names, -1) {
			levels[m[1]] = level
		}
	}
	levelOf := func(name string) (level int, ok bool) {
		for ; name != "."; name = path.Dir(name) {
			if level, ok = levels[name]; ok {
				return level, true
			}
		}
		return 0, false
	}
	shared := map[string]bool{"api": true, "transfer": true, "internal": true}
	for _, r := range rules {
		level, ok := levelOf(r.pkg)
		root, _, _ := strings.Cut(r.pkg, "/")
		if !ok && !shared[root] {
			t.Errorf("%s is in no level of %q", r.pkg, line)
		}
		for _, name := range strings.Fields(r.imports) {
			if below, known := levelOf(name); ok && known && below < level {
				t.Errorf("%s imports %s, which stands above it in %q", r.pkg, name, line)
			}
		}
	}
}
