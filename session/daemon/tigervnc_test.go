package daemon

import (
	"fmt"
	"image"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

// tigerVNC shows the screen at addr in TigerVNC's viewer, on an X server of its own, until
// quit is called or the test ends. xdotool works that X server.
func tigerVNC(t *testing.T, addr string) (xdotool func(args ...string) (output string, ok bool), quit func()) {
	t.Helper()
	xvfbtest.Need(t, "xtigervncviewer", "xdotool")
	x := xvfbtest.Start(t, xvfbtest.Options{Width: 1400, Height: 1000})
	host, port, _ := net.SplitHostPort(addr)
	viewer := x.Command("xtigervncviewer", "-RemoteResize=0", "-AlertOnFatalError=0", "-ReconnectOnError=0", "-MenuKey=", host+"::"+port)
	viewer.Env = append(viewer.Env, "HOME="+t.TempDir(), "VNC_PASSWORD="+me.ViewerKey)
	if err := viewer.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		viewer.Wait()
	}()
	quit = func() {
		viewer.Process.Kill()
		<-ended
	}
	t.Cleanup(quit)
	return func(args ...string) (string, bool) {
		out, err := x.Command("xdotool", args...).Output()
		return string(out), err == nil
	}, quit
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come about that %s", what)
		}
	}
}

// S0-2, and issue 5, "native viewer and page compete": TigerVNC's viewer and the page in Chromium
// take a screen from each other, and the one that loses it is told.
func TestTigerVNCAndThePageCompete(t *testing.T) {
	w := watch(t)
	typed := w.terminal()
	page := browsertest.Start(t)
	page.Open(fmt.Sprintf("%s/#key=%s&screen=%d", w.page(), me.ViewerKey, w.desktop.Screen.Number()))
	page.UntilShows("#stage canvas", w.screenshot)
	xdotool, quit := tigerVNC(t, w.vnc(NativeControl))
	// The viewer's window has the name that we give the screen.
	named := func(part string) func() bool {
		return func() bool {
			_, found := xdotool("search", "--name", part)
			return found
		}
	}
	until(t, "the viewer shows the screen", named("Task"))
	window, _ := xdotool("search", "--name", "Task")
	windows, err := w.desktop.Screen.Windows(t.Context())
	if err != nil || len(windows) == 0 {
		t.Fatalf("no terminal: %v", err)
	}
	at := windows[0].Rect.Min.Add(image.Pt(30, 30)) // in the terminal
	press := []string{
		"windowfocus", strings.TrimSpace(window), // there is no window manager to do so
		"mousemove", "--window", strings.TrimSpace(window), strconv.Itoa(at.X), strconv.Itoa(at.Y), "click", "1",
	}

	// The viewer's first press takes control, and counts.
	xdotool(append(press, "key", "v", "Return")...)
	w.wantHolder(control.Human, "TigerVNC")
	until(t, "the screen gets what is typed at the viewer", func() bool {
		data, _ := os.ReadFile(typed)
		return string(data) == "v\n"
	})
	page.Until("document.querySelector('#facts').innerText.includes('TigerVNC has control')")

	// The page takes it. The viewer's window says so.
	page.Click("#lock")
	page.Until(mine)
	w.wantHolder(control.Human, "A page")
	until(t, "the viewer's person is told", named("A page has control"))

	// The viewer takes it back once the page has been left alone for a moment.
	until(t, "the viewer takes control", func() bool {
		xdotool(press...)
		return w.desktop.Control.State().Name == "TigerVNC"
	})
	page.Until("!" + mine)
	if said := page.Text("#notice"); said != whyReplaced {
		t.Errorf("the page says %q, want %q", said, whyReplaced)
	}
	page.Press("x", "KeyX", 0)
	xdotool("key", "w", "Return")
	until(t, "the screen gets what is typed at the viewer", func() bool {
		data, _ := os.ReadFile(typed)
		return strings.HasSuffix(string(data), "w\n")
	})
	if data, _ := os.ReadFile(typed); string(data) != "v\nw\n" {
		t.Errorf("the screen got %q, want only what was typed at the viewer", data)
	}

	quit()
	w.wantHolder(control.Nobody, "")
}
