package hostmcp

import (
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakeComputer is the daemon's API over a script, and the engine that finds it.
type fakeComputer struct {
	t      testing.TB
	server *httptest.Server

	// Scripts of routes; nil has a plain answer.
	onObserve func(ctx context.Context, r api.ObserveRequest) (api.Observation, []client.Image, error)
	onAct     func(ctx context.Context, session string, r api.ActRequest, progress func(api.Progress)) (api.ActResult, []client.Image, error)
	onEnsure  func(ctx context.Context, progress func(string)) error
	onShow    func(api.ShowRequest) api.ShowResult

	beat chan struct{} // has one when a heartbeat came

	closed atomic.Bool
	notes  []string // of the endpoint

	mu       sync.Mutex
	ensures  int
	starts   []api.StartRequest
	released []string
}

// hang has observations last as long as their calls. began is closed when the first one
// has begun; there may be one only.
func (f *fakeComputer) hang() (began chan struct{}) {
	began = make(chan struct{})
	f.onObserve = func(ctx context.Context, _ api.ObserveRequest) (api.Observation, []client.Image, error) {
		close(began)
		<-ctx.Done()
		return api.Observation{}, nil, ctx.Err()
	}
	return began
}

// owners returns who started the sessions, in order, and whose were ended.
func (f *fakeComputer) owners() (started, released []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.starts {
		started = append(started, r.Owner)
	}
	return started, slices.Clone(f.released)
}

func newFakeComputer(t testing.TB) *fakeComputer {
	f := &fakeComputer{t: t, beat: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc(api.RouteStart, func(w http.ResponseWriter, r *http.Request) {
		var request api.StartRequest
		f.read(r, &request)
		f.mu.Lock()
		f.starts = append(f.starts, request)
		f.mu.Unlock()
		f.answer(w, api.StartResult{Session: api.NewID(), Viewer: "http://127.0.0.1:20900/#key=k", ComputerID: "c", HomeID: "h", Network: "internet"})
	})
	mux.HandleFunc(api.RouteEnd, func(w http.ResponseWriter, r *http.Request) { f.answer(w, api.EndResult{Ended: true}) })
	mux.HandleFunc(api.RouteHeartbeat, func(w http.ResponseWriter, r *http.Request) {
		select {
		case f.beat <- struct{}{}:
		default:
		}
		f.answer(w, api.HeartbeatResult{})
	})
	mux.HandleFunc(api.RouteRelease, func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.released = append(f.released, r.PathValue("owner"))
		f.mu.Unlock()
		f.answer(w, api.HeartbeatResult{})
	})
	mux.HandleFunc(api.RouteShow, func(w http.ResponseWriter, r *http.Request) {
		var request api.ShowRequest
		f.read(r, &request)
		f.answer(w, f.onShow(request))
	})
	mux.HandleFunc(api.RouteObserve, func(w http.ResponseWriter, r *http.Request) {
		var request api.ObserveRequest
		f.read(r, &request)
		result, images, err := observation(), []client.Image{{ContentType: "image/png", Data: []byte("picture")}}, error(nil)
		if f.onObserve != nil {
			result, images, err = f.onObserve(r.Context(), request)
		}
		f.mixed(w, result, images, err)
	})
	mux.HandleFunc(api.RouteAct, func(w http.ResponseWriter, r *http.Request) {
		var request api.ActRequest
		f.read(r, &request)
		result, images, err := api.ActResult{Steps: []api.Step{}, Observation: observation()}, []client.Image(nil), error(nil)
		if f.onAct != nil {
			result, images, err = f.onAct(r.Context(), r.PathValue("id"), request, func(api.Progress) {})
		}
		f.mixed(w, result, images, err)
	})
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	return f
}

func observation() api.Observation {
	return api.Observation{
		Frame:  api.Frame{ID: 7, Epoch: 1, CapturedAt: time.Unix(0, 0), Width: 1280, Height: 800},
		Image:  api.Image{State: api.ImageSent, Width: 1280, Height: 800, Scale: 1, Format: "png", Bytes: 7},
		Cursor: api.Point{X: 640, Y: 400}, ActiveWindow: "xterm",
		Windows: []api.Window{{Title: "xterm", Class: "XTerm", Width: 480, Height: 320, Focused: true}},
	}
}

func (f *fakeComputer) read(r *http.Request, v any) {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		f.t.Error(err)
	}
	io.Copy(io.Discard, r.Body) // the server watches the connection from then on
}

func (f *fakeComputer) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func (f *fakeComputer) mixed(w http.ResponseWriter, result any, images []client.Image, err error) {
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		json.NewEncoder(w).Encode(api.AsError(err))
		return
	}
	parts := multipart.NewWriter(w)
	w.Header().Set("Content-Type", "multipart/mixed; boundary="+parts.Boundary())
	part := func(name, kind string, data []byte) {
		p, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type": {kind}, "Content-Disposition": {`inline; name="` + name + `"`},
		})
		if err == nil {
			p.Write(data)
		}
	}
	data, _ := json.Marshal(result)
	part(api.PartResult, "application/json", data)
	for _, image := range images {
		part(api.PartImage, image.ContentType, image.Data)
	}
	parts.Close()
}

// The fake is its own engine.
func (f *fakeComputer) Name() string { return "fake" }

func (f *fakeComputer) Close() { f.closed.Store(true) }

func (f *fakeComputer) Ensure(ctx context.Context, progress func(string)) (*engine.Endpoint, error) {
	f.mu.Lock()
	f.ensures++
	f.mu.Unlock()
	if f.onEnsure != nil {
		if err := f.onEnsure(ctx, progress); err != nil {
			return nil, err
		}
	}
	return &engine.Endpoint{BaseURL: f.server.URL, Token: "token", Notes: f.notes}, nil
}

func (f *fakeComputer) Log(context.Context, io.Writer, int, bool) error { return nil }

func (f *fakeComputer) Diagnose(context.Context) []engine.Check { return nil }

func (f *fakeComputer) Status(context.Context) (*engine.Status, error) {
	return &engine.Status{State: engine.StateRunning}, nil
}

func (f *fakeComputer) count(field *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *field
}

// newServer returns a server of the fake computer with the given environment.
func newServer(f *fakeComputer, env map[string]string) *Server {
	return New(Config{
		Version:  "1.2.3",
		Settings: NewSettings(func(name string) string { return env[name] }),
		Engine:   func(*Settings) (engine.Engine, error) { return f, nil },
	})
}

// connect runs the server and returns the SDK's client of it. version is a protocol
// version, empty for the newest.
func connect(t *testing.T, s *Server, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, ours) }()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := c.Connect(t.Context(), theirs, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		cancel()
		<-ended
	})
	return session
}

// call calls a tool and returns its text, its structured content and whether it failed.
func call(t *testing.T, c *mcp.ClientSession, tool string, args any) (text string, facts map[string]any, isError bool) {
	t.Helper()
	result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	facts, _ = result.StructuredContent.(map[string]any)
	return text, facts, result.IsError
}

// open starts a session and returns its id.
func open(t *testing.T, c *mcp.ClientSession) string {
	t.Helper()
	text, facts, isError := call(t, c, "start_computer", map[string]any{"title": "a test"})
	id, _ := facts["session"].(string)
	if isError || !api.ValidID(id) || !strings.Contains(text, id) {
		t.Fatalf("start_computer: %s %v", text, facts)
	}
	return id
}

// request is a call of a tool as it arrives.
func request(t *testing.T, session string) *jsonrpc.Request {
	t.Helper()
	params, err := json.Marshal(map[string]any{"name": "any", "arguments": map[string]any{"session": session}})
	if err != nil {
		t.Fatal(err)
	}
	return &jsonrpc.Request{Method: "tools/call", Params: params}
}
