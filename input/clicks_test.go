package input

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// clickPage reports each press with its number in a row, and each dblclick.
const clickPage = `<meta charset=utf-8><title>clicks</title><body style="height:100vh"><script>
	let said = "ready "
	const say = word => { said += word + " "; fetch("/clicks", {method: "POST", body: said}) }
	onmousedown = event => say(event.detail)
	ondblclick = () => say("double")
	onkeydown = () => fetch("/clicks", {method: "POST", body: said})</script>`

// clickProgram does the same in GTK 3.
const clickProgram = `import gi, sys
gi.require_version("Gtk", "3.0"); gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, Gtk
words = {Gdk.EventType.BUTTON_PRESS: "1", Gdk.EventType._2BUTTON_PRESS: "double", Gdk.EventType._3BUTTON_PRESS: "triple"}
def say(word): print(word, end=" ", flush=True)
window = Gtk.Window(title="clicks", default_width=600, default_height=600)
window.add_events(Gdk.EventMask.BUTTON_PRESS_MASK)
window.connect("button-press-event", lambda _, event: say(words[event.type]) or True)
window.show()
say("ready")
Gtk.main()
`

// clickWatch is a program that tells what clicks it takes.
type clickWatch struct {
	t    testing.TB
	said chan string // in all so far, or a part
	part bool
	got  string
}

func openClickPage(t testing.TB, s *xvfbtest.Server) *clickWatch {
	t.Helper()
	xvfbtest.Need(t, "chromium", "xdotool")
	w := &clickWatch{t: t, said: make(chan string, 1000)}
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			rw.Header().Set("Content-Type", "text/html")
			io.WriteString(rw, clickPage)
			return
		}
		said, _ := io.ReadAll(r.Body)
		w.said <- string(said)
	}))
	t.Cleanup(site.Close)
	start(t, s.Command("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--password-store=basic", "--no-proxy-server",
		"--user-data-dir="+t.TempDir(), "--app="+site.URL))
	focus(t, s, "clicks")
	// The browser passes on nothing at first.
	for deadline := time.Now().Add(patience); len(w.said) == 0; time.Sleep(200 * time.Millisecond) {
		run(t, s, "xdotool", "key", "F2")
		if time.Now().After(deadline) {
			t.Fatal("the page has no keys")
		}
	}
	return w
}

func openClickProgram(t testing.TB, s *xvfbtest.Server) *clickWatch {
	t.Helper()
	needGTK(t, "3.0")
	w := &clickWatch{t: t, said: make(chan string, 1000), part: true}
	cmd := s.Command("/usr/bin/python3", "-c", clickProgram)
	cmd.Env = append(cmd.Env, "GDK_BACKEND=x11")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	go func() {
		b := make([]byte, 100)
		for n, err := out.Read(b); err == nil; n, err = out.Read(b) {
			w.said <- string(b[:n])
		}
	}()
	focus(t, s, "clicks")
	return w
}

// needGTK ends the test unless Python has a version of GTK.
func needGTK(t testing.TB, version string) {
	t.Helper()
	err := exec.Command("/usr/bin/python3", "-c", fmt.Sprintf("import gi; gi.require_version('Gtk', %q)", version)).Run()
	xvfbtest.NeedThat(t, err == nil, "python3 with GTK "+version)
}

// expect fails the test unless the program comes to have said exactly this.
func (w *clickWatch) expect(want string) {
	w.t.Helper()
	deadline := time.After(patience)
	for w.got != want {
		select {
		case said := <-w.said:
			if w.part {
				said = w.got + said
			}
			if len(said) > len(w.got) { // reports of a page may overtake each other
				w.got = said
			}
		case <-deadline:
			w.t.Fatalf("the clicks were %q, want %q", w.got, want)
		}
	}
}

// Two clicks stay two, and a double click is one whatever came before, for a page and for
// GTK alike.
func TestClicksStayWhatTheyAre(t *testing.T) {
	for _, c := range []struct {
		name   string
		open   func(testing.TB, *xvfbtest.Server) *clickWatch
		double string
	}{
		{"Chromium", openClickPage, "1 2 double "},
		{"GTK", openClickProgram, "1 1 double "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			d, s := openDevice(t, "us")
			w := c.open(t, s)
			h := d.NewHolder()
			if err := h.Move(300, 300); err != nil {
				t.Fatal(err)
			}
			want := "ready "
			w.expect(want)
			for _, count := range []int{1, 1, 2, 2, 1} {
				if err := h.Click(t.Context(), 1, count); err != nil {
					t.Fatal(err)
				}
				want += map[int]string{1: "1 ", 2: c.double}[count]
			}
			// A button that is pressed and released by hand is a click as well.
			for range 2 {
				if err := errors.Join(h.Press(t.Context(), 1), h.Button(1, false)); err != nil {
					t.Fatal(err)
				}
				want += "1 "
			}
			w.expect(want)
		})
	}
}

// Only a click that could make a double one waits.
func TestClicksApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clicks
		took := func(button int, at image.Point, count int) time.Duration {
			c.moved(at)
			began := time.Now()
			if err := c.apart(t.Context(), button, nil); err != nil {
				t.Error(err)
			}
			c.note(button, count)
			return time.Since(began)
		}
		at := image.Pt(100, 100)
		for i, step := range []struct {
			button, count int
			at            image.Point
			want          time.Duration
		}{
			{1, 1, at, 0},
			{1, 1, at.Add(image.Pt(10, -10)), doubleTime},
			{1, 1, at.Add(image.Pt(21, -10)), 0},
			{1, 1, at, 0},
			{3, 1, at, 0},
			{1, 2, at, 0},
			{1, 1, at, tripleTime},
		} {
			if got := took(step.button, step.at, step.count); got != step.want {
				t.Errorf("click %d waited %v, want %v", i+1, got, step.want)
			}
		}
		time.Sleep(doubleTime)
		if got := took(1, at, 1); got != 0 {
			t.Errorf("a click after the time waited %v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.apart(ctx, 1, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that is cut short: %v", err)
		}
	})
}
