package rfb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/quickio"
)

// Server accepts the TCP connections of viewers: one port for each screen. Its
// fields are set before it is used.
type Server struct {
	// Config returns how a viewer of a screen (1, 2, ...) is served. It is called
	// for every connection, so that it always tells the present state: for a
	// screen that is not open it sets Refuse. Peer, Guard and Log are filled in
	// when they are not set.
	Config func(screen int, peer net.Addr) Config
	// Log gets connections and their ends; nil is silent.
	Log *slog.Logger

	guard Guard

	mu      sync.Mutex
	pending []pendingConn // guarded by mu; not logged in yet, oldest first
}

// pendingConn is a connection that has not logged in.
type pendingConn struct {
	host string
	conn net.Conn
}

// Connections that have not logged in. One more makes room by ending the oldest,
// so that a peer that opens many keeps out neither others nor, behind a shared
// address, a person who just logs in.
const (
	maxPending     = 128
	maxPendingPeer = 16
)

// Listen opens the ports base+1 to base+screens of a host for the viewers of screens 1
// to screens, or none: it fails when one is taken.
func Listen(host string, base, screens int) ([]net.Listener, error) {
	// A viewer that vanished is noticed within half a minute even when nothing
	// is sent to it.
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	var listeners []net.Listener
	for n := 1; n <= screens; n++ {
		l, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(base+n)))
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return nil, fmt.Errorf("listen for viewers of screen %d: %w", n, err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// Serve accepts viewers, of screen 1 at the first listener and so on, until ctx ends or
// a listener fails. It closes the listeners and returns when all connections have
// ended, with ctx's cause or the listener's error.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var serving sync.WaitGroup
	for i, l := range listeners {
		serving.Go(func() { cancel(s.accept(ctx, l, i+1)) })
	}
	serving.Wait()
	return context.Cause(ctx)
}

// accept serves one screen. It closes the listener and returns when all of its
// connections have ended.
func (s *Server) accept(ctx context.Context, l net.Listener, screen int) error {
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	wait := time.Duration(0)
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			wait = 0
			// Here, where connections still have their order.
			s.pend(host(conn.RemoteAddr().String()), conn)
			serving.Go(func() { s.serve(ctx, conn, screen) })
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept viewers of screen %d: %w", screen, err)
		default:
			// Such as too many open files: it passes when others end.
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.logger().Warn("accept failed", "screen", screen, "error", err)
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		}
	}
}

// serve runs one connection.
func (s *Server) serve(ctx context.Context, conn net.Conn, screen int) {
	setUserTimeout(conn, stallTimeout)
	cfg := s.Config(screen, conn.RemoteAddr())
	if cfg.Peer == "" {
		cfg.Peer = conn.RemoteAddr().String()
	}
	if cfg.Guard == nil {
		cfg.Guard = &s.guard
	}
	if cfg.Log == nil {
		cfg.Log = s.logger()
	}
	cfg.Log = cfg.Log.With("screen", screen)
	defer s.unpend(conn)
	c := NewConn(quickio.New(conn), cfg)
	loggedIn := false
	c.onLogin = func() {
		loggedIn = true
		s.unpend(conn)
		c.log.Info("viewer connected")
	}
	err := c.Run(ctx)
	switch {
	case loggedIn:
		c.log.Info("viewer disconnected", "sent", c.sent.Load(), "reason", err)
	case errors.Is(err, ErrWrongPassword):
		c.log.Warn("viewer refused", "reason", err)
	case !errors.Is(err, io.EOF):
		// Port scanners and health checks come here: not worth a line.
		c.log.Debug("viewer did not log in", "reason", err)
	}
}

// pend counts a connection that has not logged in and ends the oldest one when
// there are too many.
func (s *Server) pend(host string, conn net.Conn) {
	if oldest := s.enqueue(host, conn); oldest != nil {
		oldest.Close()
	}
}

// enqueue returns the connection that has to make room, or nil.
func (s *Server) enqueue(host string, conn net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, pendingConn{host, conn})
	ofPeer := 0
	for _, p := range s.pending {
		if p.host == host {
			ofPeer++
		}
	}
	var oldest int
	switch {
	case ofPeer > maxPendingPeer:
		oldest = slices.IndexFunc(s.pending, func(p pendingConn) bool { return p.host == host })
	case len(s.pending) > maxPending:
		oldest = 0
	default:
		return nil
	}
	ended := s.pending[oldest].conn
	s.pending = slices.Delete(s.pending, oldest, oldest+1)
	return ended
}

func (s *Server) unpend(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = slices.DeleteFunc(s.pending, func(p pendingConn) bool { return p.conn == conn })
}

func (s *Server) logger() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}
