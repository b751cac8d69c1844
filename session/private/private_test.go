package private_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/session/private"
)

func open(t *testing.T) (dir string, root *os.Root) {
	t.Helper()
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}

// The folder comes in the place of whatever was planted under its name, and stays.
func TestMake(t *testing.T) {
	dir, root := open(t)
	elsewhere := t.TempDir()
	path := filepath.Join(dir, private.Folder)
	for what, plant := range map[string]func() error{
		"nothing": func() error { return nil },
		"a file":  func() error { return os.WriteFile(path, nil, 0o666) },
		"a link":  func() error { return os.Symlink(elsewhere, path) },
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := private.Make(root); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", what, info, err)
		}
	}
}

// A file is replaced whole, with nothing beside it, whatever lies in the way.
func TestWrite(t *testing.T) {
	dir, root := open(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for _, content := range []string{"one", "the second, which is longer", ""} {
		if err := os.Symlink(elsewhere, filepath.Join(dir, "file.new")); err != nil {
			t.Fatal(err)
		}
		if err := private.Write(root, "file", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != content {
			t.Errorf("%q, %v", got, err)
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "file")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(elsewhere); err == nil {
		t.Error("a link was followed")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A link leads nowhere outside, and a pipe that nobody writes holds up no one.
func TestOpen(t *testing.T) {
	dir, root := open(t)
	if err := private.Write(root, "file", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := []string{}
	for _, name := range []string{"file", "link", "pipe", "missing"} {
		if f, err := private.Open(root, name); err == nil {
			f.Close()
			opened = append(opened, name)
		}
	}
	if got := strings.Join(opened, " "); got != "file pipe" {
		t.Errorf("opened %s", got)
	}
}
