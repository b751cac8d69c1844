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

// copied is what copies are measured with.
type copied struct {
	name, path string
	amount     float64
	unit       string
}

// copiedData makes one large file and a folder of many small ones. COMPUTER_USE_BENCH=full
// takes the sizes of the issue, 4 GiB and 50,000 files.
func copiedData(b *testing.B) []copied {
	b.Helper()
	bytes, files := 64<<20, 1000
	if os.Getenv("COMPUTER_USE_BENCH") == "full" {
		bytes, files = 4<<30, 50_000
	}
	dir := b.TempDir()
	file, tree := filepath.Join(dir, "file"), filepath.Join(dir, "tree")
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
	return []copied{
		{"file", file, float64(bytes) / 1e6, "MB"},
		{"tree", tree, float64(files), "files"},
	}
}

// way is one way to copy.
type way struct {
	name string
	copy func()
}

// measure copies in all ways, turn by turn, and reports the rate of each. clean removes
// what a turn has made.
func (c copied) measure(b *testing.B, ways []way, clean func()) {
	b.Run(c.name, func(b *testing.B) {
		took := make([][]time.Duration, len(ways))
		for range max(b.N, 1) {
			for i, way := range ways {
				start := time.Now()
				way.copy()
				took[i] = append(took[i], time.Since(start))
			}
			clean()
		}
		for i, way := range ways {
			b.ReportMetric(c.amount/median(took[i]).Seconds(), c.unit+"/s-"+way.name)
		}
	})
}

func removeAll(b *testing.B, paths ...string) {
	b.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			b.Fatal(err)
		}
	}
}

// Issue 8, item 4 and Done when 2: copies of a large file and of many small ones, both
// ways, beside cp -r and a pair of tars of the same data, turn by turn. The server, the
// daemon and the process that works on the files may take 64 MB each.
func BenchmarkFileTransfer(b *testing.B) {
	all := copiedData(b)
	c := newComputer(b)
	a := c.agent()
	s := a.start("Benchmark")
	memory := watchMemory(c.info().Daemon.PID)
	out := b.TempDir()
	for _, data := range all {
		name := filepath.Base(data.path)
		cp, tar := filepath.Join(out, "cp"), filepath.Join(out, "tar")
		data.measure(b, []way{
			{"to", func() { s.measured(b, "to_computer", data.path, "~/") }},
			{"from", func() { s.measured(b, "from_computer", out, "~/"+name) }},
			{"cp", func() { shellCommand(b, `cp -r "$1" "$2"`, data.path, cp) }},
			{"tar", func() {
				shellCommand(b, `mkdir "$2"; tar -C "$(dirname "$1")" -cf - "$(basename "$1")" | tar -C "$2" -xf -`, data.path, tar)
			}},
		}, func() { removeAll(b, filepath.Join(c.home, name), filepath.Join(out, name), cp, tar) })
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
