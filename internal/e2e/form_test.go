package e2e

import (
	_ "embed"
	"fmt"
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

// page opens a page in a browser that fills the screen. What the page posts to /typed
// comes out of the channel.
func (s *session) page(c *computer, page []byte, query string) <-chan string {
	s.t.Helper()
	xvfbtest.Need(s.t, "chromium")
	typed := make(chan string, 10)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
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
	s.open("page", fmt.Sprintf("http://%s/%s", listener.Addr(), query))
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
	s.open("form", "taken")
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

// open starts an application and returns when it is on the screen and still.
func (s *session) open(application, uri string) {
	s.t.Helper()
	s.act(map[string]any{"kind": "focus", "application": application, "uri": uri})
	got := s.call("computer_wait", map[string]any{"session": s.id, "timeout_ms": 20_000})
	if got.fields["met"] != true {
		s.t.Fatalf("%s does not come to rest: %s", application, got.text)
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
