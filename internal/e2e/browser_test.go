package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// site is a web site that people sign in to.
type site struct {
	*httptest.Server
}

// newSite serves /, which says who is signed in by cookie, /in and /out, and /keep and
// /kept, which do the same with localStorage.
func newSite(t *testing.T) *site {
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprintf(w, "<!doctype html><title>Site</title>%s", body)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if c, err := r.Cookie("login"); err == nil {
			who = c.Value
		}
		page(w, "<h1>Welcome</h1><p>Signed in: "+who+".</p><a href='/out'>Leave</a>")
	})
	mux.HandleFunc("GET /in", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "login", Value: "ada", Path: "/", HttpOnly: true, MaxAge: 3600})
		page(w, "<p>Done.</p>")
	})
	mux.HandleFunc("GET /out", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "login", Path: "/", MaxAge: -1})
		page(w, "<p>Bye.</p>")
	})
	mux.HandleFunc("GET /keep", func(w http.ResponseWriter, r *http.Request) {
		page(w, "<script>localStorage.setItem('token', 'Zuse ✓'); document.write('kept')</script>")
	})
	mux.HandleFunc("GET /kept", func(w http.ResponseWriter, r *http.Request) {
		page(w, "<script>document.write('token: ' + localStorage.getItem('token') + '.')</script>")
	})
	s := &site{httptest.NewServer(mux)}
	t.Cleanup(s.Close)
	return s
}

// shows opens an address and returns the page's text.
func (s *session) shows(address string) string {
	s.t.Helper()
	s.call("open_path", map[string]any{"session": s.id, "path": address})
	return s.pageText()
}

func (s *session) pageText() string {
	s.t.Helper()
	return s.call("page_text", map[string]any{"session": s.id}).fields["text"].(string)
}

// becomes reloads the page in front until its text holds a part.
func (s *session) becomes(part string) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		text := s.pageText()
		if strings.Contains(text, part) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the page never came to say %q: %q", part, text)
		}
		s.act(map[string]any{"kind": "key", "key": "F5"})
	}
}

func TestLoginsAreShared(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	site := newSite(t)
	c := newComputer(t)
	a := c.agent()
	one, two := a.start("first"), a.start("second")
	if text := one.shows(site.URL + "/"); !strings.Contains(text, "Signed in: nobody.") {
		t.Fatalf("%q", text)
	}
	two.shows(site.URL + "/")
	one.shows(site.URL + "/in")
	two.becomes("Signed in: ada.")
	one.shows(site.URL + "/keep")
	one.shows(site.URL + "/out")
	two.becomes("Signed in: nobody.")
	two.shows(site.URL + "/in")
	three := a.start("third")
	if text := three.shows(site.URL + "/"); !strings.Contains(text, "Signed in: ada.") {
		t.Errorf("later screen: %q", text)
	}
	if text := three.shows(site.URL + "/kept"); !strings.Contains(text, "token: Zuse ✓.") {
		t.Errorf("localStorage of a later screen: %q", text)
	}
}
