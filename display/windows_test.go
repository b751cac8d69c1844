package display

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// xterm starts an xterm with a title on the screen, in which cat copies its input to
// the end of a file. It ends with the screen.
func xterm(t testing.TB, s *Screen, title, file string) {
	t.Helper()
	xvfbtest.Need(t, "xterm")
	cmd := exec.Command("xterm", "-T", title, "-e", "sh", "-c", `exec cat >>"$0"`, file)
	cmd.Env = s.Env()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		s.Close(context.Background())
		<-done
	})
}

// waitWindow waits until the screen shows a window with a title, and until it has
// the keyboard, which a window manager gives to a new window.
func waitWindow(t testing.TB, s *Screen, title string, managed bool) x11.Window {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		windows, err := s.Windows(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range windows {
			if w.Title == title && (w.Focused || !managed) {
				return w
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no window %q among %+v", title, windows)
		}
		time.Sleep(5 * time.Millisecond) // somebody else's window gives no signal
	}
}

func TestWindows(t *testing.T) {
	xvfbtest.Need(t, "xdotool")
	m := newManager(t)
	s := open(t, m)
	xterm(t, s, "first", os.DevNull)
	first := waitWindow(t, s, "first", true)
	xterm(t, s, "zweites Fenster ✓ ö", os.DevNull)
	second := waitWindow(t, s, "zweites Fenster ✓ ö", true)
	if first.Class != "XTerm" || first.Rect.Dx() < 100 || first.Hidden {
		t.Errorf("window %+v", first)
	}
	// The frame is part of the window.
	if first.Rect.Min.X < 0 || first.Rect.Min.Y < 0 {
		t.Errorf("the window is at %v", first.Rect)
	}
	for _, id := range []uint32{first.ID, second.ID, first.ID} {
		if err := s.Activate(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		windows, err := s.Windows(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(windows) != 2 || windows[0].ID != id || !windows[0].Focused || windows[1].Focused {
			t.Errorf("after activation of %#x: %+v", id, windows)
		}
	}
	minimise := exec.Command("xdotool", "windowminimize", strconv.Itoa(int(first.ID)))
	minimise.Env = s.Env()
	if out, err := minimise.CombinedOutput(); err != nil {
		t.Fatalf("xdotool: %v: %s", err, out)
	}
	hidden := func() bool {
		windows, err := s.Windows(t.Context())
		if err != nil || len(windows) != 2 {
			t.Fatalf("%+v, %v", windows, err)
		}
		i := slices.IndexFunc(windows, func(w x11.Window) bool { return w.ID == first.ID })
		return windows[i].Hidden
	}
	for deadline := time.Now().Add(10 * time.Second); !hidden(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a minimised window is not hidden")
		}
	}
	if err := s.Activate(t.Context(), first.ID); err != nil || hidden() {
		t.Errorf("a minimised window did not come back: %v", err)
	}
	if err := s.Activate(t.Context(), 0x7fffff); !errors.Is(err, x11.ErrNoWindow) {
		t.Errorf("activate nothing: %v", err)
	}
}

// Keys that follow an activation go to the window, however busy the machine is.
func TestKeysFollowTheActivation(t *testing.T) {
	m := newManager(t)
	s := open(t, m)
	var windows [2]x11.Window
	var files [2]string
	for i := range windows {
		title := fmt.Sprintf("window %d", i)
		files[i] = filepath.Join(t.TempDir(), "typed")
		xterm(t, s, title, files[i])
		windows[i] = waitWindow(t, s, title, true)
	}
	device, err := s.Input()
	if err != nil {
		t.Fatal(err)
	}
	hands := device.NewHolder()
	defer hands.Release(context.Background())
	var want [2]string
	for n := range 20 {
		i := n % 2
		if err := s.Activate(t.Context(), windows[i].ID); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%d\n", n)
		if err := hands.Type(t.Context(), line); err != nil {
			t.Fatal(err)
		}
		want[i] += line
	}
	for i, file := range files {
		var got []byte
		for deadline := time.Now().Add(10 * time.Second); string(got) != want[i]; time.Sleep(5 * time.Millisecond) {
			if got, _ = os.ReadFile(file); time.Now().After(deadline) {
				t.Fatalf("window %d got %q, want %q", i, got, want[i])
			}
		}
	}
}

func TestWindowsSurviveTheWindowManager(t *testing.T) {
	m := newManager(t)
	s := open(t, m)
	xterm(t, s, "survivor", os.DevNull)
	before := waitWindow(t, s, "survivor", true)
	if err := syscall.Kill(childOf(t, s, "fluxbox"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitNotes(t, s)
	if after := waitWindow(t, s, "survivor", true); after.ID != before.ID {
		t.Errorf("window %+v became %+v", before, after)
	}
}

func TestMenuStartsPrograms(t *testing.T) {
	xvfbtest.Need(t, "xterm")
	m := newManager(t)
	s := open(t, m)
	device, err := s.Input()
	if err != nil {
		t.Fatal(err)
	}
	hands := device.NewHolder()
	defer hands.Release(context.Background())
	click := func(x, y, button int) {
		if err := errors.Join(hands.Move(x, y), hands.Click(t.Context(), button, 1)); err != nil {
			t.Fatal(err)
		}
	}
	_, before := pixel(t, s, 0, 0)
	click(300, 200, 3)
	// The menu has opened when its title, under the pointer, has the menu's colour.
	for colour := uint32(Background); colour == Background; {
		if before, err = s.Frame().Wait(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		s.Frame().Read(func(v frame.View) { colour = v.Pix[220*v.Width+300] })
	}
	click(300, 220, 1)
	waitWindow(t, s, "from {the} menu", true)
}

// A menu offers what it was told to and no program that happens to be installed: which one
// is a screen's browser is not known here.
func TestMenuWithoutEntries(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, name := range []string{"xterm", "x-www-browser"} {
		if err := os.WriteFile(dir+"/"+name, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := menu(New(Config{}).cfg.Menu, ":1", "/home/user")
	if want := "[begin] (Menu)\n  [clientmenu] (Windows) {()}\n[end]\n"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}
