//go:build unix

package transfer

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/treetest"
)

// A link at the destination is replaced, not followed; nothing is written through one.
func TestLinksAtTheDestination(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		"outside/victim": "victim", "outside/sub/": "",
		"from/a": "new", "from/b": "-> elsewhere", "from/c": "new",
		"to/from/a": "-> ../../outside/victim", "to/from/b": "-> ../../outside", "to/from/c": "old",
		"other/d/x": "x", "there/other/d": "-> ../../outside/sub",
	})
	before := treetest.List(t, filepath.Join(dir, "outside"))
	o := Options{Overwrite: true}
	send(t, filepath.Join(dir, "from"), filepath.Join(dir, "to"), o)
	if got, want := treetest.List(t, filepath.Join(dir, "to/from")), treetest.List(t, filepath.Join(dir, "from")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err := unpack(bytes.NewReader(pack(t, filepath.Join(dir, "other"))), filepath.Join(dir, "there"), o)
	if e := api.AsError(err); e.Code != api.CodeNotAFolder || !strings.Contains(e.Message, "is a link") {
		t.Errorf("a folder over a link: %v", err)
	}
	if after := treetest.List(t, filepath.Join(dir, "outside")); after != before {
		t.Errorf("outside changed:\n%s", after)
	}
	// A named link is followed at both ends.
	tree(t, dir, map[string]string{"to-from": "-> from", "to-there": "-> there"})
	r := send(t, filepath.Join(dir, "to-from"), filepath.Join(dir, "to-there"), Options{})
	if r.Path != filepath.Join(dir, "to-there/to-from") || treetest.List(t, filepath.Join(dir, "there/to-from")) != treetest.List(t, filepath.Join(dir, "from")) {
		t.Errorf("%+v", r)
	}
}
