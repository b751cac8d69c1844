package docker

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// Ports that the engine publishes are ports of the engine's machine. Where that is
// another machine, and where COMPUTER_USE_PUBLISH=off, the computer is reached through
// the Docker API instead: the daemon's API by a stream for each connection, and
// people's programs by a tunnel, which listens on the ports of this machine.

// takeOverEvery is how often a tunnel tries to get its ports from whoever has them.
const takeOverEvery = 2 * time.Second

// isTunnelled reports whether the container is reached through the Docker API.
func (c *call) isTunnelled(f *found) bool {
	return c.cfg.Unpublished || f.isUnpublished() || c.address.isRemote()
}

// tunnel leads the viewer's and the VNC ports of this machine to those of the container.
// Of several processes with the same computer one has the ports. The others wait for
// them, so that people are cut off for a moment only when that one ends.
type tunnel struct {
	first int // of the ports
	dial  func(ctx context.Context, port int) (halfCloser, error)
	log   *slog.Logger

	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	taken *portError // guarded by mu; what keeps the tunnel waiting, nil when it serves
}

// portError is a port of this machine that cannot be had.
type portError struct {
	port int
	err  error
}

// openTunnel sees to it that the viewer's ports of this machine lead to the computer, and
// says in the endpoint's notes who serves them. It refuses when another program has one.
func (c *call) openTunnel(ctx context.Context, f *found, e *engine.Endpoint) error {
	t := c.tunnelFrom(f.portBase)
	t.mu.Lock()
	taken := t.taken
	t.mu.Unlock()
	switch {
	case taken == nil:
		e.Notes = append(e.Notes, "The viewer's and the VNC ports lead to the computer through the Docker API, as long as this server process runs.")
	case taken.port == t.first && leadsTo(ctx, e):
		e.Notes = append(e.Notes, "The viewer's and the VNC ports are served by another process of this machine. This one takes over when that one ends.")
	default:
		return api.Errorf(api.CodePortTaken, "Port %d is taken by another program (%v). The container %s, which is reached through the Docker API, needs ports %d to %d of 127.0.0.1 for its viewers.",
			taken.port, taken.err, c.cfg.Name, t.first, t.first+api.MaxScreens).
			WithFix("End the program that has the port. Or the user runs `docker rm %s` when it is stopped, after which COMPUTER_USE_PORT_BASE chooses other ports; files in home stay.", c.cfg.Name)
	}
	return nil
}

// tunnelFrom returns this process's tunnel, which it opens when there is none from that
// port on.
func (c *call) tunnelFrom(first int) *tunnel {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.tunnel != nil && c.tunnel.first != first { // the container was made again with other ports
		old := c.tunnel
		c.tunnel = nil
		c.mu.Unlock()
		old.close() // first, because some of its ports may be the new one's
		c.mu.Lock()
	}
	if c.tunnel != nil {
		return c.tunnel
	}
	t := &tunnel{first: first, log: c.log, dial: func(ctx context.Context, port int) (halfCloser, error) {
		return c.dialInside(ctx, c.cfg.Name, port)
	}}
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	listeners := t.listen()
	t.running.Go(func() { t.run(ctx, listeners) })
	c.tunnel = t
	return t
}

// close closes the ports and all connections, and returns when that is done.
func (t *tunnel) close() {
	t.cancel()
	t.running.Wait()
}

// listen opens all ports of the tunnel, or none and notes which one is taken.
func (t *tunnel) listen() []net.Listener {
	var listeners []net.Listener
	var taken *portError
	for port := t.first; port <= t.first+api.MaxScreens && taken == nil; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			listeners = append(listeners, l)
		} else {
			taken = &portError{port, err}
		}
	}
	if taken != nil {
		for _, l := range listeners {
			l.Close()
		}
		listeners = nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = taken
	return listeners
}

// run serves the listeners until ctx ends, and waits for the ports first when there are
// none.
func (t *tunnel) run(ctx context.Context, listeners []net.Listener) {
	for listeners == nil {
		if engine.Sleep(ctx, takeOverEvery) != nil {
			return
		}
		listeners = t.listen()
	}
	var serving sync.WaitGroup
	for i, l := range listeners {
		serving.Go(func() { t.serve(ctx, l, t.first+i) })
	}
	serving.Wait()
}

// serve leads the connections of one port to the container.
func (t *tunnel) serve(ctx context.Context, l net.Listener, port int) {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var open sync.WaitGroup
	defer open.Wait()
	for ctx.Err() == nil {
		conn, err := l.Accept()
		if err != nil {
			_ = engine.Sleep(ctx, 5*pollEvery) // out of files, unless it is the end
			continue
		}
		open.Go(func() { t.join(ctx, conn, port) })
	}
}

// join copies between a program of this machine and a port of the container, until the
// container's end has nothing more to say or ctx ends.
func (t *tunnel) join(ctx context.Context, here net.Conn, port int) {
	defer here.Close()
	there, err := t.dial(ctx, port)
	if err != nil {
		t.log.Warn("a viewer does not reach the computer", "port", port, "error", err)
		return
	}
	defer context.AfterFunc(ctx, func() { there.Close() })()
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = io.Copy(there, here)
		_ = there.CloseWrite()
	})
	_, _ = io.Copy(here, there)
	here.Close()
	there.Close()
	sending.Wait()
}

// leadsTo reports whether the viewer page of this machine's port is the computer's.
func leadsTo(ctx context.Context, e *engine.Endpoint) bool {
	ctx, cancel := context.WithTimeout(ctx, defaultLimits.probe)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Viewer+"/", nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true} // no proxy: it is this machine
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.Header.Get(api.HeaderHome) == e.HomeID
}
