package e2e

import (
	"path/filepath"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/treetest"
)

// Issue 8, Done when 1 and item 4: a folder with everything that a copy has to keep goes
// into a container and back, over its published port and, compressed, through the Docker
// API.
func TestDockerFileTransfer(t *testing.T) {
	for _, publish := range []string{"on", "off"} {
		t.Run("publish="+publish, func(t *testing.T) {
			c := newDockerComputer(t, "COMPUTER_USE_PUBLISH="+publish)
			s := c.agent().start("Copies")
			source, back := oddTree(t, filepath.Join(t.TempDir(), "odd")), t.TempDir()
			s.put(source, "~/copies", "verify")
			s.get("~/copies", filepath.Join(back, "odd"), "verify")
			if got, want := treetest.List(t, filepath.Join(back, "odd")), treetest.List(t, source); got != want {
				t.Errorf("came back as\n%s\nof\n%s", got, want)
			}
		})
	}
}

// Issue 8, Done when 2: copies into and out of a container beside docker cp of the same
// data, turn by turn.
func BenchmarkDockerFileTransfer(b *testing.B) {
	all := copiedData(b)
	c := newDockerComputer(b)
	s := c.agent().start("Benchmark")
	out := b.TempDir()
	ours, theirs := filepath.Join(out, "ours"), filepath.Join(out, "theirs")
	for _, data := range all {
		name := filepath.Base(data.path)
		inside := "/home/computer/" + name
		data.measure(b, []way{
			{"to", func() { s.measured(b, "to_computer", data.path, "~/") }},
			{"cp-to", func() { docker(b, "cp", data.path, c.name+":"+inside+"-cp") }},
			{"from", func() { s.measured(b, "from_computer", ours, "~/"+name) }},
			{"cp-from", func() { docker(b, "cp", c.name+":"+inside, theirs) }},
		}, func() {
			docker(b, "exec", "--user", "root", c.name, "rm", "-r", inside, inside+"-cp")
			removeAll(b, ours, theirs)
		})
	}
}
