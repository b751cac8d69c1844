package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// process is a Chromium of a test.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (p *process) Done() <-chan struct{} { return p.done }
func (p *process) Kill()                 { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
func (p *process) Ending() (string, bool, string) {
	return p.cmd.ProcessState.String(), !p.cmd.ProcessState.Success(), ""
}

// testScreen is the only screen of a test, with its browser.
type testScreen struct {
	*Browser
	process atomic.Pointer[process] // the last that was started
	owns    atomic.Bool             // what Owns says
}

func newTestScreen(t *testing.T) *testScreen {
	t.Helper()
	xvfbtest.Need(t, "chromium")
	server := xvfbtest.Start(t, xvfbtest.Options{})
	cfg := quietConfig(t)
	b := New(cfg)
	s := &testScreen{}
	s.Browser = b.On(Screen{
		Number: 1,
		Start: func(argv []string, files ...*os.File) (Process, error) {
			p := &process{server.Command(argv[0], argv[1:]...), make(chan struct{})}
			p.cmd.Env = append(p.cmd.Env, "HOME="+cfg.Home)
			p.cmd.ExtraFiles = files
			p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := p.cmd.Start(); err != nil {
				return nil, err
			}
			s.process.Store(p)
			go func() {
				p.cmd.Wait()
				close(p.done)
			}()
			return p, nil
		},
		Raise: func(context.Context) error { return nil },
		Owns:  func(string) bool { return s.owns.Load() },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		cancel()
		<-ran
	})
	return s
}

// eventually asks again and again until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30 s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// text opens an address and returns the page when it holds a part.
func (s *testScreen) text(t *testing.T, address, part string, most int) (p api.PageText) {
	t.Helper()
	if err := s.Open(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the page says "+part, func() bool {
		var err error
		p, err = s.Page(t.Context(), most)
		return err == nil && strings.Contains(p.Text, part)
	})
	return p
}

const testPage = `<!doctype html><title>Shop &amp; more</title>
<style>.no { display: none } .gone { visibility: hidden }</style>
<h1>Shop</h1><p>Fresh   <b>apples</b> and
pears.</p><p class=no>secret one</p><p class=gone>secret two</p>
<ul><li><a href="/cart">Cart</a></li><li><a href="https://other.test/ä b">Other</a></li></ul>
<form><label for=q>Search</label> <input id=q value="plum"><input type=password placeholder=Password value=hunter2>
<input type=hidden value=secret3><select><option>no<option selected>yes</select><button>Go</button></form>
<pre>two
lines</pre><table><tr><td>1<td>2</table><img alt="A tree" src="data:,">
<iframe srcdoc="<p>in a frame</p>"></iframe><div id=host></div>
<script>document.querySelector("#host").attachShadow({mode: "open"}).innerHTML = "<p>in the shadow</p>";
document.body.append("完成 ✓ " + "x".repeat(3000))</script>`

// Issue 9, items 1, 5 and 6, with a real Chromium on a real screen.
func TestChromium(t *testing.T) {
	t.Parallel()
	s := newTestScreen(t)
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, testPage) })
	mux.HandleFunc("GET /frames", func(w http.ResponseWriter, r *http.Request) {
		far := strings.Replace("http://"+r.Host, "127.0.0.1", "localhost", 1)
		fmt.Fprintf(w, "<!doctype html>frames<iframe src=%s/title></iframe><iframe src=%[1]s/tiny width=1 height=1></iframe>", far)
	})
	mux.HandleFunc("GET /title", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<!doctype html><title>"+strings.Repeat("💡", 5000)+"</title>long title")
	})
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `<!doctype html>loaded<script>fetch("/answer").then(() => document.body.append(" answered"))</script>`)
	})
	mux.HandleFunc("GET /answer", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	held := make(chan struct{})
	mux.HandleFunc("GET /held", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		case <-r.Context().Done():
		}
		io.WriteString(w, "let go")
	})
	mux.HandleFunc("GET /links", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `<!doctype html>links<a id=quick target=_blank href="/?quick">1</a><a id=held target=_blank href=/held>2</a>`)
	})
	mux.HandleFunc("GET /many", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<!doctype html>")
		for n := range 10_000 {
			fmt.Fprintf(w, "<a href=/%d>link %[1]d</a> ", n)
		}
	})
	mux.HandleFunc("GET /password", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Basic realm=x")
		w.WriteHeader(http.StatusUnauthorized)
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)

	t.Run("nothing runs", func(t *testing.T) {
		_, err := s.Page(t.Context(), 1000)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeNotFound || s.Running() || s.Busy() {
			t.Errorf("%v %v %v", err, s.Running(), s.Busy())
		}
	})
	t.Run("nothing but pages is loaded", func(t *testing.T) {
		s.text(t, site.URL+"/", "Shop", 1000)
		var all struct{ TargetInfos []struct{ Type, URL string } }
		if err := s.current().conn.call(t.Context(), "", "Target.getTargets", nil, &all); err != nil {
			t.Fatal(err)
		}
		for _, target := range all.TargetInfos {
			if target.Type != "page" {
				t.Errorf("Chromium has loaded a %s, %s; a flag may keep it from that", target.Type, target.URL)
			}
		}
	})
	t.Run("error pages", func(t *testing.T) {
		gone := httptest.NewServer(nil)
		gone.Close()
		if p := s.text(t, gone.URL+"/abc", "ERR_CONNECTION_REFUSED", 1000); p.URL != gone.URL+"/abc" {
			t.Errorf("%+v", p)
		}
		if err := s.Open(t.Context(), site.URL+"/password"); err != nil {
			t.Fatal(err)
		}
		var refusal *api.Error
		eventually(t, "a password is asked for", func() bool {
			_, err := s.Page(t.Context(), 1000)
			refusal, _ = errors.AsType[*api.Error](err)
			return refusal != nil
		})
		if refusal.Code != api.CodeBusy || !strings.Contains(refusal.Message, site.URL+"/password") || !strings.Contains(refusal.Message, "asks for a user name") {
			t.Errorf("%v", refusal)
		}
	})
	t.Run("page text", func(t *testing.T) {
		p := s.text(t, site.URL+"/", "完成", api.DefaultPageText)
		if p.Title != "Shop & more" || p.URL != site.URL+"/" || p.Cut {
			t.Errorf("%+v", p)
		}
		for _, part := range []string{
			"# Shop\nFresh apples and pears.\n- Cart[1]\n- Other[2]\n", "[Search: plum]", "[Password: •••••••]", ": yes]", "Go",
			"two\nlines", "1 | 2", "[image: A tree]", "in a frame", "in the shadow", "完成 ✓ xxx",
		} {
			if !strings.Contains(p.Text, part) {
				t.Errorf("%q is not in\n%s", part, p.Text)
			}
		}
		for _, part := range []string{"secret", "hunter2", "attachShadow"} {
			if strings.Contains(p.Text, part) {
				t.Errorf("%q is in\n%s", part, p.Text)
			}
		}
		want := []api.PageLink{{ID: 1, Text: "Cart", URL: site.URL + "/cart"}, {ID: 2, Text: "Other", URL: "https://other.test/%C3%A4%20b"}}
		if !slices.Equal(p.Links, want) {
			t.Errorf("links %v", p.Links)
		}
	})
	t.Run("cut", func(t *testing.T) {
		cut := func(most int) {
			t.Helper()
			p, err := s.Page(t.Context(), most)
			size := len(p.Text)
			for _, l := range p.Links {
				size += len(fmt.Sprintf("\n[%d] %s", l.ID, l.URL))
			}
			if err != nil || !p.Cut || size > most || size < most/2 {
				t.Errorf("of %d bytes %d, cut %v, %v", most, size, p.Cut, err)
			}
		}
		for _, most := range []int{api.MinPageText, 701, 702, 703} {
			cut(most)
		}
		s.text(t, site.URL+"/many", "link 1", 1000)
		cut(api.DefaultPageText)
	})
	t.Run("frames of another site are named", func(t *testing.T) {
		p := s.text(t, site.URL+"/frames", "[frame of another site: http://localhost:", 1000)
		if !strings.Contains(p.Text, "/title]") || strings.Contains(p.Text, "tiny") {
			t.Error(p.Text)
		}
	})
	t.Run("a title as long as a page", func(t *testing.T) {
		if p := s.text(t, site.URL+"/title", "long title", 1000); p.Title != strings.Repeat("💡", 200) {
			t.Errorf("%d bytes", len(p.Title))
		}
	})
	t.Run("an address as long as a page", func(t *testing.T) {
		if p := s.text(t, "data:text/html,long address<!--"+strings.Repeat("x", 5000), "long address", 1000); len(p.URL) != 2000 {
			t.Errorf("%d bytes", len(p.URL))
		}
	})
	t.Run("busy", func(t *testing.T) {
		s.text(t, site.URL+"/slow", "loaded", 1000)
		eventually(t, "busy with a page that waits for an answer", s.Busy)
		eventually(t, "it waits for too long", func() bool { return !s.Busy() })
		close(release)
		s.text(t, site.URL+"/slow", "answered", 1000)
		eventually(t, "not busy", func() bool { return !s.Busy() })
	})
	t.Run("the person turns to another tab", func(t *testing.T) {
		s.text(t, site.URL+"/", "Shop", 1000)
		run := s.current()
		run.mu.Lock()
		var other *page
		for _, p := range run.pages {
			if strings.HasSuffix(p.url, "/slow") {
				other = p
			}
		}
		run.mu.Unlock()
		// Chromium is told, not us.
		if err := run.conn.call(t.Context(), "", "Target.activateTarget", map[string]any{"targetId": other.target}, nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the text of that tab", func() bool {
			p, err := s.Page(t.Context(), 1000)
			return err == nil && p.URL == site.URL+"/slow"
		})
	})
	t.Run("a link opens a tab", func(t *testing.T) {
		s.text(t, site.URL+"/links", "links", 1000)
		s.click(t, "quick", false)
		eventually(t, "the page of the link", func() bool {
			p, err := s.Page(t.Context(), 1000)
			return err == nil && p.URL == site.URL+"/?quick"
		})
		s.text(t, site.URL+"/links", "links", 1000)
		s.click(t, "held", false)
		eventually(t, "busy with the tab that loads", s.Busy)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if p, err := s.Page(ctx, 1000); err == nil {
			t.Errorf("the text of %s, which is behind the tab that loads", p.URL)
		}
		run := s.current()
		run.mu.Lock()
		if url := run.active().url; url != blank {
			t.Errorf("the tab that loads is %q", url)
		}
		run.mu.Unlock()
		close(held)
		eventually(t, "the slow page of the link", func() bool {
			p, err := s.Page(t.Context(), 1000)
			return err == nil && p.Text == "let go"
		})
	})
	t.Run("a tab that has gone somewhere before it is known", func(t *testing.T) {
		s.text(t, site.URL+"/links", "links", 1000)
		s.click(t, "quick", true) // behind the others
		eventually(t, "its address", func() bool {
			run := s.current()
			run.mu.Lock()
			defer run.mu.Unlock()
			newest := slices.MaxFunc(slices.Collect(maps.Values(run.pages)), func(a, b *page) int { return a.came - b.came })
			return newest.url == site.URL+"/?quick"
		})
	})
	t.Run("a dialog", func(t *testing.T) {
		if err := s.Open(t.Context(), `data:text/html,asked<script>alert("Sure?")</script>`); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the dialog is told", func() bool {
			_, err := s.Page(t.Context(), 1000)
			e, ok := errors.AsType[*api.Error](err)
			return ok && e.Code == api.CodeBusy && strings.Contains(e.Message, `"Sure?"`)
		})
		if s.Busy() {
			t.Error("busy while it waits for a person")
		}
		run := s.current()
		run.mu.Lock()
		p := run.active()
		run.mu.Unlock()
		if err := run.conn.call(t.Context(), p.session, "Page.handleJavaScriptDialog", map[string]any{"accept": true}, nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the page", func() bool {
			got, err := s.Page(t.Context(), 1000)
			return err == nil && got.Text == "asked"
		})
	})
	t.Run("DevTools", func(t *testing.T) { testDevTools(t, s) })
	t.Run("the last window is closed", func(t *testing.T) {
		first := s.process.Load()
		for _, p := range s.targets(t) {
			if err := s.current().conn.call(t.Context(), "", "Target.closeTarget", map[string]any{"targetId": p}, nil); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "it quits", func() bool { return !s.Running() })
		if _, failed, _ := first.Ending(); failed || len(s.TakeNotes()) > 0 {
			t.Error("it crashed")
		}
		s.text(t, site.URL+"/", "Shop", 1000)
	})
	t.Run("crash", func(t *testing.T) {
		s.process.Load().Kill()
		eventually(t, "it is gone", func() bool { return !s.Running() })
		if notes := s.TakeNotes(); len(notes) != 1 || !strings.Contains(notes[0], "crashed (signal: killed)") {
			t.Errorf("%q", notes)
		}
		if _, err := s.Page(t.Context(), 1000); !strings.Contains(fmt.Sprint(err), "the browser of this screen has crashed (signal: killed)") {
			t.Error(err)
		}
		s.text(t, site.URL+"/", "Shop", 1000)
	})
	t.Run("opened as it crashes", func(t *testing.T) {
		before := s.process.Load()
		before.Kill()
		s.text(t, site.URL+"/", "Shop", 1000)
		if s.process.Load() == before {
			t.Error("it is the same process")
		}
		s.TakeNotes()
	})
	t.Run("a page crashes", func(t *testing.T) {
		run := s.current()
		run.mu.Lock()
		p := run.active()
		run.mu.Unlock()
		if err := run.conn.send(message{ID: []byte("0"), Session: p.session, Method: "Page.crash"}); err != nil {
			t.Fatal(err)
		}
		var notes []string
		eventually(t, "a note", func() bool { notes = append(notes, s.TakeNotes()...); return len(notes) > 0 })
		if !strings.Contains(notes[0], "A page of the browser crashed: "+site.URL) {
			t.Errorf("%q", notes)
		}
		_, err := s.Page(t.Context(), 1000)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeScreenFailed || !strings.Contains(e.Message, "has crashed") {
			t.Error(err)
		}
		if s.Busy() {
			t.Error("busy with a page that has crashed")
		}
		if err := run.conn.call(t.Context(), p.session, "Page.reload", nil, nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the page again", func() bool {
			got, err := s.Page(t.Context(), 1000)
			return err == nil && strings.Contains(got.Text, "Shop")
		})
	})
}

// click has a person click an element of the page in front, with the control key or not, and
// returns when that has opened a tab.
func (s *testScreen) click(t *testing.T, id string, ctrl bool) {
	t.Helper()
	run := s.current()
	run.lookFront(t.Context())
	run.mu.Lock()
	p, before := run.active(), len(run.pages)
	run.mu.Unlock()
	if err := run.conn.call(t.Context(), p.session, "Runtime.evaluate",
		map[string]any{"expression": fmt.Sprintf("document.getElementById(%q).dispatchEvent(new MouseEvent('click', {ctrlKey: %v}))", id, ctrl), "userGesture": true}, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new tab", func() bool { return len(s.targets(t)) > before })
}

// targets returns the ids of the tabs.
func (s *testScreen) targets(t *testing.T) (ids []string) {
	t.Helper()
	run := s.current()
	run.mu.Lock()
	defer run.mu.Unlock()
	for _, p := range run.pages {
		ids = append(ids, p.target)
	}
	return ids
}

// Issue 9, item 1: DevTools cannot be reached by other sessions, nor by web pages.
func testDevTools(t *testing.T, s *testScreen) {
	address, err := s.DevTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Get(address + "/json/version")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	endpoint := strings.Replace(address, "http:", "ws:", 1) + endpoint
	if r.StatusCode != http.StatusOK || !strings.Contains(string(body), `"webSocketDebuggerUrl":"`+endpoint+`"`) || !strings.Contains(string(body), "Chrome/") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	for name, c := range map[string]struct {
		owns   bool
		header http.Header
	}{
		"another session":     {false, nil},
		"a page":              {true, http.Header{"Origin": {"http://127.0.0.1"}}},
		"a page of that name": {true, http.Header{"Host": {"evil.test"}}},
	} {
		s.owns.Store(c.owns)
		ws, answer, err := websocket.DefaultDialer.Dial(endpoint, c.header)
		if err == nil {
			ws.Close()
			t.Errorf("%s is let in", name)
		} else if answer == nil || answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %v %v", name, answer, err)
		}
	}
	s.owns.Store(true)
	ws, _, err := websocket.DefaultDialer.Dial(endpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	call := func(m string) (got struct {
		ID        int
		SessionID string
		Result    map[string]any
		Error     *remoteError
	},
	) {
		t.Helper()
		if err := ws.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			t.Fatal(err)
		}
		for got.ID == 0 { // events come between
			if err := ws.ReadJSON(&got); err != nil {
				t.Fatal(err)
			}
		}
		return got
	}
	if got := call(`{"id":7,"method":"Target.createTarget","params":{"url":"data:text/html,guest"}}`); got.ID != 7 || got.Error != nil || got.SessionID != "" {
		t.Errorf("%+v", got)
	} else {
		got = call(fmt.Sprintf(`{"id":8,"method":"Target.attachToTarget","params":{"targetId":%q,"flatten":true}}`, got.Result["targetId"]))
		session, _ := got.Result["sessionId"].(string)
		got = call(fmt.Sprintf(`{"id":9,"method":"Runtime.evaluate","params":{"expression":"6*7"},"sessionId":%q}`, session))
		if value, _ := got.Result["result"].(map[string]any); got.SessionID != session || value["value"] != 42.0 {
			t.Errorf("%+v", got)
		}
	}
	run := s.current()
	run.mu.Lock()
	ours := run.active().session
	run.mu.Unlock()
	if got := call(fmt.Sprintf(`{"id":10,"method":"Runtime.evaluate","params":{"expression":"1"},"sessionId":%q}`, ours)); got.Error == nil {
		t.Errorf("it may use our session: %+v", got)
	}
}
