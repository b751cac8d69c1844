package input

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// patience is how long a test waits for another program, on a busy machine too.
const patience = 20 * time.Second

// openDevice starts an X server with a keyboard layout ("us", "us,ru") and returns its
// input device.
func openDevice(t testing.TB, layout string) (*Device, *xvfbtest.Server) {
	t.Helper()
	s := xvfbtest.Start(t, xvfbtest.Options{})
	if layout != "us" {
		setLayout(t, s, layout)
	}
	conn, err := x11.Dial(s.Display, s.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	d, err := New(conn, func(x, y int) {})
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func setLayout(t testing.TB, s *xvfbtest.Server, layout string) {
	t.Helper()
	xvfbtest.Need(t, "setxkbmap")
	run(t, s, "setxkbmap", "-layout", layout)
}

func run(t testing.TB, s *xvfbtest.Server, name string, args ...string) string {
	t.Helper()
	out, err := s.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// start runs a program until the test ends.
func start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
}

// focus waits for the window with a title and gives it the keys.
func focus(t testing.TB, s *xvfbtest.Server, title string) {
	t.Helper()
	var out []byte
	var err error
	for range 5 { // xdotool stumbles over windows that vanish while it looks at them
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "xdotool", "search", "--sync", "--onlyvisible", "--name", "^"+title+"$", "windowfocus")
		cmd.Env = append(os.Environ(), s.Env()...)
		if out, err = cmd.CombinedOutput(); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("waiting for the window %q: %v\n%s", title, err, out)
	}
}

// terminal is an xterm whose keys arrive in a pipe.
type terminal struct {
	t     testing.TB
	bytes *os.File
	pid   int
}

// openTerminal starts an xterm and gives it the keys. Options are such as "-xrm", "...".
func openTerminal(t testing.TB, s *xvfbtest.Server, options ...string) *terminal {
	t.Helper()
	xvfbtest.Need(t, "xterm", "xdotool")
	fifo := filepath.Join(t.TempDir(), "keys")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	args := append([]string{"-u8", "-T", "keys"}, options...)
	cmd := s.Command("xterm", append(args, "-e", "sh", "-c", `stty raw -echo; printf . >"$0"; exec cat >"$0"`, fifo)...)
	cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8", "XMODIFIERS=@im=none")
	start(t, cmd)
	term := &terminal{t, pipe, cmd.Process.Pid}
	if got := term.read(1); got != "." {
		t.Fatalf("the terminal said %q", got)
	}
	focus(t, s, "keys")
	return term
}

// read returns the next n bytes that keys made, or fewer if they do not come.
func (term *terminal) read(n int) string {
	term.t.Helper()
	term.bytes.SetReadDeadline(time.Now().Add(patience))
	b := make([]byte, n)
	n, err := io.ReadFull(term.bytes, b)
	if err != nil {
		term.t.Errorf("waiting for keys to arrive: %v", err)
	}
	return string(b[:n])
}

// expect fails the test unless the keys made exactly this. Enter makes a carriage return.
func (term *terminal) expect(want string) {
	term.t.Helper()
	want = strings.ReplaceAll(want, "\n", "\r")
	if got := term.read(len(want)); got != want {
		term.t.Errorf("typed %s", difference(want, got))
	}
}

// difference words where two texts part.
func difference(want, got string) string {
	w, g := []rune(want), []rune(got)
	i := 0
	for i < min(len(w), len(g)) && w[i] == g[i] {
		i++
	}
	clip := func(r []rune) string { return string(r[max(min(i-10, len(r)), 0):min(i+10, len(r))]) }
	return fmt.Sprintf("%d characters, of %d that arrived the first wrong one is number %d: want %q, got %q", len(w), len(g), i+1, clip(w), clip(g))
}

// field is a GTK text field in a dialogue, whose text is known when that ends.
type field struct {
	t    testing.TB
	text chan string
	pid  int
}

// openField starts the dialogue and gives it the keys.
func openField(t testing.TB, s *xvfbtest.Server) *field {
	t.Helper()
	xvfbtest.Need(t, "zenity", "xdotool")
	cmd := s.Command("zenity", "--text-info", "--editable", "--title", "field")
	cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8", "GTK_IM_MODULE=gtk-im-context-simple", "GDK_BACKEND=x11")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	f := &field{t, make(chan string, 1), cmd.Process.Pid}
	go func() {
		text, _ := io.ReadAll(out)
		f.text <- string(text)
	}()
	focus(t, s, "field")
	return f
}

// expect ends the dialogue and fails the test unless the field has this text.
func (f *field) expect(d *Device, want string) {
	f.t.Helper()
	h := d.NewHolder()
	for _, name := range []string{"ctrl+tab", "tab", "enter"} { // to Cancel, to OK
		c, err := ParseKey(name)
		if err == nil {
			err = h.Chord(f.t.Context(), c, 0)
		}
		if err != nil {
			f.t.Error(err)
		}
	}
	select {
	case got := <-f.text:
		if got = strings.TrimSuffix(got, "\n"); got != want {
			f.t.Errorf("typed %s", difference(want, got))
		}
	case <-time.After(patience):
		f.t.Error("the dialogue did not end")
	}
}

// page is a text area in Chromium that reports its text after every change.
type page struct {
	t    testing.TB
	text chan string
}

// openPage starts the browser and returns when the text area has the keys.
func openPage(t testing.TB, s *xvfbtest.Server) *page {
	t.Helper()
	xvfbtest.Need(t, "chromium", "xdotool")
	const html = `<meta charset=utf-8><title>page</title><textarea rows=40 cols=80></textarea><script>
		const area = document.querySelector("textarea"), report = () => fetch("/text", {method: "POST", body: area.value})
		area.oninput = report; area.focus()
		onkeydown = event => { if (event.key == "F2") fetch("/text", {method: "POST", body: "has the keys"}) }</script>`
	p := &page{t, make(chan string, 10000)}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, html)
			return
		}
		text, _ := io.ReadAll(r.Body)
		p.text <- string(text)
	}))
	t.Cleanup(site.Close)
	cmd := s.Command("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--password-store=basic", "--no-proxy-server",
		"--user-data-dir="+t.TempDir(), "--app="+site.URL)
	cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8")
	start(t, cmd)
	focus(t, s, "page")
	// The text area has its focus before the browser passes keys on.
	for deadline := time.Now().Add(patience); ; {
		if out, err := s.Command("xdotool", "key", "F2").CombinedOutput(); err != nil {
			t.Fatalf("xdotool: %v\n%s", err, out)
		}
		select {
		case <-p.text:
			return p
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the page has no keys")
		}
	}
}

// expect fails the test unless the text area comes to hold this text.
func (p *page) expect(want string) {
	p.t.Helper()
	got, deadline := "", time.After(patience)
	for {
		select {
		case got = <-p.text:
			if got == want {
				return
			}
		case <-deadline:
			p.t.Errorf("typed %s", difference(want, got))
			return
		}
	}
}

// stop makes a process hang until the test ends or kills it.
func stop(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// watcher is a window over the whole screen that tells its events.
type watcher struct {
	t     testing.TB
	lines *bufio.Scanner
}

// openWatcher starts xev and gives it the keys.
func openWatcher(t testing.TB, s *xvfbtest.Server) *watcher {
	t.Helper()
	xvfbtest.Need(t, "xev", "xdotool")
	cmd := s.Command("xev", "-name", "watcher", "-geometry", "1280x800+0+0", "-event", "keyboard", "-event", "mouse")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	focus(t, s, "watcher")
	return &watcher{t, bufio.NewScanner(out)}
}

var (
	xevKey    = regexp.MustCompile(`keysym 0x[0-9a-f]+, (\w+)\)`)
	xevButton = regexp.MustCompile(`button (\d)`)
	xevPlace  = regexp.MustCompile(`root:\((\d+),(\d+)\)`)
)

// next returns the next events, such as "+Control_L", "-1" (a button) and "640,400" (a
// move), as many as there are words in want.
func (w *watcher) next(want string) string {
	w.t.Helper()
	alarm := time.AfterFunc(patience, func() { panic("xev says nothing more") })
	defer alarm.Stop()
	var got []string
	kind, place := "", ""
	for len(got) < len(strings.Fields(want)) && w.lines.Scan() {
		line := w.lines.Text()
		if name, _, ok := strings.Cut(line, " event, serial"); ok {
			kind = name
		}
		if m := xevPlace.FindStringSubmatch(line); m != nil {
			place = m[1] + "," + m[2]
			if kind == "MotionNotify" {
				got = append(got, place)
			}
		}
		sign := map[bool]string{true: "+", false: "-"}[strings.HasSuffix(kind, "Press")]
		if m := xevKey.FindStringSubmatch(line); m != nil && strings.HasPrefix(kind, "Key") {
			got = append(got, sign+m[1])
		}
		if m := xevButton.FindStringSubmatch(line); m != nil && strings.HasPrefix(kind, "Button") {
			got = append(got, sign+m[1])
		}
	}
	return strings.Join(got, " ")
}

func (w *watcher) expect(want string) {
	w.t.Helper()
	if got := w.next(want); got != want {
		w.t.Errorf("events: got %s, want %s", got, want)
	}
}
