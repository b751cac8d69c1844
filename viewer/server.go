package viewer

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Config says what a Server serves.
type Config struct {
	Computer Computer
	Name     string // of the computer, for the page's title
	Key      string // that a page must show
	HomeID   string // tells a process that forwards ports whose page this is
	// Expiry is how long a person keeps control without doing anything.
	Expiry time.Duration
	// Guard slows down who guesses keys.
	Guard Guard
	// Port is the one that browsers use. It may differ from the listener's when a
	// container engine forwards it.
	Port   int
	Logger *slog.Logger
}

// Guard slows down who guesses keys. It delays only the answers to wrong ones: a right
// key never waits, so that nobody can lock out a neighbour behind the same address.
// rfb.Guard is one; the page and VNC programs share it.
type Guard interface {
	// Right notes that a peer, an address with its port, has shown the right key.
	Right(peer string)
	// Wrong notes a wrong one and returns how long its answer has to wait.
	Wrong(peer string) time.Duration
}

// Server is the HTTP handler of the page.
type Server struct {
	cfg     Config
	mux     http.ServeMux
	files   map[string]file
	sockets sync.WaitGroup // those that http.Server has forgotten

	mu      sync.Mutex
	pages   map[string]*page // that have shown the key, by id; guarded by mu
	waiting []*waiting       // that have not, oldest first; guarded by mu
	awaited time.Time        // until when a page is expected to be opened; guarded by mu
}

// Timeouts of the HTTP server.
const (
	headerTimeout = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10 // bytes
)

// New returns a Server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, files: loadFiles(), pages: make(map[string]*page)}
	for _, r := range routes {
		s.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			if refusal := s.checkOrigin(req, r.access); refusal != "" {
				s.refuse(w, req, refusal)
				return
			}
			r.handle(s, w, req)
		})
	}
	return s
}

// Serve answers requests on l until ctx ends, and returns when the last page has been
// told. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	err := server.Serve(l)
	if stop() {
		return err // nobody asked for the end
	}
	s.sockets.Wait()
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.protect(w.Header(), r)
	w.Header().Set("Computer-Use-Home", s.cfg.HomeID)
	if refusal := s.checkHost(r); refusal != "" {
		s.refuse(w, r, refusal)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// refuse answers a request that a browser should not have sent. Any page can make a
// browser send as many as it likes, so they get few bytes of a log, and none of an ordinary
// one.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, refusal string) {
	s.cfg.Logger.Debug("page request refused", "peer", r.RemoteAddr, "path", fmt.Sprintf("%.100s", r.URL.Path), "reason", refusal)
	http.Error(w, refusal, http.StatusForbidden)
}

// access says from where a route may be reached.
type access int

const (
	link   access = iota // a person follows a link or enters the address
	ours                 // our own page loads it
	socket               // our own page opens a WebSocket
)

type route struct {
	pattern string
	access  access
	handle  func(*Server, http.ResponseWriter, *http.Request)
}

// routes is all that is served.
var routes = []route{
	{"GET /{$}", link, (*Server).index},
	{"GET /assets/{file...}", ours, (*Server).asset},
	{"GET /live", socket, (*Server).live},
	{"GET /screens/{number}", socket, (*Server).screen},
}

// screenNumber returns the number in the path of a screen's WebSocket, 0 for none.
func screenNumber(r *http.Request) int {
	n, _ := strconv.Atoi(r.PathValue("number"))
	return n
}
