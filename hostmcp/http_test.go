package hostmcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
)

// webServer is a server on HTTP.
type webServer struct {
	t     *testing.T
	url   string
	stop  context.CancelFunc
	ended chan error
}

const webToken = "only-this-test"

func serveHTTP(t *testing.T, s *Server) *webServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &webServer{t: t, url: "http://" + listener.Addr().String() + HTTPPath, stop: stop, ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.ended <- s.RunHTTP(ctx, listener, webToken)
	}()
	t.Cleanup(func() { stop(); <-done })
	return w
}

// withToken adds the token to every request.
type withToken struct{ http.RoundTripper }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+webToken)
	return w.RoundTripper.RoundTrip(r)
}

// client returns a client with connections of its own.
func (w *webServer) client(version string) *mcp.ClientSession {
	w.t.Helper()
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(w.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: w.url, HTTPClient: &http.Client{Transport: withToken{transport}}, MaxRetries: -1, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { session.Close() })
	return session
}

// Issue 10, item 4: the same tools over HTTP, in both eras.
func TestEveryEraOverHTTP(t *testing.T) {
	for _, version := range eras[1:] { // the first one has another transport
		t.Run(version, func(t *testing.T) {
			w := serveHTTP(t, newServer(newFakeComputer(t), nil))
			c := w.client(version)
			if list, err := c.ListTools(t.Context(), nil); err != nil || len(list.Tools) != len(Tools()) {
				t.Fatalf("tools: %v, %v", list, err)
			}
			id := open(t, c)
			if text, _, isError := call(t, c, "computer_observe", map[string]any{"session": id}); isError {
				t.Error(text)
			}
			if text, _, isError := call(t, c, "end_session", map[string]any{"session": id}); isError {
				t.Error(text)
			}
		})
	}
}

// Who says goodbye takes its own sessions along, and what its calls do, and nobody
// else's; who cannot say goodbye keeps them while the server runs.
func TestGoodbyeOverHTTP(t *testing.T) {
	f := newFakeComputer(t)
	began := f.hang()
	w := serveHTTP(t, newServer(f, nil))
	leaves, stays, modern := w.client("2025-11-25"), w.client("2025-11-25"), w.client("2026-07-28")
	id := open(t, leaves)
	open(t, stays)
	open(t, modern)
	open(t, w.client("2026-07-28"))
	owners, _ := f.owners()
	if owners[0] == owners[1] || owners[1] == owners[2] || owners[2] != owners[3] {
		t.Errorf("owners %v: each client with a connection is one, those without are one together", owners)
	}
	observed := make(chan bool, 1)
	go func() {
		_, err := leaves.CallTool(context.Background(), &mcp.CallToolParams{Name: "computer_observe", Arguments: map[string]any{"session": id}})
		observed <- err != nil
	}()
	<-began
	leaves.Close()
	modern.Close()
	<-observed
	w.eventually("the end of its sessions", func() bool {
		_, released := f.owners()
		return len(released) > 0
	})
	w.stop()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	_, released := f.owners()
	if released[0] != owners[0] {
		t.Errorf("released %v first, not %s", released, owners[0])
	}
	slices.Sort(released)
	if want := slices.Sorted(slices.Values(owners[:3])); !slices.Equal(released, want) {
		t.Errorf("released %v in the end, want %v", released, want)
	}
}

func (w *webServer) eventually(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// A client that is silent for too long has left.
func TestSilentHTTPClient(t *testing.T) {
	f := newFakeComputer(t)
	w := serveHTTP(t, newServer(f, map[string]string{"COMPUTER_USE_IDLE_TIMEOUT": "1"}))
	open(t, w.client("2025-11-25"))
	w.eventually("the end of its sessions", func() bool {
		started, released := f.owners()
		return slices.Equal(released, started)
	})
}

// listen opens the stream of events of a connection and returns how to break it.
func (w *webServer) listen(id string) (lose func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", id)
	answer, err := withToken{&http.Transport{DisableKeepAlives: true}}.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%v, %v", answer, err)
	}
	w.t.Cleanup(cancel)
	return func() { cancel(); answer.Body.Close() }
}

// A client whose stream of events breaks, and that is not heard of again, has left. One
// that comes back, has a call in progress, or never had a stream, has not.
func TestLostHTTPClient(t *testing.T) {
	f := newFakeComputer(t)
	began, free := make(chan struct{}), make(chan struct{})
	f.onObserve = func(context.Context, api.ObserveRequest) (api.Observation, []client.Image, error) {
		close(began)
		<-free
		return observation(), nil, nil
	}
	s := newServer(f, nil)
	s.absence = 100 * time.Millisecond
	w := serveHTTP(t, s)
	leaves, returns, calls, never := w.client("2025-11-25"), w.client("2025-11-25"), w.client("2025-11-25"), w.client("2025-11-25")
	var ids []string
	for _, c := range []*mcp.ClientSession{leaves, returns, calls, never} {
		ids = append(ids, open(t, c))
	}
	lost := w.listen(returns.ID())
	lost()
	w.listen(returns.ID())

	lost = w.listen(calls.ID())
	observed := make(chan error, 1)
	go func() {
		_, err := calls.CallTool(context.Background(), &mcp.CallToolParams{Name: "computer_observe", Arguments: map[string]any{"session": ids[2]}})
		observed <- err
	}()
	<-began
	lost()

	w.listen(leaves.ID())()
	ended := func(n int) func() bool {
		return func() bool {
			_, released := f.owners()
			return len(released) >= n
		}
	}
	w.eventually("the end of the sessions of the client that was lost", ended(1))
	close(free)
	if err := <-observed; err != nil {
		t.Errorf("a call in progress: %v", err)
	}
	w.eventually("the end of the client that was lost during its call", ended(2))
	if started, released := f.owners(); !slices.Equal(released, []string{started[0], started[2]}) {
		t.Errorf("released %v of %v", released, started)
	}
	for _, c := range []*mcp.ClientSession{returns, never} {
		if err := c.Ping(t.Context(), nil); err != nil {
			t.Errorf("a client that is there: %v", err)
		}
	}
}

// The end of the server ends calls and streams that are open.
func TestStopOverHTTP(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			f := newFakeComputer(t)
			began := f.hang()
			w := serveHTTP(t, newServer(f, nil))
			c := w.client(version)
			id := open(t, c)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = c.CallTool(context.Background(), &mcp.CallToolParams{Name: "computer_observe", Arguments: map[string]any{"session": id}})
			}()
			<-began
			begin := time.Now()
			w.stop()
			if err := <-w.ended; err != nil || time.Since(begin) > exitLimit+time.Second {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
			<-ended
			if started, released := f.owners(); !slices.Equal(released, started) {
				t.Errorf("released %v of %v", released, started)
			}
		})
	}
}

// What does not carry the token, or comes from a page, is refused whatever it asks for.
func TestHTTPRefusals(t *testing.T) {
	w := serveHTTP(t, newServer(newFakeComputer(t), nil))
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, test := range []struct {
		name, method, path, body string
		change                   func(*http.Request)
		status                   int
	}{
		{"all is well", "POST", "", initialize, nil, 200},
		{"from its own address", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Origin", "http://"+r.Host) }, 200},
		{"localhost", "POST", "", initialize, func(r *http.Request) { r.Host = "localhost:99" }, 200},
		{"no token", "POST", "", initialize, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"an empty token", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401},
		{"half a token", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+webToken[:5]) }, 401},
		{"another scheme", "POST", "", initialize, func(r *http.Request) { r.SetBasicAuth("", webToken) }, 401},
		{"no token, elsewhere", "GET", "/..", "", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"elsewhere", "GET", "/../info", "", nil, 404},
		{"a name that points here", "POST", "", initialize, func(r *http.Request) { r.Host = "rebound.example" }, 403},
		{"an address that is not here", "POST", "", initialize, func(r *http.Request) { r.Host = "192.0.2.1:80" }, 403},
		{"a foreign page", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Origin", "https://example.com") }, 403},
		{"a foreign page looks", "GET", "", "", func(r *http.Request) { r.Header.Set("Origin", "https://example.com") }, 403},
		{"a page of another port", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		{"no page at all", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"an old browser", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"a preflight", "OPTIONS", "", "", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"no message", "POST", "", "nonsense", nil, 400},
		{"another kind", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"too long", "POST", "", strings.Repeat(" ", maxBody+1), nil, 413},
		{"a session that has gone", "POST", "", initialize, func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "gone") }, 404},
		{"a version that never was", "POST", "", initialize, func(r *http.Request) { r.Header.Set("MCP-Protocol-Version", "1999-01-01") }, 400},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, w.url+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+webToken)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if test.change != nil {
			test.change(r)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != test.status {
			t.Errorf("%s: %s %.200s, want %d", test.name, answer.Status, text, test.status)
		}
		if answer.StatusCode == 401 && answer.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", test.name)
		}
		if answer.Header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(string(text), webToken) {
			t.Errorf("%s: %v %s", test.name, answer.Header, text)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// S2-9: calls of one session over HTTP run one after another, whoever makes them.
func TestOrderOverHTTP(t *testing.T) {
	f := newFakeComputer(t)
	began, free := make(chan string, 2), make(chan struct{})
	f.onAct = func(ctx context.Context, session string, _ api.ActRequest, _ func(api.Progress)) (api.ActResult, []client.Image, error) {
		began <- session
		<-free
		return api.ActResult{Steps: []api.Step{}, Observation: observation()}, nil, nil
	}
	w := serveHTTP(t, newServer(f, nil))
	c := w.client("2026-07-28")
	one, two := open(t, c), open(t, c)
	done := make(chan error, 3)
	act := func(session string) {
		go func() {
			result, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "computer_act", Arguments: map[string]any{
				"session": session, "actions": []any{map[string]any{"kind": "wait"}},
			}})
			if err == nil && result.IsError {
				err = fmt.Errorf("%+v", result.StructuredContent)
			}
			done <- err
		}()
	}
	act(one)
	if got := <-began; got != one {
		t.Fatal(got)
	}
	act(one)
	act(two) // does not wait for the other session
	if got := <-began; got != two {
		t.Error("the second call of a session ran beside the first")
	}
	free <- struct{}{}
	free <- struct{}{}
	if got := <-began; got != one {
		t.Error(got)
	}
	free <- struct{}{}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
