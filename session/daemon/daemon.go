// Package daemon is the computer's side of the wire: it serves the api package's
// routes over HTTP and wires sessions, screens and identity together.
//
// It trusts nobody who cannot show the bearer token, and because web pages can reach
// loopback ports it also refuses requests that name another host or come from a page.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session"
)

// Timeouts of the HTTP server. An answer may take as long as the work does; sending a
// request or receiving a part of an answer may not.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 5 * time.Second // for answers under way at shutdown
	maxHeader     = 16 << 10        // bytes
)

// config says what a daemon serves.
type config struct {
	Table    *session.Table
	Identity identity
	Token    string // that callers must show
	Version  string
	Network  string // internet or offline
	Sandbox  string // what isolates the computer, in a few words; may be empty
	Viewer   string // link of the viewer page, with key
	// VNCPort returns the port that serves a screen to VNC programs, 0 for none.
	VNCPort func(screen int) int
	// Show sends a viewer page to a screen; see [viewer.Server.Show]. nil when no page is served.
	Show func(screen int) (shown bool)
	// Shutdown is called when a caller asks the computer to stop. It returns at once.
	Shutdown func()
	Logger   *slog.Logger
}

// daemon is the HTTP handler of the API.
type daemon struct {
	cfg     config
	mux     http.ServeMux
	started time.Time
}

// newDaemon returns a daemon.
func newDaemon(cfg config) *daemon {
	d := &daemon{cfg: cfg, started: time.Now()}
	for _, r := range routes {
		d.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { d.serve(r, w, req) })
	}
	return d
}

// Serve answers requests on l until ctx ends, then lets running answers finish for a
// few seconds. It closes l.
func (d *daemon) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           d,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(d.cfg.Logger.Handler(), slog.LevelWarn),
	}
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(drained)
		wait, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		if server.Shutdown(wait) != nil {
			server.Close()
		}
	})
	err := server.Serve(l)
	if stop() {
		return err // nobody asked for the end
	}
	<-drained
	return nil
}

// ServeHTTP answers one request. A panic of a handler becomes an error of
// CodeInternal: one bad call must not take the other sessions down.
func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := checkOrigin(r); err != nil {
		writeError(w, http.StatusForbidden, err)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// serve runs a route's handler behind the checks that its access asks for.
func (d *daemon) serve(route route, w http.ResponseWriter, r *http.Request) {
	c := &call{r: r, w: w, most: route.body}
	defer func() {
		if p := recover(); p != nil {
			d.cfg.Logger.Error("panic", "route", route.pattern, "panic", p, "stack", string(debug.Stack()))
			if c.began {
				panic(http.ErrAbortHandler) // so that the caller takes what it has for no whole answer
			}
			c.fail(api.AsError(errors.New("the daemon met an unexpected state")))
		}
	}()
	if route.access == token {
		if status, err := d.checkCaller(r); err != nil {
			writeError(w, status, err)
			return
		}
	}
	result, err := route.handle(d, c)
	if err != nil {
		c.fail(d.told(route.pattern, err))
		return
	}
	switch route.answer {
	case mixed:
		c.finish(result)
	case plain:
		writeJSON(w, http.StatusOK, result)
	}
}

// told returns the error that a caller is told. What is our fault is logged.
func (d *daemon) told(route string, err error) *api.Error {
	e := api.AsError(err)
	if e.Code == api.CodeInternal {
		d.cfg.Logger.Error("call failed", "route", route, "error", err)
	}
	return e
}

// checkOrigin refuses what a web page may have sent: a request under a name other than
// loopback (a page whose name was pointed here), or one that carries an Origin.
//
// On a loopback address the port must be ours too. On any other address a container
// engine forwards a port of the host that we cannot know.
func checkOrigin(r *http.Request) *api.Error {
	refuse := func(format string, args ...any) *api.Error {
		return api.Errorf(api.CodePermissionDenied, format, args...).
			WithFix("Call the API at http://127.0.0.1 and its port, and not from a web page.")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		return refuse("Requests from web pages (Origin %.100q) are refused.", origin)
	}
	port, ok := api.LoopbackHost(r.Host)
	if !ok {
		return refuse("Requests for the host %.100q are refused.", r.Host)
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, ok := local.(*net.TCPAddr); ok && tcp.IP.IsLoopback() && port != portOf(tcp) {
		return refuse("Requests for the port %.100q are refused.", port)
	}
	return nil
}

func portOf(a *net.TCPAddr) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}

// checkCaller checks the token, the protocol version and the identity that the caller
// expects, in this order, and returns the status of a refusal.
func (d *daemon) checkCaller(r *http.Request) (status int, err *api.Error) {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || !api.SameSecret(given, d.cfg.Token) {
		return http.StatusUnauthorized, api.Errorf(api.CodePermissionDenied, "The bearer token is missing or wrong.").
			WithFix("Use the token of this computer.")
	}
	if err := api.CheckProtocol(r.Header.Get(api.HeaderProtocol)); err != nil {
		e := api.AsError(err)
		return statusOf(e.Code), e
	}
	for _, id := range []struct{ what, header, own string }{
		{"computer", api.HeaderComputer, d.cfg.Identity.ComputerID},
		{"home", api.HeaderHome, d.cfg.Identity.HomeID},
	} {
		if want := r.Header.Get(id.header); want != "" && want != id.own {
			e := api.Errorf(api.CodeComputerMismatch, "The call is for the %s %.64q, but this is %s.", id.what, want, id.own).
				WithFix("The computer was replaced. Call start_computer again.")
			return statusOf(e.Code), e
		}
	}
	return 0, nil
}
