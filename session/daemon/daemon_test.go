package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/session"
	"github.com/falleng0d/computer-use-mcp/session/shell"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const secret = "0123456789abcdef"

var (
	owner = api.NewID()
	me    = identity{ComputerID: "11111111-2222-4333-8444-555555555555", HomeID: "66666666-7777-4888-8999-000000000000", ViewerKey: "abcdefgh"}
)

// fakeScreen is a screen without X.
type fakeScreen struct {
	buf      *frame.Buffer
	onMove   func()
	released chan struct{}
}

func (s *fakeScreen) Number() int                                       { return 1 }
func (s *fakeScreen) Display() string                                   { return ":1" }
func (s *fakeScreen) Xauthority() string                                { return "/auth" }
func (s *fakeScreen) User() *Credential                                 { return nil }
func (s *fakeScreen) XvfbPID() int                                      { return 7 }
func (s *fakeScreen) Frame() *frame.Buffer                              { return s.buf }
func (s *fakeScreen) Refresh(context.Context) (frame.Stamp, error)      { return s.buf.Stamp(), nil }
func (s *fakeScreen) Windows(context.Context) ([]x11.Window, error)     { return nil, nil }
func (s *fakeScreen) Activate(context.Context, uint32) error            { return nil }
func (s *fakeScreen) NewHolder(context.Context) (session.Holder, error) { return fakeHolder{s}, nil }
func (s *fakeScreen) Env() []string                                     { return nil }
func (s *fakeScreen) TakeNotes() []string                               { return nil }
func (s *fakeScreen) Close(context.Context) error                       { return nil }

type fakeHolder struct{ s *fakeScreen }

func (h fakeHolder) Move(x, y int) error {
	if h.s.onMove != nil {
		h.s.onMove()
	}
	return nil
}
func (h fakeHolder) Button(int, bool) error                         { return nil }
func (h fakeHolder) Key(uint32, bool) error                         { return nil }
func (h fakeHolder) Apart(context.Context, int, *image.Point) error { return nil }
func (h fakeHolder) Press(context.Context, int) error               { return nil }
func (h fakeHolder) Click(context.Context, int, int) error          { return nil }
func (h fakeHolder) Scroll(input.Direction, int) error              { return nil }
func (h fakeHolder) Type(context.Context, string) error             { return nil }
func (h fakeHolder) Drag(context.Context, int, image.Point, image.Point, time.Duration) error {
	return nil
}

func (h fakeHolder) Chord(ctx context.Context, _ input.Chord, hold time.Duration) error {
	if hold > 0 {
		<-ctx.Done()
	}
	return nil
}

func (h fakeHolder) Release(context.Context) error {
	if h.s.released != nil {
		close(h.s.released)
		h.s.released = nil
	}
	return nil
}

// harness is a daemon that serves on a loopback port.
type harness struct {
	*client.Client
	addr     string
	daemon   *daemon
	screen   *fakeScreen
	shutdown chan struct{}
	log      *syncBuffer
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	h := &harness{screen: &fakeScreen{buf: frame.NewBuffer()}, shutdown: make(chan struct{}), log: new(syncBuffer)}
	h.screen.buf.Reset(320, 320)
	logger := slog.New(slog.NewTextHandler(h.log, nil))
	table := session.NewTable(session.Config{
		Open:   func(context.Context, int, int) (session.Screen, error) { return h.screen, nil },
		Shells: shell.New(shell.Config{OutputDir: t.TempDir() + "/jobs"}),
		Logger: logger,
	})
	h.daemon = newDaemon(config{
		Table: table, Identity: me, Token: secret, Version: "1.2.3", Network: "offline",
		Viewer: "http://127.0.0.1:20900/#key=abcdefgh", VNCPort: func(n int) int { return 20900 + n },
		Shutdown: sync.OnceFunc(func() { close(h.shutdown) }), Logger: logger,
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { table.Run(ctx) })
	running.Go(func() {
		if err := h.daemon.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	h.Client = &client.Client{BaseURL: "http://" + h.addr, Token: secret, Computer: me.ComputerID, Home: me.HomeID}
	t.Cleanup(func() {
		h.CloseIdle()
		cancel()
		running.Wait()
	})
	return h
}

func (h *harness) start(t testing.TB) string {
	t.Helper()
	r, err := h.Start(t.Context(), api.StartRequest{Title: "Test", Owner: owner, ScreenSize: "320x320"})
	if err != nil {
		t.Fatal(err)
	}
	return r.Session
}

// raw sends a request with a good token and protocol, changed by edit, and returns the
// status and the body.
func (h *harness) raw(t *testing.T, method, path, body string, edit func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+h.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set(api.HeaderProtocol, api.Protocol())
	r.Close = true
	if edit != nil {
		edit(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data)
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func codeOf(err error) api.Code {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Code
	}
	return api.Code(fmt.Sprint(err))
}

// S0-181, S0-185, S1-28, S1-29: who has not the token, comes by another name, or means
// another computer or home, is refused before anything happens.
func TestHostileRequests(t *testing.T) {
	h := newHarness(t)
	_, port, _ := net.SplitHostPort(h.addr)
	host := func(s string) func(*http.Request) { return func(r *http.Request) { r.Host = s } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del(name)
			if value != "" {
				r.Header.Set(name, value)
			}
		}
	}
	for _, c := range []struct {
		name   string
		edit   func(*http.Request)
		status int
		code   api.Code
	}{
		{"good", nil, 200, ""},
		{"localhost", host("localhost:" + port), 200, ""},
		{"IPv6 loopback", host("[::1]:" + port), 200, ""},
		{"another loopback address", host("127.8.9.1:" + port), 200, ""},
		{"another host", host("example.org:" + port), 403, api.CodePermissionDenied},
		{"a host that looks like loopback", host("127.0.0.1.example.org:" + port), 403, api.CodePermissionDenied},
		{"a host under localhost", host("a.localhost:" + port), 403, api.CodePermissionDenied},
		{"another port", host("127.0.0.1:1"), 403, api.CodePermissionDenied},
		{"no port", host("127.0.0.1"), 403, api.CodePermissionDenied},
		{"bad host", host("[::1"), 403, api.CodePermissionDenied},
		{"another address", host("192.168.1.5:" + port), 403, api.CodePermissionDenied},
		{"origin", header("Origin", "http://127.0.0.1:"+port), 403, api.CodePermissionDenied},
		{"null origin", header("Origin", "null"), 403, api.CodePermissionDenied},
		{"no token", header("Authorization", ""), 401, api.CodePermissionDenied},
		{"empty token", header("Authorization", "Bearer "), 401, api.CodePermissionDenied},
		{"wrong token", header("Authorization", "Bearer "+secret+"x"), 401, api.CodePermissionDenied},
		{"part of the token", header("Authorization", "Bearer "+secret[:15]), 401, api.CodePermissionDenied},
		{"basic auth", header("Authorization", "Basic "+secret), 401, api.CodePermissionDenied},
		{"no protocol", header(api.HeaderProtocol, ""), 400, api.CodeVersionMismatch},
		{"protocol of tomorrow", header(api.HeaderProtocol, "2.0"), 400, api.CodeVersionMismatch},
		{"minor of tomorrow", header(api.HeaderProtocol, "1.99"), 200, ""},
		{"this computer", header(api.HeaderComputer, me.ComputerID), 200, ""},
		{"another computer", header(api.HeaderComputer, me.HomeID), 409, api.CodeComputerMismatch},
		{"another home", header(api.HeaderHome, "x"), 409, api.CodeComputerMismatch},
	} {
		status, body := h.raw(t, "GET", "/v1/info", "", c.edit)
		var e api.Error
		json.Unmarshal([]byte(body), &e)
		if status != c.status || e.Code != c.code {
			t.Errorf("%s: status %d, %s", c.name, status, body)
		}
		if c.code != "" && (e.Message == "" || e.Fix == "") {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

// Behind a forwarded port the daemon cannot know the port that callers name.
func TestForwardedPort(t *testing.T) {
	h := newHarness(t)
	for host, want := range map[string]int{"127.0.0.1:31999": 200, "evil.example:31999": 403} {
		r := httptest.NewRequest("GET", "/v1/health", nil)
		r.Host = host
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(172, 17, 0, 2), Port: 7070}))
		w := httptest.NewRecorder()
		h.daemon.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", host, w.Code, want)
		}
	}
}

func TestHealthNeedsNoToken(t *testing.T) {
	h := newHarness(t)
	got, err := (&client.Client{BaseURL: h.BaseURL}).Health(t.Context())
	if err != nil || got != (api.Health{Name: "computerd", Version: "1.2.3", Protocol: api.Protocol()}) {
		t.Errorf("%+v, %v", got, err)
	}
	status, body := h.raw(t, "GET", "/v1/health", "", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
	if status != 403 {
		t.Errorf("a web page gets %d %s", status, body)
	}
}

func TestBodies(t *testing.T) {
	h := newHarness(t)
	id := h.start(t)
	observe := "/v1/sessions/" + id + "/observe"
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{observe, ``, 200, ""},
		{observe, `{}`, 200, ""},
		{observe, `{"froce":true}`, 400, `The field \"froce\" is unknown.`},
		{observe, `{"region":{"x":0,"y":0,"w":1}}`, 400, `The field \"w\" is unknown.`},
		{observe, `{"force":"yes"}`, 400, `The field \"force\" has a value of the wrong kind: string instead of bool.`},
		{observe, `{"max_side":1e99}`, 400, `wrong kind`},
		{observe, `[]`, 400, `wrong kind`},
		{observe, `{"force":true`, 400, `not the JSON object expected here`},
		{observe, `{} {}`, 400, `something after its JSON object`},
		{observe, `{}]`, 400, `something after its JSON object`},
		{observe, `{"force":` + strings.Repeat("[", 100_000), 400, ``},
		{observe, `{"format":"` + strings.Repeat("a", api.MaxRequestBody) + `"}`, 413, `larger than 1048576 bytes`},
		{"/v1/sessions/" + id + "/act", `{"actions":[{"kind":"click","x":1.5,"y":1}]}`, 400, `actions.x`},
		{"/v1/sessions/" + id + "/act", `{"actions":null}`, 400, `There is no action.`},
		{"/v1/sessions/" + api.NewID() + "/observe", `{}`, 404, `unknown_session`},
		{"/v1/sessions/..%2f" + id + "/observe", `{}`, 404, `unknown_session`},
		{"/v1/sessions", `{"title":"x","owner":"me"}`, 400, `not 32 lower-case hex digits`},
		{"/v1/owners/me/heartbeat", ``, 400, `not 32 lower-case hex digits`},
		{"/v1/nothing", `{}`, 404, `There is no route POST \"/v1/nothing\".`},
	} {
		status, body := h.raw(t, "POST", c.path, c.body, nil)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %.60s: status %d, %.300s", c.path, c.body, status, body)
		}
	}
	if status, body := h.raw(t, "PUT", observe, "{}", nil); status != 404 || !strings.Contains(body, "not_found") {
		t.Errorf("wrong method: %d %s", status, body)
	}
}

func TestSessionsOverHTTP(t *testing.T) {
	h := newHarness(t)
	id := h.start(t)
	info, err := h.Info(t.Context())
	if err != nil || len(info.Sessions) != 1 || len(info.Screens) != 0 || info.Network != "offline" || info.ComputerID != me.ComputerID {
		t.Fatalf("%+v, %v", info, err)
	}
	o, images, err := h.Observe(t.Context(), id, api.ObserveRequest{})
	if err != nil || len(images) != 1 || images[0].ContentType != "image/png" || len(images[0].Data) != o.Image.Bytes || o.Frame.Width != 320 {
		t.Fatalf("%+v, %d images, %v", o, len(images), err)
	}
	if o, images, err := h.Observe(t.Context(), id, api.ObserveRequest{}); err != nil || len(images) != 0 || o.Image.State != api.ImageUnchanged {
		t.Errorf("%+v, %v", o, err)
	}
	info, _ = h.Info(t.Context())
	want := api.Screen{Number: 1, Display: ":1", Xauthority: "/auth", XvfbPID: 7, VNCPort: 20901, Session: id, Title: "Test", Width: 320, Height: 320}
	if len(info.Screens) != 1 || info.Screens[0] != want || info.Sessions[0].Screen != 1 {
		t.Errorf("%+v", info)
	}
	zero := int64(0)
	var reports []api.Progress
	result, _, err := h.Act(t.Context(), id, api.ActRequest{
		Actions:  []api.Action{{Kind: api.KindWait, MS: &zero}, {Kind: api.KindWait, MS: &zero}},
		SettleMS: &zero,
	}, func(p api.Progress) { reports = append(reports, p) })
	if err != nil || len(result.Steps) != 2 || len(reports) != 1 || reports[0].Total != 2 {
		t.Errorf("%+v, %v, %v", result, reports, err)
	}
	if got, _, err := h.Wait(t.Context(), id, api.WaitRequest{For: api.WaitChange, TimeoutMS: &zero}); err != nil || got.Met {
		t.Errorf("%+v, %v", got, err)
	}
	quiet := int64(400)
	if got, err := h.Configure(t.Context(), id, api.ConfigureRequest{QuietMS: &quiet}); err != nil || got.QuietMS != 400 || len(got.Pinned) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := h.Heartbeat(t.Context(), owner); err != nil || got.Sessions != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := h.End(t.Context(), id); err != nil || !got.Ended {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := h.Observe(t.Context(), id, api.ObserveRequest{}); codeOf(err) != api.CodeSessionEnded {
		t.Errorf("%v", err)
	}
	h.start(t)
	if got, err := h.Release(t.Context(), owner); err != nil || got.Sessions != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-h.shutdown
}

// An error after the first progress report is a part of the answer.
func TestErrorAfterProgress(t *testing.T) {
	h := newHarness(t)
	id := h.start(t)
	h.screen.onMove = func() { panic("boom") }
	one := 1
	move := api.Action{Kind: api.KindMove, X: &one, Y: &one}
	zero := int64(0)
	reports := 0
	_, _, err := h.Act(t.Context(), id, api.ActRequest{
		Actions: []api.Action{{Kind: api.KindWait, MS: &zero}, move}, Settle: api.SettleOff,
	}, func(api.Progress) { reports++ })
	if codeOf(err) != api.CodeInternal || reports != 1 {
		t.Errorf("%v after %d reports", err, reports)
	}
	if log := h.log.String(); !strings.Contains(log, "boom") || !strings.Contains(log, "fakeHolder.Move") {
		t.Errorf("the log does not show the panic and its stack: %s", log)
	}
	// The daemon and the session go on.
	h.screen.onMove = nil
	if _, _, err := h.Act(t.Context(), id, api.ActRequest{Actions: []api.Action{move}, Settle: api.SettleOff}, nil); err != nil {
		t.Error(err)
	}
}

// A caller that hangs up stops its batch, and what that held is released.
func TestHangUpReleases(t *testing.T) {
	h := newHarness(t)
	id := h.start(t)
	released := make(chan struct{})
	h.screen.released = released
	ctx, cancel := context.WithCancel(t.Context())
	hold, zero := int64(5000), int64(0)
	_, _, err := h.Act(ctx, id, api.ActRequest{
		Actions: []api.Action{{Kind: api.KindWait, MS: &zero}, {Kind: api.KindKey, Key: "a", HoldMS: &hold}}, Settle: api.SettleOff,
	}, func(api.Progress) { cancel() })
	if codeOf(err) != api.CodeCanceled {
		t.Errorf("%v", err)
	}
	<-released
}

func TestConcurrentObserves(t *testing.T) {
	h := newHarness(t)
	ids := []string{h.start(t), h.start(t)}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, _, err := h.Observe(t.Context(), ids[i%2], api.ObserveRequest{Force: i%5 == 0}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// FuzzDecode feeds arbitrary bodies to the decoder of each request: it must not panic,
// and what it refuses it refuses as a bad request.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"actions":[{"kind":"click","x":1,"y":2}],"region":{"x":1}}`))
	f.Add([]byte(`{"force":true,"a":1}`))
	f.Add([]byte(`{"quiet_ms":1,"ignore_regions":[{"x":1}]}`))
	f.Add([]byte(`{"title":"a","owner":"b","elide_ttl_ms":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range []any{new(api.ActRequest), new(api.ObserveRequest), new(api.WaitRequest), new(api.ConfigureRequest), new(api.StartRequest)} {
			if err := decodeJSON(body, v); err != nil && codeOf(err) != api.CodeBadRequest {
				t.Errorf("%T: %v", v, err)
			}
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	h := newHarness(b)
	id := h.start(b)
	for _, c := range []struct {
		name  string
		force bool
	}{{"unchanged", false}, {"image of 320x320", true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := h.Observe(b.Context(), id, api.ObserveRequest{Force: c.force}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func (s *fakeScreen) Clipboard() (*input.Clipboard, error) {
	return nil, errors.New("a fake screen has no clipboard")
}
