package viewer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxRFBMessage = 2 << 20          // bytes; a clipboard of 1 MiB with room to spare
	stallTimeout  = 30 * time.Second // for the page to take what it was sent
	closeGrace    = time.Second      // to say why a connection ends

	// pagePrefix begins the subprotocol that names the page.
	pagePrefix = "page."
)

// screen serves the WebSocket that carries RFB for the screen that a page has entered.
func (s *Server) screen(w http.ResponseWriter, r *http.Request) {
	p := s.pageOf(r)
	if p == nil {
		s.refuse(w, r, "A page that has shown the key is needed.")
		return
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	s.sockets.Add(1)
	defer s.sockets.Done()
	defer conn.Close()
	closeSocket(conn, p.sit(screenNumber(r), conn))
}

// pageOf returns the page that a request names, or nil.
func (s *Server) pageOf(r *http.Request) *page {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, protocol := range websocket.Subprotocols(r) {
		if id, ok := strings.CutPrefix(protocol, pagePrefix); ok {
			return s.pages[id]
		}
	}
	return nil
}

// sit takes a seat for the page and serves it until either end leaves. A page has one
// seat: it gives up an earlier one.
func (p *page) sit(screen int, conn *websocket.Conn) error {
	seat, err := p.server.cfg.Computer.Sit(screen, p.peer, func(mine bool, why string) {
		p.send(message{Type: msgControl, Screen: screen, Mine: mine, Why: why})
	})
	if err != nil {
		return closing(closeRefused, sentence(err))
	}
	ctx, leave := context.WithCancelCause(p.ctx)
	defer leave(nil)
	t := &taken{seat, screen, leave}
	p.mu.Lock()
	before := p.seat
	p.seat = t
	p.mu.Unlock()
	if before != nil {
		before.leave(errLeft)
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.seat == t {
			p.seat = nil
		}
	}()
	return seat.Serve(ctx, newStream(ctx, conn))
}

// errLeft ends a seat whose page has taken another.
var errLeft = closing(websocket.CloseNormalClosure, "The page went to another screen.")

// stream makes a stream of bytes of a WebSocket's binary messages; how the bytes are cut
// into messages means nothing.
type stream struct {
	conn    *websocket.Conn
	message io.Reader // the rest of the current one, nil between two
	closing sync.Once
}

// newStream returns a stream that pings until ctx ends.
func newStream(ctx context.Context, conn *websocket.Conn) *stream {
	conn.SetReadLimit(maxRFBMessage)
	alive := func() { conn.SetReadDeadline(time.Now().Add(pongTimeout)) }
	alive()
	conn.SetPongHandler(func(string) error { alive(); return nil })
	go func() {
		ping := time.NewTicker(pingEvery)
		defer ping.Stop()
		for {
			select {
			case <-ping.C:
				conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(pingEvery))
			case <-ctx.Done():
				return
			}
		}
	}()
	return &stream{conn: conn}
}

func (s *stream) Read(b []byte) (int, error) {
	for {
		if s.message == nil {
			kind, message, err := s.conn.NextReader()
			if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived) {
				return 0, io.EOF
			}
			if err != nil {
				return 0, err
			}
			if kind != websocket.BinaryMessage {
				return 0, closing(websocket.CloseUnsupportedData, "A binary message was expected.")
			}
			s.message = message
		}
		n, err := s.message.Read(b)
		if err == io.EOF {
			s.message, err = nil, nil
		}
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
	}
}

func (s *stream) Write(b []byte) (int, error) {
	s.conn.SetWriteDeadline(time.Now().Add(stallTimeout))
	if err := s.conn.WriteMessage(websocket.BinaryMessage, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close ends Reads at once and a Write that waits after closeGrace. In between the
// handler can tell the page why.
func (s *stream) Close() error {
	s.closing.Do(func() {
		s.conn.NetConn().SetReadDeadline(time.Now())
		time.AfterFunc(closeGrace, func() { s.conn.Close() })
	})
	return nil
}

// closing is an error that tells a page why its connection ends.
func closing(code int, reason string) error {
	return &websocket.CloseError{Code: code, Text: reason}
}

// closeSocket tells the page why the connection ends, and ends it. An error without a
// code of ours is none of the page's business.
func closeSocket(conn *websocket.Conn, err error) {
	code, reason := websocket.CloseNormalClosure, ""
	var known *websocket.CloseError
	switch {
	case errors.As(err, &known) && !slices.Contains([]int{websocket.CloseNoStatusReceived, websocket.CloseAbnormalClosure}, known.Code):
		code, reason = known.Code, known.Text
	case errors.Is(err, context.Canceled):
		code, reason = websocket.CloseGoingAway, "The computer is shutting down."
	case err != nil:
		code, reason = websocket.CloseInternalServerErr, "The connection failed."
	}
	const longest = 123 // bytes, RFC 6455 section 5.5
	for len(reason) > longest {
		reason = reason[:len(reason)-1]
	}
	conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, strings.ToValidUTF8(reason, "")), time.Now().Add(closeGrace))
	conn.Close()
}
