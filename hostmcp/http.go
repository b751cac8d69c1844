package hostmcp

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
)

// HTTPPath is where RunHTTP serves the protocol.
const HTTPPath = "/mcp"

// maxBody bounds one request in bytes, as maxLine does over stdio.
const maxBody = maxLine

// firstStateless is the protocol version that did away with sessions of the protocol.
// Clients name their version in the header MCP-Protocol-Version.
const firstStateless = "2026-07-28"

// Limits of one connection.
const (
	headerTimeout  = 10 * time.Second // to send a request's header
	maxHeaderBytes = 64 << 10
	keepTimeout    = 2 * time.Minute // without a request
	closeTimeout   = time.Second     // for answers on their way when the server ends
	absenceTimeout = time.Minute     // of a client that has lost its stream of events
)

// RunHTTP serves any number of clients that know the token, over the protocol's
// Streamable HTTP at HTTPPath, until ctx ends. Then it ends as Run does. The listener,
// which it closes, should be one of this machine's loopback addresses: the token crosses
// it as it is.
//
// A client's sessions end when it says goodbye (DELETE), when its stream of events
// breaks and it is not heard of for a minute, or after COMPUTER_USE_IDLE_TIMEOUT
// without a request. Since version 2026-07-28 clients have no connection that could end;
// their sessions end one by one after that time without a call.
func (s *Server) RunHTTP(ctx context.Context, listener net.Listener, token string) error {
	protocol := s.protocol()
	web := &http.Server{
		Handler:           s.httpHandler(protocol, token),
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		IdleTimeout:       keepTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	s.finish(func() {
		// First no new connections, then no streams that stay open. A connection on which
		// nothing was asked yet would be waited for much longer.
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			limited, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			_ = web.Shutdown(limited) // what is left ends with Close
		}()
		for session := range protocol.Sessions() {
			session.Close()
		}
		<-stopped
	})
	web.Close()
	return err
}

// httpHandler serves an SDK server to clients of all protocol versions that know the
// token. The SDK has a handler with sessions and one without; which one a request is
// for shows in its version.
func (s *Server) httpHandler(protocol *mcp.Server, token string) http.Handler {
	options := mcp.StreamableHTTPOptions{
		Logger:              s.log,
		MaxRequestBodyBytes: maxBody,
		SessionTimeout:      s.idleTimeout(),
	}
	serve := func(*http.Request) *mcp.Server { return protocol }
	withSessions := mcp.NewStreamableHTTPHandler(serve, &options)
	// From that version on a request's end, which a client may bring about, is the call's.
	options.Stateless, options.PropagateRequestCancellation = true, true
	withoutSessions := mcp.NewStreamableHTTPHandler(serve, &options)

	choose := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != HTTPPath {
			http.NotFound(w, r)
			return
		}
		r.Header.Del(arrivalHeader) // ours alone
		if r.Header.Get("MCP-Protocol-Version") >= firstStateless {
			withoutSessions.ServeHTTP(w, r)
			return
		}
		id := r.Header.Get("MCP-Session-Id")
		if r.Method == http.MethodDelete {
			s.leave(id)
		}
		defer s.request(id, r.Method == http.MethodGet, func() { s.disconnect(protocol, id) })()
		withSessions.ServeHTTP(w, r)
	}
	return http.NewCrossOriginProtection().Handler(guard(token, http.HandlerFunc(choose)))
}

// disconnect ends the connection of the peer with an id.
func (s *Server) disconnect(protocol *mcp.Server, id string) {
	s.leave(id)
	for session := range protocol.Sessions() {
		if session.ID() == id {
			session.Close()
		}
	}
}

// idleTimeout is how long a client may be silent. A bad setting counts as the default;
// start_computer reports it.
func (s *Server) idleTimeout() time.Duration {
	value, err := s.settings.Get(settingIdle)
	if err != nil {
		value = lookUp(settingIdle).Default
	}
	d, _ := parseDuration(value) // the table accepts no other
	return d
}

// guard lets those requests pass that carry the token and come from no web page: a page
// would have an Origin, or a name for this machine that was made to point here.
func guard(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if _, ok := api.LoopbackHost(r.Host); !ok {
			http.Error(w, fmt.Sprintf("Requests for the host %.100q are refused: use 127.0.0.1.", r.Host), http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			http.Error(w, fmt.Sprintf("Requests from web pages (Origin %.100q) are refused.", origin), http.StatusForbidden)
			return
		}
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || !api.SameSecret(given, token) {
			h.Set("WWW-Authenticate", `Bearer realm="computer-use-mcp"`)
			http.Error(w, "The bearer token is missing or wrong. The server's log names the file that holds it.", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
