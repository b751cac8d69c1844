package viewer

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/api"
)

const (
	maxPages   = 128
	maxWaiting = 64 // connections that have not shown the key

	helloTimeout = 10 * time.Second
	maxHello     = 4 << 10 // bytes of the first message
)

var upgrader = websocket.Upgrader{
	HandshakeTimeout: headerTimeout,
	ReadBufferSize:   16 << 10,
	WriteBufferSize:  16 << 10,
	Subprotocols:     []string{"binary"},                       // chosen only when it is offered
	CheckOrigin:      func(*http.Request) bool { return true }, // see checkOrigin
}

// waiting is a connection that has not shown the key.
type waiting struct{ end context.CancelFunc }

// live serves a page's channel.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	s.sockets.Add(1)
	defer s.sockets.Done()
	defer conn.Close()
	if err := s.hello(r.Context(), conn, r.RemoteAddr); err != nil {
		closeSocket(conn, err)
		return
	}
	p := &page{
		server: s, id: rand.Text(), peer: r.RemoteAddr, conn: conn, log: s.cfg.Logger.With("peer", r.RemoteAddr),
		outbox: make(chan message, outboxSize), thumbs: make(chan []byte), watching: make(map[int]watched),
	}
	p.ctx, p.end = context.WithCancelCause(r.Context())
	if err := s.enter(p); err != nil {
		closeSocket(conn, err)
		return
	}
	defer s.leave(p)
	p.log.Info("page opened")
	closeSocket(conn, p.run())
	p.log.Info("page closed", "reason", context.Cause(p.ctx))
}

// hello reads the first message and checks its key.
func (s *Server) hello(ctx context.Context, conn *websocket.Conn, peer string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.wait(cancel)()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conn.SetReadLimit(maxHello)
	conn.SetReadDeadline(time.Now().Add(helloTimeout))
	var c command
	if err := readCommand(conn, &c); err != nil {
		return err
	}
	if c.Type == cmdHello && api.SameSecret(c.Key, s.cfg.Key) {
		s.cfg.Guard.Right(peer)
		return nil
	}
	delay := s.cfg.Guard.Wrong(peer)
	s.cfg.Logger.Warn("page showed a wrong key", "peer", peer, "delay", delay)
	select {
	case <-time.After(delay):
	case <-ctx.Done():
	}
	return closing(closeWrongKey, "The key is wrong.")
}

// wait counts a connection that has not shown the key until done is called. One too
// many ends the oldest, so that nobody is kept out by connections that only wait.
func (s *Server) wait(end context.CancelFunc) (done func()) {
	w := &waiting{end}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, w)
	if len(s.waiting) > maxWaiting {
		s.waiting[0].end()
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = slices.DeleteFunc(s.waiting, func(o *waiting) bool { return o == w })
	}
}

// enter adds a page to those that may take seats.
func (s *Server) enter(p *page) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pages) >= maxPages {
		return closing(closeTooMany, fmt.Sprintf("%d pages are open already. Close one of them.", maxPages))
	}
	p.heard.Store(time.Now().UnixNano())
	s.pages[p.id] = p
	s.awaited = time.Time{}
	return nil
}

func (s *Server) leave(p *page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pages, p.id)
}
