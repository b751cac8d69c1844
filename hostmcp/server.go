// Package hostmcp is the MCP server that agents talk to. It speaks the protocol over
// stdio, has one table of tools (see [Tool]), and calls the computer's daemon through
// the client of package api.
//
// It runs on the agent's machine and holds no screen, file or program itself. It
// starts or finds a computer only when start_computer is first called, because some
// clients start a server just to ask what it is.
package hostmcp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// exitLimit is how long Run takes at most to end its sessions.
const exitLimit = 3 * time.Second

// Config is what a Server is made of.
type Config struct {
	Version  string
	Settings *Settings // nil is this process's environment
	// Engine returns the engine that the settings choose. It is called when a
	// computer is first needed.
	Engine func(*Settings) (engine.Engine, error)
	Logger *slog.Logger // nil discards
	Opener Opener       // nil shows nothing to anybody
}

// Server serves one MCP client over stdio, or any number over HTTP.
type Server struct {
	cfg      Config
	settings *Settings
	log      *slog.Logger
	tools    []Tool
	arrivals *arrivals
	absence  time.Duration // how long a client that lost its stream may be silent

	// calls ends when handlers must stop; hearts, later, when the sessions end.
	calls, hearts context.Context
	endCalls      context.CancelCauseFunc
	endHearts     context.CancelFunc
	running       sync.WaitGroup // of hearts and peers

	mu       sync.Mutex
	peers    map[string]*peer // by the id of their connection
	engine   engine.Engine    // nil until a computer is first needed
	computer *client.Client   // nil until the first start_computer
}

// New returns a server that has done nothing yet. It is used once, by Run or RunHTTP.
func New(cfg Config) *Server {
	if cfg.Settings == nil {
		cfg.Settings = NewSettings(nil)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, settings: cfg.Settings, log: cfg.Logger, tools: Tools(), peers: map[string]*peer{}, absence: absenceTimeout}
	s.arrivals = newArrivals(func(name string) bool {
		tool, ok := s.tool(name)
		return ok && tool.Ordered
	})
	s.calls, s.endCalls = context.WithCancelCause(context.Background())
	s.hearts, s.endHearts = context.WithCancel(context.Background())
	return s
}

// Run serves the client until it closes the connection, which is no error, or ctx
// ends. Then it cancels the calls in progress and ends this server's sessions, for
// which it takes at most 3 seconds.
func (s *Server) Run(ctx context.Context, transport mcp.Transport) error {
	session, err := s.protocol().Connect(ctx, orderedTransport{transport, s.arrivals}, nil)
	if err != nil {
		return fmt.Errorf("connect to the client: %w", err)
	}
	closed := make(chan error, 1)
	go func() { closed <- session.Wait() }()
	select {
	case err = <-closed:
	case <-ctx.Done():
	}
	s.finish(func() { session.Close() })
	return err
}

// finish ends the calls in progress, then the connections with disconnect, which waits
// for handlers, then the sessions. It takes at most exitLimit.
func (s *Server) finish(disconnect func()) {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.endCalls(errExit)
		disconnect()
		s.endHearts()
		s.running.Wait()
		s.closeEngine()
	}()
	select {
	case <-finished:
	case <-time.After(exitLimit):
		s.endHearts()
		s.log.Warn("sessions may not have ended", "after", exitLimit)
	}
}

// closeEngine ends what this process does for those who watch the computer.
func (s *Server) closeEngine() {
	s.mu.Lock()
	where := s.engine
	s.mu.Unlock()
	if where != nil {
		where.Close()
	}
}

// protocol returns the SDK's server with this server's tools.
func (s *Server) protocol() *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "computer-use-mcp", Title: "Computer use", Version: s.cfg.Version},
		&mcp.ServerOptions{
			Instructions: instructions, Logger: s.log,
			// The SDK answers prompts/list, with none, and whoever answers has to say so.
			Capabilities: &mcp.ServerCapabilities{Prompts: &mcp.PromptCapabilities{}},
		},
	)
	allowed, err := s.allowedTools()
	if err != nil {
		s.log.Error("settings", "error", err) // start_computer tells the agent
	}
	for _, tool := range s.tools {
		if isAllowed(allowed, tool.Name) {
			server.AddTool(tool.protocol(), s.handler(tool))
		}
	}
	server.AddReceivingMiddleware(s.recoverPanic, s.whileWanted, s.refuseDisabled)
	return server
}

// ensure returns the client of the running computer, after starting it if need be, and
// what its engine has to say about it.
func (s *Server) ensure(ctx context.Context, progress func(string)) (c *client.Client, notes []string, err error) {
	s.mu.Lock()
	if s.engine == nil {
		if s.engine, err = s.cfg.Engine(s.settings); err != nil {
			s.mu.Unlock()
			return nil, nil, err
		}
	}
	where := s.engine
	s.mu.Unlock()

	endpoint, err := where.Ensure(ctx, progress)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.computer; c != nil && c.BaseURL == endpoint.BaseURL && c.Token == endpoint.Token {
		return c, endpoint.Notes, nil
	}
	// A computer that this server has not met yet: the first one, or one that was started
	// again, whose port may be another. The sessions of the one before are gone with it.
	s.computer = endpoint.Client()
	for _, p := range s.peers {
		if p.computer != nil {
			s.beat(p)
		}
	}
	return s.computer, endpoint.Notes, nil
}

// current returns the client of the computer that was started last. Before the first
// start_computer there is none, and no session.
func (s *Server) current(session string) (*client.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.computer == nil {
		return nil, api.Errorf(api.CodeUnknownSession, "The session %s is not known to this server, which has started none yet.", session).
			WithFix("Call start_computer and use the session that it returns.")
	}
	return s.computer, nil
}

func (s *Server) engineName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Name()
}

func (s *Server) tool(name string) (Tool, bool) {
	i := slices.IndexFunc(s.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return s.tools[i], true
}

// allowedTools returns the names in COMPUTER_USE_TOOLS, nil for all.
func (s *Server) allowedTools() ([]string, error) {
	value, err := s.settings.Get(settingTools)
	if err != nil || value == "all" {
		return nil, err
	}
	allowed := splitNames(value)
	unknown := func(name string) bool { _, ok := s.tool(name); return !ok }
	if len(allowed) == 0 {
		return nil, badSetting(lookUp(settingTools), value)
	}
	if i := slices.IndexFunc(allowed, unknown); i >= 0 {
		var names []string
		for _, tool := range s.tools {
			names = append(names, tool.Name)
		}
		e := badSetting(lookUp(settingTools), value)
		return nil, e.WithFix("No tool is called %.60q; did you mean %s? %s", allowed[i], api.Nearest(allowed[i], names, 1)[0], e.Fix)
	}
	return append(allowed, "start_computer", "end_session"), nil
}

func isAllowed(allowed []string, name string) bool {
	return allowed == nil || slices.Contains(allowed, name)
}
