package display

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No program sets the background of a screen: Debian's opens a window with an error when
// it finds none that could, as on a machine without imagemagick and its like.
func TestNoProgramSetsTheBackground(t *testing.T) {
	m := newManager(t)
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	if err := os.WriteFile(filepath.Join(dir, "fbsetbg"), []byte("#!/bin/sh\n>>"+ran+" echo \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, variable := range m.cfg.Environ {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			m.cfg.Environ[i] = "PATH=" + dir + ":" + path
		}
	}
	// Several, so that one of them has run it before its end.
	for range 4 {
		s := open(t, m)
		waitManager(t, s)
		if colour, _ := pixel(t, s, 100, 100); colour != Background {
			t.Errorf("the background is %#06x, want %#06x", colour, Background)
		}
	}
	if arguments, err := os.ReadFile(ran); err == nil {
		t.Errorf("fbsetbg was run, with %q", arguments)
	}
}
