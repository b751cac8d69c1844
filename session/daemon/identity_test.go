package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/session/private"
)

func load(t *testing.T, state, home string) identity {
	t.Helper()
	id, err := loadIdentity(state, home)
	if err != nil {
		t.Fatal(err)
	}
	if !uuidForm.MatchString(id.ComputerID) || !uuidForm.MatchString(id.HomeID) || !keyForm.MatchString(id.ViewerKey) {
		t.Fatalf("%+v", id)
	}
	return id
}

// S0-178, S1-23: two UUIDs and a key, of which home keeps its own and the key.
func TestIdentityIsKept(t *testing.T) {
	state, home := t.TempDir(), t.TempDir()
	first := load(t, state, home)
	if again := load(t, state, home); again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	// The home folder carries its own half to another computer.
	if moved := load(t, t.TempDir(), home); moved.HomeID != first.HomeID || moved.ViewerKey != first.ViewerKey || moved.ComputerID == first.ComputerID {
		t.Errorf("%+v, then %+v", first, moved)
	}
	for _, file := range []string{filepath.Join(state, "computer-id"), filepath.Join(home, private.Folder, "home-id"), filepath.Join(home, private.Folder, "viewer-key")} {
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

// What others could have read or written is made anew, and links lead nowhere.
func TestIdentityDistrusts(t *testing.T) {
	state, home, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	first := load(t, state, home)
	key := filepath.Join(home, private.Folder, "viewer-key")
	check := func(what string, change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got := load(t, state, home); got.ViewerKey == first.ViewerKey || got.ViewerKey == "abcdefgh" {
			t.Errorf("%s: the key is %s", what, got.ViewerKey)
		}
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 1 {
			t.Errorf("%s: wrote outside of home: %v, %v", what, left, err)
		}
	}
	planted := filepath.Join(elsewhere, "viewer-key")
	if err := os.WriteFile(planted, []byte("abcdefgh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("readable by others", func() error { return os.Chmod(key, 0o644) })
	check("of another form", func() error { return os.WriteFile(key, []byte("abcdefg"), 0o600) })
	check("too long", func() error { return os.WriteFile(key, []byte(strings.Repeat("abcdefgh", 100)), 0o600) })
	check("a link", func() error {
		os.Remove(key)
		return os.Symlink(planted, key)
	})
	check("a folder that is a link", func() error {
		os.RemoveAll(filepath.Join(home, private.Folder))
		return os.Symlink(elsewhere, filepath.Join(home, private.Folder))
	})
	check("a pipe", func() error {
		os.Remove(key)
		return syscall.Mkfifo(key, 0o600)
	})
	if os.Geteuid() == 0 {
		check("of another user", func() error { return os.Chown(key, 12345, 12345) })
	}
}

// S0-177
func TestNewKey(t *testing.T) {
	seen := make(map[rune]int)
	for range 2000 {
		key := newKey()
		if !keyForm.MatchString(key) {
			t.Fatalf("key %q", key)
		}
		for _, c := range key {
			seen[c]++
		}
	}
	mean := 2000 * keyLength / len(keyAlphabet)
	for _, c := range keyAlphabet {
		if n := seen[c]; n < mean/2 || n > 2*mean {
			t.Errorf("%c comes %d times, about %d expected", c, n, mean)
		}
	}
}
