package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// benchData is what copies are measured with. COMPUTER_USE_BENCH=full takes the sizes of
// the issue, 4 GiB in one file and 50,000 files.
func benchData(b *testing.B) (file, tree string, bytes int64, files int) {
	b.Helper()
	bytes, files = 64<<20, 1000
	if os.Getenv("COMPUTER_USE_BENCH") == "full" {
		bytes, files = 4<<30, 50_000
	}
	dir := b.TempDir()
	file, tree = filepath.Join(dir, "file"), filepath.Join(dir, "tree")
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	source := rand.NewChaCha8([32]byte{1}) // nothing that compresses
	block := make([]byte, 1<<20)
	for range bytes >> 20 {
		source.Read(block)
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	for i := range files {
		folder := filepath.Join(tree, strconv.Itoa(i%100))
		if i < 100 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, strconv.Itoa(i)), block[:i%8192], 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return file, tree, bytes, files
}

// Issue 8, item 4 and Done when 2: copies of a large file and of many small ones, both
// ways, beside cp -r and a pair of tars of the same data, turn by turn. The server, the
// daemon and the process that works on the files may take 64 MB each.
func BenchmarkFileTransfer(b *testing.B) {
	file, tree, bytes, files := benchData(b)
	c := newComputer(b)
	a := c.agent()
	s := a.start("Benchmark")
	memory := watchMemory(c.info().Daemon.PID)
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
		copies := []struct {
			name string
			copy func()
			made string
		}{
			{"to", func() { s.measured(b, "to_computer", data.path, "~/") }, filepath.Join(c.home, name)},
			{"from", func() { s.measured(b, "from_computer", out, "~/"+name) }, filepath.Join(out, name)},
			{"cp", func() { shellCommand(b, `cp -r "$1" "$2"`, data.path, filepath.Join(out, "cp")) }, filepath.Join(out, "cp")},
			{"tar", func() {
				shellCommand(b, `mkdir "$2"; tar -C "$(dirname "$1")" -cf - "$(basename "$1")" | tar -C "$2" -xf -`, data.path, filepath.Join(out, "tar"))
			}, filepath.Join(out, "tar")},
		}
		b.Run(data.name, func(b *testing.B) {
			took := map[string][]time.Duration{}
			for range max(b.N, 1) {
				for _, way := range copies {
					start := time.Now()
					way.copy()
					took[way.name] = append(took[way.name], time.Since(start))
				}
				for _, way := range copies {
					if err := os.RemoveAll(way.made); err != nil {
						b.Fatal(err)
					}
				}
			}
			for _, way := range copies {
				b.ReportMetric(data.amount/median(took[way.name]).Seconds(), data.unit+"/s-"+way.name)
			}
		})
	}
	server := peak(a.process.Pid)
	daemon, child := memory()
	b.Logf("memory: server %d MB, daemon %d MB, child %d MB", server>>20, daemon>>20, child>>20)
	if most := max(server, daemon, child); most > 64<<20 {
		b.Errorf("a process took %d MB", most>>20)
	}
}

// measured copies without a limit of time.
func (s *session) measured(b *testing.B, direction, host, computer string) {
	b.Helper()
	args := transferArgs(direction, host, computer, nil)
	args["session"] = s.id
	if _, err := s.tryUntil(b.Context(), "file_transfer", args); err != nil {
		b.Fatal(err)
	}
}

func shellCommand(b *testing.B, script string, args ...string) {
	b.Helper()
	cmd := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// peak returns the most memory that a process has had so far, in bytes.
func peak(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// watchMemory looks at a daemon and its children again and again until it is asked.
func watchMemory(pid int) func() (daemon, child int64) {
	stop, done := make(chan struct{}), make(chan struct{})
	var child int64
	go func() {
		defer close(done)
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			if n := filesChild(pid); n != 0 {
				child = max(child, peak(n))
			}
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() (int64, int64) {
		close(stop)
		<-done
		return peak(pid), child
	}
}
