package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// put and get copy between the host and the computer; both must succeed.
func (s *session) put(host, computer string, options ...string) answer {
	s.t.Helper()
	return s.on("file_transfer", transferArgs("to_computer", host, computer, options))
}

func (s *session) get(computer, host string, options ...string) answer {
	s.t.Helper()
	return s.on("file_transfer", transferArgs("from_computer", host, computer, options))
}

func transferArgs(direction, host, computer string, options []string) map[string]any {
	args := map[string]any{"direction": direction, "host_path": host, "computer_path": computer}
	for _, option := range options {
		args[option] = true
	}
	return args
}

// treeOf describes everything below a folder, a line each, without owners and times.
func treeOf(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		line := fmt.Sprintf("%q %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", len(data), sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += fmt.Sprintf(" -> %q", to)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// oddNames are names that some program somewhere gets wrong.
var oddNames = []string{
	"with space", "-rf", "new\nline", `quo"te'`, strings.Repeat("n", 255), "caf\u00e9", "cafe\u0301",
	"日本語", "🦊", "bad\xff\xfeutf8", "$HOME", "`id`", "*", "a\\b", ".hidden", "...", "tab\t", "\x01\x7f",
}

// oddTree makes a folder with everything that a copy has to keep.
func oddTree(t testing.TB, dir string) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	file := func(name string, size int, mode fs.FileMode) {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			t.Fatal(err)
		}
	}
	file("run.sh", 100, 0o755)
	file("secret", 10, 0o600)
	file("empty", 0, 0o644)
	file("large", 3_000_001, 0o644)
	file("a/b/c/deep", 1000, 0o644)
	for _, name := range oddNames {
		file(filepath.Join("names", name), 5, 0o644)
	}
	for name, to := range map[string]string{"relative": "a/b", "absolute": "/etc/hostname", "dangling": "no/where", "loop": "loop", "out": "../../.."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "none", "at", "all"), 0o755); err != nil {
		t.Fatal(err)
	}
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	if _, err := sparse.WriteAt([]byte("end"), 40<<20); err != nil {
		t.Fatal(err)
	}
	return dir
}

// S0-119 to S0-129, S0-132, S0-135, S0-136: both ways through the built binaries.
func TestFileTransfer(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("Transfer")
	host := oddTree(t, filepath.Join(t.TempDir(), "source"))

	// To a new name below folders that are missing, and as the programs' user.
	got := s.put(host, "~/deep/er/copy", "verify")
	if got.fields["path"] != "/home/computer/deep/er/copy" || got.fields["files"] != float64(6+len(oddNames)) || got.fields["verified"] != true {
		t.Errorf("%s\n%v", got.text, got.fields)
	}
	want := treeOf(t, host)
	if tree := treeOf(t, filepath.Join(c.home, "deep/er/copy")); tree != want {
		t.Errorf("got\n%s\nwant\n%s", tree, want)
	}
	if out := s.stdout("stat -c '%U %a' deep deep/er/copy/run.sh deep/er/copy/secret"); out != "computer 755\ncomputer 755\ncomputer 600\n" {
		t.Errorf("%q", out)
	}
	// Back into an existing folder, under its own name.
	s.shell("mkfifo deep/er/copy/pipe")
	back := t.TempDir()
	got = s.get("deep/er/copy", back, "verify")
	if got.fields["path"] != filepath.Join(back, "copy") || !strings.Contains(got.text, "Skipped, not copied: 1.\n- copy/pipe: it is a pipe") {
		t.Errorf("%s\n%v", got.text, got.fields)
	}
	if tree := treeOf(t, filepath.Join(back, "copy")); tree != want {
		t.Errorf("got\n%s\nwant\n%s", tree, want)
	}
	if info, err := os.Stat(filepath.Join(back, "copy/sparse")); err != nil || info.Sys().(*syscall.Stat_t).Blocks > 2000 {
		t.Errorf("the holes are filled: %+v, %v", info, err)
	}
}
