package viewer

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// get requests a path with headers; a Host header names the host.
func (s served) get(t *testing.T, path string, headers map[string]string) (*http.Response, string) {
	t.Helper()
	req, _ := http.NewRequest("GET", "http://"+s.addr+path, nil)
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	if h := headers["Host"]; h != "" {
		req.Host = h
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body)
}

func TestTheBuildHoldsThePage(t *testing.T) {
	xvfbtest.NeedThat(t, New(Config{}).Complete(), "noVNC: run scripts/fetch-novnc before the build")
}

func TestABuildWithoutThePageSaysHowToGetIt(t *testing.T) {
	s := serve(t, newFakeComputer())
	for name := range s.files {
		if strings.HasPrefix(name, "novnc/") {
			delete(s.files, name)
		}
	}
	resp, body := s.get(t, "/", nil)
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "scripts/fetch-novnc") {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
}

// S0-185
func TestHosts(t *testing.T) {
	s := serve(t, newFakeComputer())
	_, port, _ := strings.Cut(s.addr, ":")
	for host, ok := range map[string]bool{
		"127.0.0.1:" + port:           true,
		"localhost:" + port:           true,
		"[::1]:" + port:               true,
		"127.0.0.1":                   false, // port 80
		"127.0.0.1:1":                 false,
		"evil.example":                false,
		"evil.example:" + port:        false,
		"127.0.0.1.nip.io:" + port:    false, // names that resolve to loopback
		"localhost.evil.com:" + port:  false,
		"localhost.:" + port:          false,
		"127.0.0.1:" + port + "@evil": false,
		"0.0.0.0:" + port:             false,
		"2130706433:" + port:          false,
		"[::ffff:127.0.0.1]:" + port:  false,
		"10.0.0.1:" + port:            false,
	} {
		for _, path := range []string{"/", "/assets/main.js", "/live"} {
			resp, body := s.get(t, path, map[string]string{"Host": host})
			// A malformed name is refused by net/http before it comes to us.
			if refused := resp.StatusCode == 403 || resp.StatusCode == 400; refused == ok && path != "/live" || !ok && !refused {
				t.Errorf("Host %q: %s answered with %d %s", host, path, resp.StatusCode, body)
			}
			if strings.Contains(resp.Header.Get("Content-Security-Policy"), "evil") {
				t.Errorf("Host %q got into the policy", host)
			}
		}
	}
}

func TestRequestsOfOtherPages(t *testing.T) {
	s := serve(t, newFakeComputer())
	type headers = map[string]string
	for _, test := range []struct {
		name    string
		path    string
		headers headers
		ok      bool
	}{
		{"typed address", "/", headers{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, true},
		{"link on another page", "/", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, true},
		{"frame in another page", "/", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, false},
		{"frame in a page on another port", "/", headers{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, false},
		{"our own script", "/assets/main.js", headers{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Origin": "http://" + s.addr}, true},
		{"script for another page", "/assets/main.js", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, false},
		{"script for a page on another port", "/assets/main.js", headers{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, false},
		{"fetch of another page", "/assets/main.js", headers{"Origin": "http://evil.example"}, false},
		{"fetch of a page on another port", "/assets/main.js", headers{"Origin": "http://127.0.0.1:1"}, false},
		{"fetch of a page without an origin", "/", headers{"Origin": "null"}, false},
		{"an https page of our name", "/", headers{"Origin": "https://" + s.addr}, false},
		{"a program", "/", nil, true},
	} {
		resp, body := s.get(t, test.path, test.headers)
		if want := map[bool]int{true: 200, false: 403}[test.ok]; resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", test.name, resp.StatusCode, want, body)
		}
		h := resp.Header
		if h.Get("Access-Control-Allow-Origin") != "" || h.Get("X-Frame-Options") != "DENY" ||
			h.Get("Cross-Origin-Resource-Policy") != "same-origin" || h.Get("Referrer-Policy") != "no-referrer" ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
			!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers %v", test.name, h)
		}
	}
}

// A foreign page cannot fill the disk with what is said of its requests.
func TestRefusalsFillNoLog(t *testing.T) {
	for level, most := range map[slog.Level]int{slog.LevelInfo: 0, slog.LevelDebug: 600} {
		var log bytes.Buffer
		s := serveLogged(t, newFakeComputer(), "127.0.0.1:0", slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})))
		resp, _ := s.get(t, "/assets/"+strings.Repeat("%FF", 4000), map[string]string{"Sec-Fetch-Site": "cross-site"})
		s.stop()
		if resp.StatusCode != http.StatusForbidden || log.Len() > most || most > 0 && log.Len() == 0 {
			t.Errorf("%v: status %d, %d bytes were logged: %s", level, resp.StatusCode, log.Len(), &log)
		}
	}
}

func TestFiles(t *testing.T) {
	s := serve(t, newFakeComputer())
	for path, want := range map[string]int{
		"/": 200, "/assets/main.js": 200, "/assets/base.css": 200, "/assets/icon.svg": 200,
		"/assets/novnc/LICENSE.txt": 200, "/assets/novnc/rfb.js": 200,
		"/assets/": 404, "/assets/none.js": 404, "/assets/..%2fviewer.go": 404, "/favicon.ico": 404, "/v1/info": 404,
	} {
		if strings.Contains(path, "novnc") && !s.Complete() {
			continue
		}
		resp, _ := s.get(t, path, nil)
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
		}
		if want != 200 {
			continue
		}
		again, _ := s.get(t, path, map[string]string{"If-None-Match": resp.Header.Get("ETag")})
		if again.StatusCode != 304 {
			t.Errorf("%s: asked again with status %d, want 304", path, again.StatusCode)
		}
	}
}

// S0-186
func TestSocketsNeedOurOrigin(t *testing.T) {
	s := serve(t, newFakeComputer(Session{ID: "a", Screen: 3}))
	_, page := s.openPage(t)
	for _, origin := range []string{"", "null", "http://evil.example", "http://127.0.0.1:1", "https://" + s.addr, "http://" + s.addr + ".evil.com"} {
		for _, path := range []string{"/live", "/screens/3"} {
			_, resp, err := s.dial(path, http.Header{"Origin": {origin}}, "binary", "page."+page)
			if err == nil || resp == nil || resp.StatusCode != 403 {
				t.Errorf("Origin %q opened %s: %v", origin, path, err)
			}
		}
	}
}

// S0-184: who has not the key gets nothing.
func TestKeys(t *testing.T) {
	s := serve(t, newFakeComputer(Session{ID: "a", Title: "task", Screen: 3}))
	conn, _ := s.openPage(t)
	if m := next(t, conn, msgSessions); len(m.Sessions) != 1 || m.Sessions[0].Title != "task" {
		t.Errorf("sessions %+v", m.Sessions)
	}
	for _, hello := range []string{
		`{"type":"hello","key":"wrong"}`, `{"type":"hello","key":""}`, `{"type":"hello"}`,
		`{"type":"hello","key":"` + testKey + `x"}`, `{"type":"take","key":"` + testKey + `"}`,
	} {
		conn, _, err := s.dial("/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		conn.WriteMessage(websocket.TextMessage, []byte(hello))
		wantClose(t, conn, closeWrongKey, "key is wrong")
		conn.Close()
	}
	for what, data := range map[string]string{"a long message": strings.Repeat("x", maxHello+1), "no JSON": "x"} {
		conn, _, err := s.dial("/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		conn.WriteMessage(websocket.TextMessage, []byte(data))
		if _, _, err := conn.ReadMessage(); err == nil {
			t.Errorf("%s was answered", what)
		}
		conn.Close()
	}
}

func TestWrongKeysAreDelayedAndNobodyIsLockedOut(t *testing.T) {
	// While wrong keys of the same peer wait, a right one gets in at once, however
	// many of them there are.
	s := serve(t, newFakeComputer())
	for range 30 {
		s.cfg.Guard.Wrong("127.0.0.1")
	}
	for range maxWaiting + 5 {
		conn, _, err := s.dial("/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.WriteJSON(command{Type: cmdHello, Key: "wrong"})
	}
	start := time.Now()
	s.openPage(t)
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("the right key waited %v", d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.waiting); n > maxWaiting {
		t.Errorf("%d connections wait", n)
	}
}

func TestOnlySoManyPages(t *testing.T) {
	s := serve(t, newFakeComputer())
	for range maxPages {
		s.openPage(t)
	}
	conn, _, err := s.dial("/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.WriteJSON(command{Type: cmdHello, Key: testKey})
	wantClose(t, conn, closeTooMany, "128 pages")
}

func TestScreensNeedAPage(t *testing.T) {
	s := serve(t, newFakeComputer(Session{ID: "a", Screen: 3}))
	channel, page := s.openPage(t)
	for _, protocols := range [][]string{{}, {"binary"}, {"binary", "page."}, {"binary", "page.x"}, {"page"}} {
		if _, resp, err := s.dial("/screens/3", nil, protocols...); err == nil || resp.StatusCode != 403 {
			t.Errorf("protocols %q opened the screen: %v", protocols, err)
		}
	}
	// The subprotocol is chosen only when it is offered.
	for _, test := range []struct {
		offered []string
		want    string
	}{{[]string{"binary", "page." + page}, "binary"}, {[]string{"page." + page}, ""}} {
		conn, _, err := s.dial("/screens/3", nil, test.offered...)
		if err != nil {
			t.Fatal(err)
		}
		if conn.Subprotocol() != test.want {
			t.Errorf("subprotocol %q for %q", conn.Subprotocol(), test.offered)
		}
		conn.Close()
	}
	for _, screen := range []string{"4", "0", "-1", "x", "3x"} {
		conn, _, err := s.dial("/screens/"+screen, nil, "binary", "page."+page)
		if err != nil {
			t.Fatal(err)
		}
		wantClose(t, conn, closeRefused, "is not open")
		conn.Close()
	}
	// A page's id is worth nothing when its channel has ended.
	channel.Close()
	deadline := time.Now().Add(5 * time.Second)
	for {
		_, resp, err := s.dial("/screens/3", nil, "binary", "page."+page)
		if err != nil && resp.StatusCode == 403 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the id still opens a screen")
		}
	}
}
