package display

import (
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
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

// The dialog in which a page's upload or a program's file is chosen has its buttons on the
// screen, both as a window of its own and as another window's dialog.
func TestFileDialogFitsTheScreen(t *testing.T) {
	xvfbtest.Need(t, "zenity")
	m := newManager(t)
	s := open(t, m)
	waitManager(t, s)
	xterm(t, s, "parent", os.DevNull)
	parent := waitWindow(t, s, "parent", true)
	for _, arguments := range [][]string{
		{"--title", "alone"},
		{"--title", "attached", "--modal", "--attach", strconv.Itoa(int(parent.ID))},
	} {
		// GTK remembers the size of the last one in the home.
		cmd := exec.Command("zenity", append(arguments, "--file-selection")...)
		cmd.Env = append(s.Env(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w := waitWindow(t, s, arguments[1], true)
		cmd.Process.Kill()
		cmd.Wait()
		// The border may lie outside, and of GTK 4's, which is never less wide, a pixel.
		if !w.Rect.In(image.Rect(0, 0, 640, 480).Inset(-4)) {
			t.Errorf("%s: %v on a screen of 640x480", arguments[1], w.Rect)
		}
	}
}
