package daemon

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/screenshot"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/viewer"
)

// page serves the viewer page and returns its address.
func (w watched) page() string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	page := viewer.New(viewer.Config{
		Computer: w.viewers, Name: "test", Key: me.ViewerKey, Expiry: time.Minute, Guard: new(rfb.Guard),
		Port: l.Addr().(*net.TCPAddr).Port, Logger: slog.New(slog.DiscardHandler),
	})
	xvfbtest.NeedThat(w.t, page.Complete(), "noVNC: run scripts/fetch-novnc")
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- page.Serve(ctx, l) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			w.t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// terminal opens a terminal on the screen in which what is typed goes to a file, and
// returns the file's path once it can be typed to.
func (w watched) terminal() string {
	w.t.Helper()
	xvfbtest.Need(w.t, "xterm")
	typed := filepath.Join(w.t.TempDir(), "typed")
	cmd := exec.Command("xterm", "-T", "terminal", "-e", "sh", "-c", "cat > "+typed)
	cmd.Env = append(os.Environ(), w.desktop.Screen.Env()...)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		windows, err := w.desktop.Screen.Windows(w.t.Context())
		if err != nil || time.Now().After(end) {
			w.t.Fatalf("no terminal: %v, %v", windows, err)
		}
		if i := slices.IndexFunc(windows, func(w x11.Window) bool { return w.Title == "terminal" && w.Focused }); i >= 0 {
			return typed
		}
	}
}

// screenshot returns the pixels of a screenshot with the pointer in it, as an agent gets
// it and as people see it who have not moved the pointer themselves.
func (w watched) screenshot() []uint32 {
	w.t.Helper()
	shot, err := screenshot.Take(w.desktop.Screen.Frame(), screenshot.Options{Cursor: true, Format: screenshot.PNG})
	if err != nil {
		w.t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		w.t.Fatal(err)
	}
	size := img.Bounds().Size()
	pix := make([]uint32, 0, size.X*size.Y)
	for y := range size.Y {
		for x := range size.X {
			r, g, b, _ := img.At(x, y).RGBA()
			pix = append(pix, r>>8<<16|g>>8<<8|b>>8)
		}
	}
	return pix
}

const mine = "document.querySelector('#screen').hasAttribute('data-mine')"

// S1-5, S1-48
func TestThePageAtARealScreen(t *testing.T) {
	w := watch(t)
	typed := w.terminal()
	b := browsertest.Start(t)
	page := w.page()
	b.Open(fmt.Sprintf("%s/#key=%s&screen=%d", page, me.ViewerKey, w.desktop.Screen.Number()))
	b.UntilShows("#stage canvas", w.screenshot)

	// A batch is running when the person unlocks the screen.
	failed := make(chan error)
	before := time.Now()
	go func() {
		_, _, err := w.session.Act(context.Background(), batch(4000), nil)
		failed <- err
	}()
	w.waitActing(before)
	b.Click("#lock")
	b.Until(mine)
	if err := <-failed; code(err) != api.CodeHumanInControl {
		t.Errorf("the batch ended with %v", err)
	}
	for _, key := range []string{"h", "i"} {
		b.Press(key, "Key"+strings.ToUpper(key), 0)
	}
	b.Press("Enter", "Enter", 0)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if data, _ := os.ReadFile(typed); string(data) == "hi\n" {
			break
		} else if time.Now().After(end) {
			b.Save("failure")
			t.Fatalf("the terminal got %q", data)
		}
	}
	b.UntilShows("#stage canvas", w.screenshot)
	w.clipboards(b, page)
	b.Click("#lock")
	b.Until("!" + mine)
	if o, _, err := w.session.Observe(t.Context(), api.ObserveRequest{}); err != nil || !o.Human.ActedSinceLastCall || o.Human.InControl {
		t.Errorf("after it the agent learns %+v, %v", o.Human, err)
	}

	// The X server dies; the page goes on with the next one.
	epoch := w.desktop.Screen.Frame().Stamp().Epoch
	if err := syscall.Kill(w.desktop.Screen.XvfbPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for stamp := (frame.Stamp{Epoch: epoch}); stamp.Epoch == epoch; {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		var err error
		stamp, err = w.desktop.Screen.Frame().Wait(ctx, stamp)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
	b.UntilShows("#stage canvas", w.screenshot)
	b.Click("#lock")
	b.Until(mine)
}

// clipboards checks that what a person pastes is on the screen's clipboard and what a
// program there copies is on the person's.
func (w watched) clipboards(b *browsertest.Tab, page string) {
	w.t.Helper()
	const text = "をゆ 测试 Привет €"
	b.Permit(page, "clipboard-read", "granted")
	b.Permit(page, "clipboard-write", "granted")
	clipboard, err := w.desktop.Screen.Clipboard()
	if err != nil {
		w.t.Fatal(err)
	}
	browsertest.Eval[any](b, fmt.Sprintf("navigator.clipboard.writeText(%q)", text))
	b.Run("document.querySelector('#stage canvas').focus()")
	b.Press("v", "KeyV", browsertest.Ctrl, "paste")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if got, _ := clipboard.Get(w.t.Context()); got == text {
			break
		} else if time.Now().After(end) {
			w.t.Fatalf("the screen's clipboard holds %q", got)
		}
	}
	if err := clipboard.Set("copied there: " + text); err != nil {
		w.t.Fatal(err)
	}
	b.Until("document.querySelector('#notice').innerText.includes('Copied')")
	if got := browsertest.Eval[string](b, "navigator.clipboard.readText()"); got != "copied there: "+text {
		w.t.Errorf("the person's clipboard holds %q", got)
	}
}
