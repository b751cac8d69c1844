package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// searchers runs a test with ripgrep and without: both find the same.
func searchers(t *testing.T, test func(*testing.T, *bench)) {
	t.Run("walk", func(t *testing.T) {
		b := newBench(t)
		b.Env = []string{"PATH="}
		test(t, b)
	})
	t.Run("ripgrep", func(t *testing.T) {
		xvfbtest.Need(t, "rg")
		test(t, newBench(t))
	})
}

// found returns matches as path:line:text, in order.
func found(r api.SearchFilesResult) []string {
	list := []string{}
	for _, m := range r.Matches {
		list = append(list, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
	}
	slices.Sort(list)
	return list
}

func TestSearch(t *testing.T) {
	searchers(t, func(t *testing.T, b *bench) {
		b.file("a.go", "package a\n// Größe\nfunc main() {}\n")
		b.file("sub/b.go", "package b\r\nfunc Main() {}\n")
		b.file("sub/c.txt", "func main in text\n")
		b.file(".git/d.go", "func main hidden\n")
		b.file("bin", "func main\x00binary\n")
		b.file("latin.txt", "func main caf\xe9\n")
		os.Symlink("a.go", filepath.Join(b.home, "link.go"))
		for _, c := range []struct {
			name string
			r    api.SearchFilesRequest
			want []string
		}{
			{"all", api.SearchFilesRequest{Pattern: `func main\b`}, []string{"a.go:3:func main() {}", "latin.txt:1:func main caf\uFFFD", "sub/c.txt:1:func main in text"}},
			{"case", api.SearchFilesRequest{Pattern: `FUNC main\(`, IgnoreCase: true}, []string{"a.go:3:func main() {}", "sub/b.go:2:func Main() {}"}},
			{"anchors", api.SearchFilesRequest{Pattern: `^package .$`}, []string{"a.go:1:package a", "sub/b.go:1:package b"}},
			{"unicode", api.SearchFilesRequest{Pattern: `Gr..e`}, []string{"a.go:2:// Größe"}},
			{"glob", api.SearchFilesRequest{Pattern: `main`, Glob: "*.txt"}, []string{"latin.txt:1:func main caf\uFFFD", "sub/c.txt:1:func main in text"}},
			{"glob with a folder", api.SearchFilesRequest{Pattern: `func`, Glob: "sub/*.go"}, []string{"sub/b.go:2:func Main() {}"}},
			{"folder", api.SearchFilesRequest{Pattern: `func`, Path: "sub"}, []string{"sub/b.go:2:func Main() {}", "sub/c.txt:1:func main in text"}},
			{"home", api.SearchFilesRequest{Pattern: `Main`, Path: "~/sub"}, []string{"~/sub/b.go:2:func Main() {}"}},
			{"file", api.SearchFilesRequest{Pattern: `main`, Path: "a.go"}, []string{"a.go:3:func main() {}"}},
			{"names", api.SearchFilesRequest{Glob: "*.go"}, []string{"a.go:0:", "sub/b.go:0:"}},
			{"names below", api.SearchFilesRequest{Glob: "**/*.{go,txt}", Path: "sub"}, []string{"sub/b.go:0:", "sub/c.txt:0:"}},
			{"nothing", api.SearchFilesRequest{Pattern: `nothing like it`}, []string{}},
			{"dash", api.SearchFilesRequest{Pattern: `--files`}, []string{}},
		} {
			r := do[api.SearchFilesResult](b, Search, c.r)
			if got := found(r); !slices.Equal(got, c.want) || r.Cut {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
		b.refused(api.CodeBadRequest, Search, api.SearchFilesRequest{})
		b.refused(api.CodeBadRequest, Search, api.SearchFilesRequest{Pattern: "("})
		b.refused(api.CodeBadRequest, Search, api.SearchFilesRequest{Glob: "[a"})
		b.refused(api.CodeBadRequest, Search, api.SearchFilesRequest{Pattern: "a\nb"})
		b.refused(api.CodeNotFound, Search, api.SearchFilesRequest{Pattern: "a", Path: "none"})
	})
}

// A search stops when it has found enough, and long lines are cut between characters.
func TestSearchIsCut(t *testing.T) {
	searchers(t, func(t *testing.T, b *bench) {
		b.file("many", strings.Repeat("match\n", api.MaxMatches+1))
		b.file("long", strings.Repeat("ä", 100000)+"needle\n")
		if r := do[api.SearchFilesResult](b, Search, api.SearchFilesRequest{Pattern: "match"}); len(r.Matches) != api.MaxMatches || !r.Cut || len(r.Notes) != 1 {
			t.Errorf("%d matches, cut %v, notes %q", len(r.Matches), r.Cut, r.Notes)
		}
		r := do[api.SearchFilesResult](b, Search, api.SearchFilesRequest{Pattern: "^ää"})
		if len(r.Matches) != 1 || len(r.Matches[0].Text) > api.MaxMatchLine+3 || strings.Contains(r.Matches[0].Text, "\uFFFD") {
			t.Errorf("%+v", r)
		}
	})
}

// Names of any bytes are shown safely.
func TestSearchShowsNames(t *testing.T) {
	searchers(t, func(t *testing.T, b *bench) {
		b.file("bad\xffname\n", "needle\n")
		if got := found(do[api.SearchFilesResult](b, Search, api.SearchFilesRequest{Pattern: "needle"})); len(got) != 1 || got[0] != `$'bad\xffname\n':1:needle` {
			t.Errorf("%q", got)
		}
		if got := found(do[api.SearchFilesResult](b, Search, api.SearchFilesRequest{Glob: "bad*"})); len(got) != 1 || got[0] != `$'bad\xffname\n':0:` {
			t.Errorf("%q", got)
		}
	})
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob string
		yes  string
		no   string
	}{
		{"*.go", "a.go sub/a.go", "a.got ago"},
		{"a?c", "abc x/abc", "ac abbc"},
		{"src/*.go", "src/a.go", "a.go src/x/a.go x/src/a.go"},
		{"src/**/*.go", "src/a.go src/x/y/a.go", "a.go"},
		{"**/test", "test a/b/test", "atest"},
		{"a/**", "a/b a/b/c", "b a"},
		{"[ab]*.{txt,md}", "a.txt bx.md", "c.txt a.go"},
		{"[!a]b", "cb", "ab"},
		{`\*`, "*", "a"},
		{"ä*", "äb", "a"},
	} {
		re, err := compileGlob(c.glob)
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		for name := range strings.FieldsSeq(c.yes) {
			if !re.MatchString(name) {
				t.Errorf("%s does not match %s", c.glob, name)
			}
		}
		for name := range strings.FieldsSeq(c.no) {
			if re.MatchString(name) {
				t.Errorf("%s matches %s", c.glob, name)
			}
		}
	}
	for _, glob := range []string{"[", "[]", "{a", "a}", `a\`, "[z-a]"} {
		if _, err := compileGlob(glob); err == nil {
			t.Errorf("%q was taken", glob)
		}
	}
}
