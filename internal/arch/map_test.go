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
