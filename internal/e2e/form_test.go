package e2e

import (
	_ "embed"
	"fmt"
	"image"
	"image/color"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

var (
	//go:embed testdata/late.html
	latePage []byte
	//go:embed testdata/late.py
	lateProgram []byte
)

// program puts a program into the computer's home where its PATH finds it.
func (c *computer) program(name string, text []byte) {
	c.t.Helper()
	dir := filepath.Join(c.home, ".local", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// page opens a page in a browser that fills the screen, and returns when it is painted.
// What the page posts to /typed comes out of the channel.
func (s *session) page(c *computer, page []byte, query string) <-chan string {
	s.t.Helper()
	xvfbtest.Need(s.t, "chromium")
	typed, painted := make(chan string, 10), make(chan bool, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(page)
		io.WriteString(w, "<script>requestAnimationFrame(() => requestAnimationFrame(() => fetch('/painted', { method: 'POST' })))</script>")
	})
	mux.HandleFunc("POST /painted", func(http.ResponseWriter, *http.Request) { painted <- true })
	mux.HandleFunc("POST /typed", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		typed <- string(body)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: mux}
	go server.Serve(listener)
	s.t.Cleanup(func() { server.Close() })
	c.program("page", []byte("#!/bin/sh\nexec chromium --no-sandbox --test-type --no-first-run --disable-gpu "+
		"--user-data-dir=\"$HOME/browser\" --kiosk --app=\"$1\"\n"))
	s.act(map[string]any{"kind": "focus", "application": "page", "uri": fmt.Sprintf("http://%s/%s", listener.Addr(), query)})
	select {
	case <-painted:
	case <-time.After(20 * time.Second):
		s.t.Fatal("the page was not painted within 20 s")
	}
	s.rest()
	return typed
}

// form opens a GTK form that fills the screen. The lines that it takes come out of the
// channel.
func (s *session) form(c *computer, program []byte) <-chan string {
	s.t.Helper()
	if err := exec.Command("/usr/bin/python3", "-c", "import gi").Run(); err != nil {
		xvfbtest.Need(s.t, "python3 with gi")
	}
	c.program("form", program)
	s.act(map[string]any{"kind": "focus", "application": "form", "uri": "taken"})
	s.rest()
	lines := make(chan string, 10)
	path := filepath.Join(c.home, "taken")
	stop := make(chan struct{})
	s.t.Cleanup(func() { close(stop) })
	go func() {
		for read := 0; ; {
			data, _ := os.ReadFile(path)
			if i := strings.IndexByte(string(data[read:]), '\n'); i >= 0 {
				lines <- string(data[read : read+i])
				read += i + 1
				continue
			}
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond): // files have no events
			}
		}
	}()
	return lines
}

// rest returns when the screen is still.
func (s *session) rest() {
	s.t.Helper()
	if got := s.call("computer_wait", map[string]any{"session": s.id, "timeout_ms": 20_000}); got.fields["met"] != true {
		s.t.Fatal(got.text)
	}
}

// A field that comes 700 ms after the click on its button: what is typed in the same
// batch, without any wait, is not lost.
func TestTypingWaitsForALateField(t *testing.T) {
	rounds := 50
	if testing.Short() {
		rounds = 3
	}
	for _, test := range []struct {
		name string
		open func(s *session, c *computer) <-chan string
	}{
		{"web", func(s *session, c *computer) <-chan string { return s.page(c, latePage, "") }},
		{"web, nothing shows the click", func(s *session, c *computer) <-chan string { return s.page(c, latePage, "?silent") }},
		{"GTK", func(s *session, c *computer) <-chan string { return s.form(c, lateProgram) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			c := newComputer(t)
			s := c.agent().start("late field")
			typed := test.open(s, c)
			lost := 0
			for round := range rounds {
				want := fmt.Sprintf("Round %d: Grüße", round)
				got := s.act(
					map[string]any{"kind": "click", "x": 200, "y": 130},
					map[string]any{"kind": "type", "text": want},
					map[string]any{"kind": "key", "key": "enter"},
				)
				if got.fields["stopped"] != nil {
					t.Fatalf("round %d: %s", round, got.text)
				}
				select {
				case text := <-typed:
					if text != want {
						t.Errorf("round %d: the field got %q", round, text)
						lost++
					}
				case <-time.After(5 * time.Second):
					t.Fatalf("round %d: the field got nothing\n%s", round, got.text)
				}
			}
			t.Logf("nothing lost in %d of %d rounds", rounds-lost, rounds)
		})
	}
}

//go:embed testdata/form.html
var formPage []byte

// A form task of 20 steps: a click into each of nine fields and its text, a box to tick
// and a button. What it costs an agent in calls, seconds and image bytes, done in one
// batch that settles after each step, in single calls that settle, and in the way of
// servers without settling: a call for each step, a fixed wait, a full image.
func BenchmarkForm(b *testing.B) {
	for _, way := range []struct {
		name    string
		batch   int // actions in a call
		options map[string]any
	}{
		{"OneBatch", 20, nil},
		{"SingleSettled", 1, map[string]any{"image": "auto"}},
		{"SingleFixed300ms", 1, map[string]any{"settle_ms": 300}},
	} {
		b.Run(way.name, func(b *testing.B) {
			// Without the 45 s rule: the fixed way has a full image each step.
			c := newComputer(b, "COMPUTER_USE_ELIDE_TTL="+map[bool]string{true: "0", false: "45s"}[way.name == "SingleFixed300ms"])
			s := c.agent().start("form")
			typed := s.page(c, formPage, "")
			steps, want := formSteps()
			var calls, bytes int
			var took time.Duration
			for b.Loop() {
				start := time.Now()
				for i := 0; i < len(steps); i += way.batch {
					args := map[string]any{"session": s.id, "actions": steps[i : i+way.batch]}
					for name, value := range way.options {
						args[name] = value
					}
					got := s.call("computer_act", args)
					if got.fields["stopped"] != nil {
						b.Fatal(got.text)
					}
					calls++
					bytes += int(got.fields["image"].(map[string]any)["bytes"].(float64))
				}
				took += time.Since(start)
				select {
				case got := <-typed:
					if got != want {
						b.Fatalf("the form got %q", got)
					}
				case <-time.After(5 * time.Second):
					b.Fatal("the form got nothing")
				}
			}
			n := float64(b.N)
			b.ReportMetric(float64(calls)/n, "calls/task")
			b.ReportMetric(took.Seconds()/n, "s/task")
			b.ReportMetric(float64(bytes)/n/1000, "kB-images/task")
		})
	}
}

// formSteps returns the steps of the task and what the page then posts.
func formSteps() (steps []map[string]any, want string) {
	row := func(i int) map[string]any { return map[string]any{"kind": "click", "x": 320, "y": 80 + 60*i} }
	for i, text := range []string{
		"Ada Lovelace", "St James's Square 12", "London", "SW1Y 4JH", "United Kingdom", "+44 20 7946 0018",
		"ada@example.org", "Analytical Engines", "Bitte klingeln: Grüße!",
	} {
		steps = append(steps, row(i), map[string]any{"kind": "type", "text": text})
		want += text + "|"
	}
	return append(steps, row(9), row(10)), want + "true"
}

//go:embed testdata/corners.html
var cornersPage []byte

// Targets of 10 pixels in the corners of a large screen are hit with what an agent can
// see: a picture at half the size, and the answer's scale.
func TestScaledPictureHitsCorners(t *testing.T) {
	c := newComputer(t, "COMPUTER_USE_SCREEN_SIZE=2560x1600", "COMPUTER_USE_IMAGE_MAX_SIDE=1280", "COMPUTER_USE_IMAGE_FORMAT=png")
	s := c.agent().start("corners")
	hit := s.page(c, cornersPage, "")
	s.act(map[string]any{"kind": "move", "x": 1280, "y": 800})
	got := s.observe()
	about := got.fields["image"].(map[string]any)
	if got.image == nil || got.image.Bounds().Dx() != 1280 || got.image.Bounds().Dy() != 800 || about["width"] != 1280.0 || about["scale"] != 0.5 {
		t.Fatalf("%v: %s", about, got.text)
	}
	for name, colour := range map[string]color.RGBA{
		"red": {255, 0, 0, 255}, "lime": {0, 255, 0, 255}, "blue": {0, 0, 255, 255}, "fuchsia": {255, 0, 255, 255},
	} {
		var target image.Rectangle
		for y := range 800 {
			for x := range 1280 {
				if color.RGBAModel.Convert(got.image.At(x, y)) == colour {
					target = target.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		scale := about["scale"].(float64)
		x := float64(target.Min.X+target.Max.X) / 2 / scale
		y := float64(target.Min.Y+target.Max.Y) / 2 / scale
		s.act(map[string]any{"kind": "click", "x": int(x), "y": int(y)})
		select {
		case what := <-hit:
			if what != name {
				t.Errorf("the click at %v, %v on %s hit %s", x, y, name, what)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("the click at %v, %v on %s did not arrive", x, y, name)
		}
	}
}
