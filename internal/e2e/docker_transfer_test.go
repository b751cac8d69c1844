package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"
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
			if got, want := treeOf(t, filepath.Join(back, "odd")), treeOf(t, source); got != want {
				t.Errorf("came back as\n%s\nof\n%s", got, want)
			}
		})
	}
}

// Issue 8, Done when 2: copies into and out of a container beside docker cp of the same
// data, turn by turn.
func BenchmarkDockerFileTransfer(b *testing.B) {
	file, tree, bytes, files := benchData(b)
	c := newDockerComputer(b)
	s := c.agent().start("Benchmark")
	out := b.TempDir()
	for _, data := range []struct {
		name, path string
		amount     float64
		unit       string
	}{
		{"file", file, float64(bytes) / 1e6, "MB"},
		{"tree", tree, float64(files), "files"},
	} {
		name := filepath.Base(data.path)
		inside := "/home/computer/" + name
		copies := []struct {
			name string
			copy func()
		}{
			{"to", func() { s.measured(b, "to_computer", data.path, "~/") }},
			{"cp-to", func() { docker(b, "cp", data.path, c.name+":"+inside+"-cp") }},
			{"from", func() { s.measured(b, "from_computer", filepath.Join(out, "ours"), "~/"+name) }},
			{"cp-from", func() { docker(b, "cp", c.name+":"+inside, filepath.Join(out, "theirs")) }},
		}
		b.Run(data.name, func(b *testing.B) {
			took := map[string][]time.Duration{}
			for range max(b.N, 1) {
				for _, way := range copies {
					start := time.Now()
					way.copy()
					took[way.name] = append(took[way.name], time.Since(start))
				}
				docker(b, "exec", "--user", "root", c.name, "rm", "-r", inside, inside+"-cp")
				for _, made := range []string{"ours", "theirs"} {
					if err := os.RemoveAll(filepath.Join(out, made)); err != nil {
						b.Fatal(err)
					}
				}
			}
			for _, way := range copies {
				b.ReportMetric(data.amount/median(took[way.name]).Seconds(), data.unit+"/s-"+way.name)
			}
		})
	}
}
