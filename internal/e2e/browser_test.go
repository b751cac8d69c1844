package e2e

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// site is a web site that people sign in to.
type site struct {
	*httptest.Server
}

// newSite serves /, which says who is signed in by cookie, /in (as ada, or ?as=NAME) and
// /out, and /keep and /kept, which do the same with localStorage.
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
		who := cmp.Or(r.FormValue("as"), "ada")
		http.SetCookie(w, &http.Cookie{Name: "login", Value: who, Path: "/", HttpOnly: true, MaxAge: 3600})
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

// browserTime is how long a browser may take to start on a machine that has much to do.
const browserTime = 90 * time.Second

// browse opens an address.
func (s *session) browse(address string) error {
	_, err := s.within(browserTime, "open_path", map[string]any{"session": s.id, "path": address})
	return err
}

// shows opens an address and returns the page's text.
func (s *session) shows(address string) string {
	s.t.Helper()
	if err := s.browse(address); err != nil {
		s.t.Fatal(err)
	}
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

// browsers returns the processes of each browser of a computer, by display.
func (c *computer) browsers() map[string][]int {
	type process struct {
		parent  int
		display string // of a main process of a Chromium of this computer
	}
	state := "XAUTHORITY=" + filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(c.home)))), "state")
	all := make(map[int]process)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if !alive(pid) {
			continue
		}
		var p process
		stat, _ := os.ReadFile(dir + "/stat")
		fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " %c %d", new(rune), &p.parent)
		command, _ := os.ReadFile(dir + "/cmdline")
		environ, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(command, []byte("/chromium/chromium")) && bytes.Contains(environ, []byte("\x00"+state)) {
			_, rest, _ := strings.Cut("\x00"+string(environ), "\x00DISPLAY=")
			p.display, _, _ = strings.Cut(rest, "\x00")
		}
		all[pid] = p
	}
	found := make(map[string][]int)
	for pid := range all {
		for up := pid; up != 0; up = all[up].parent {
			if display := all[up].display; display != "" {
				found[display] = append(found[display], pid)
				break
			}
		}
	}
	return found
}

// shareOfMemory returns how much memory processes have to themselves, and their shares of what
// they have together, in MB.
func shareOfMemory(pids []int) (mb int) {
	for _, pid := range pids {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		_, rest, _ := strings.Cut(string(data), "\nPss:")
		var kb int
		fmt.Sscan(rest, &kb)
		mb += kb
	}
	return mb / 1024
}

// startedBrowsers returns what the daemon's log says of starts: how many milliseconds they
// took, from the call to the window, and where their DevTools are, by screen.
func (c *computer) startedBrowsers() (ms []int, devtools map[int]string) {
	c.t.Helper()
	log, err := c.command("logs").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	devtools = make(map[int]string)
	for _, m := range regexp.MustCompile(`msg="browser started" screen=(\d+) ms=(\d+) devtools=(\S+)`).FindAllStringSubmatch(string(log), -1) {
		took, _ := strconv.Atoi(m[2])
		screen, _ := strconv.Atoi(m[1])
		ms = append(ms, took)
		devtools[screen] = m[3]
	}
	return ms, devtools
}

// S0-202 to S0-207; issue 9, Done when 1.
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
	three := a.start("third") // S0-206: the jar is there before its first page
	if text := three.shows(site.URL + "/"); !strings.Contains(text, "Signed in: ada.") {
		t.Errorf("later screen: %q", text)
	}
	if text := three.shows(site.URL + "/kept"); !strings.Contains(text, "token: Zuse ✓.") {
		t.Errorf("localStorage of a later screen: %q", text)
	}
}

// Issue 9, Done when 1 and 2: four browsers at once, and two that close at once and have
// changed the same file (S0-208, S0-210). They end with their screens (S0-196).
func TestFourBrowsersAtOnce(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	site := newSite(t)
	c := newComputer(t)
	a := c.agent()
	sessions := make([]*session, 4)
	for i := range sessions {
		sessions[i] = a.start(fmt.Sprint("browser ", i+1))
		sessions[i].observe()
	}
	together := func(do func(*session) error) {
		t.Helper()
		errs := make([]error, len(sessions))
		var wg sync.WaitGroup
		for i, s := range sessions {
			wg.Go(func() { errs[i] = do(s) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	together(func(s *session) error { return s.browse(site.URL + "/?" + s.id) })
	ms, devtools := c.startedBrowsers()
	slices.Sort(ms)
	t.Logf("start to window of four at once: %v ms, p50 %d ms", ms, ms[len(ms)/2])
	if len(ms) != 4 || len(devtools) != 4 {
		t.Errorf("%d starts on %d screens", len(ms), len(devtools))
	}
	running := c.browsers()
	if len(running) != 4 {
		t.Errorf("%d browsers", len(running))
	}
	for display, pids := range running {
		t.Logf("%s: %d processes, %d MB", display, len(pids), shareOfMemory(pids))
	}
	together(func(s *session) error { // a bookmark
		_, err := s.try("computer_act", map[string]any{"session": s.id, "stop_on_no_reaction": "never", "actions": []map[string]any{
			{"kind": "key", "key": "d", "modifiers": []string{"ctrl"}}, {"kind": "key", "key": "Enter"},
		}})
		return err
	})
	together(func(s *session) error {
		_, err := s.within(browserTime, "end_session", map[string]any{"session": s.id})
		return err
	})
	ended := time.Now()
	s := a.start("next")
	s.eventually("no browser is left", func() bool { return len(c.browsers()) == 0 })
	if took := time.Since(ended); took > 8*time.Second {
		t.Errorf("the browsers lived on for %v", took)
	}
	bookmarks, err := os.ReadFile(filepath.Join(c.home, ".local/share/computer-use/chromium/template/Default/Bookmarks"))
	if n := strings.Count(string(bookmarks), site.URL); err != nil || n != 1 {
		t.Errorf("the template has %d of the bookmarks, want the last one: %v", n, err)
	}
}

// S0-201 and issue 9, item 1: the DevTools of a browser are on the loopback address, for the
// programs of its own session.
func TestDevToolsBelongToTheSession(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	c := newComputer(t)
	a := c.agent()
	one, two := a.start("owner"), a.start("neighbour")
	if _, err := one.within(browserTime, "launch_app", map[string]any{"session": one.id, "application": "browser"}); err != nil {
		t.Fatal(err)
	}
	two.observe()
	_, devtools := c.startedBrowsers()
	_, port, _ := strings.Cut(devtools[1], ":")
	connect := `exec 3<>/dev/tcp/127.0.0.1/` + port + `
printf 'GET /devtools/browser HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n' >&3
head -n 1 <&3`
	for _, c := range []struct {
		who  *session
		want string
	}{{one, "101"}, {two, "403"}} {
		if line := c.who.stdout(connect); !strings.Contains(line, c.want) {
			t.Errorf("%q, want %s", line, c.want)
		}
	}
}

// Issue 9, Done when 1: a computer that was killed while Chromium ran starts clean with the
// same home, whatever the profile's lock says.
func TestBrowserAfterAKill(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	site := newSite(t)
	c := newComputer(t)
	a := c.agent()
	s := a.start("signs in")
	s.shows(site.URL + "/in")
	s.end() // in good order, which leaves a template
	a.eventually("the browser is gone", func() bool { return len(c.browsers()) == 0 })
	jar := filepath.Join(c.home, ".computer-use/cookies.json")
	if info, err := os.Stat(jar); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the jar is %v, %v", info.Mode(), err)
	}
	s = a.start("victim")
	s.shows(site.URL + "/in?as=bob")
	s.eventually("the changed cookie is in the jar", func() bool {
		data, _ := os.ReadFile(jar)
		return strings.Contains(string(data), "bob")
	})
	lock := filepath.Join(c.home, ".local/share/computer-use/chromium/screen-1/SingletonLock")
	for _, target := range []string{"", "another-host-7"} { // the number is somebody else's inside
		kill(t, c.info().Daemon.PID)
		s.eventually("the computer is gone", func() bool { return c.info().State != "running" && len(c.browsers()) == 0 })
		if _, err := os.Lstat(lock); err != nil {
			t.Fatalf("Chromium left no lock: %v", err)
		}
		if target != "" {
			os.Remove(lock)
			if err := os.Symlink(target, lock); err != nil {
				t.Fatal(err)
			}
		}
		s = c.agent().start("heir")
		if text := s.shows(site.URL + "/"); !strings.Contains(text, "Signed in: bob.") {
			t.Errorf("after a kill: %q", text)
		}
		// An error of the profile would be a window, an offer to restore pages comes with
		// a profile that says so.
		if windows := fmt.Sprint(s.observe().fields["windows"]); strings.Count(windows, "class:Chromium") != 1 || !strings.Contains(windows, "title:Site") {
			t.Errorf("after a kill there are %s", windows)
		}
		template, err := os.ReadFile(filepath.Join(c.home, ".local/share/computer-use/chromium/template/Default/Preferences"))
		if err != nil || !strings.Contains(string(template), `"exit_type":"Normal"`) {
			t.Errorf("the template's Preferences are not those of a Chromium that quit: %v", err)
		}
	}
}

// Issue 9, item 5: an action is not over while the page waits for its answer. And item 1: a
// crash is seen and said.
func TestPageHoldsSettlingBack(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	site := http.NewServeMux()
	site.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>Slow</title><body tabindex=0><script>
			document.onkeydown = async () => { document.body.append(await (await fetch("/answer")).text()); };
			document.body.append("ready");
		</script>`)
	})
	site.HandleFunc("GET /answer", func(w http.ResponseWriter, r *http.Request) {
		// More than any action waits for a first reaction.
		select {
		case <-time.After(1200 * time.Millisecond):
			fmt.Fprint(w, " and answered")
		case <-r.Context().Done():
		}
	})
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	c := newComputer(t)
	s := c.agent().start("patient")
	if text := s.shows(server.URL); text != "ready" {
		t.Fatalf("%q", text)
	}
	steps := s.act(map[string]any{"kind": "key", "key": "a"}).fields["steps"].([]any)
	step := steps[0].(map[string]any)
	if step["verdict"] != "settled" || step["waited_ms"].(float64) < 1000 {
		t.Errorf("%v", step)
	}
	if text := s.pageText(); text != "ready and answered" {
		t.Errorf("after the action the page says %q", text)
	}

	for _, pids := range c.browsers() {
		kill(t, slices.Min(pids))
	}
	s.eventually("a note of the crash", func() bool { return strings.Contains(s.observe().text, "The browser crashed (signal: killed)") })
	s.refused("not_found", "page_text", map[string]any{"session": s.id})
	if text := s.shows(server.URL); text != "ready" {
		t.Errorf("after the crash: %q", text)
	}
}
