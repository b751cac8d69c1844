package viewer

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

const (
	pingEvery   = 30 * time.Second
	pongTimeout = 75 * time.Second // two pings and some time for the answer
	sendTimeout = 10 * time.Second // of one message
	listEvery   = 200 * time.Millisecond

	maxCommand = 4 << 20 // bytes of a message: pasted text may double in size as JSON
	maxPaste   = 1 << 20 // bytes
	outboxSize = 64      // messages
)

// page is the channel of one page that has shown the key.
type page struct {
	server *Server
	id     string // 128 random bits; whoever knows it is the page
	peer   string
	conn   *websocket.Conn
	log    *slog.Logger
	outbox chan message
	thumbs chan []byte // unbuffered: pictures are made no faster than they are sent

	ctx context.Context // ends with the channel
	end context.CancelCauseFunc

	watching map[int]watched // by screen; the reader's own
	painting sync.WaitGroup  // goroutines of watching
	pace     atomic.Int64    // nanoseconds between two thumbnails of one screen
	heard    atomic.Int64    // when the page last sent something, in Unix nanoseconds

	mu   sync.Mutex
	seat *taken // nil while the page is at no screen; guarded by mu
}

// taken is the seat that a page has.
type taken struct {
	Seat
	screen int
	leave  context.CancelCauseFunc
}

// run serves the page until it leaves, breaks the rules or falls behind, or until the
// server stops, and returns the reason.
func (p *page) run() error {
	p.outbox <- message{Type: msgWelcome, Page: p.id, Name: p.server.cfg.Name, ExpiryMS: p.server.cfg.Expiry.Milliseconds()}
	var all sync.WaitGroup
	all.Go(func() { p.end(p.write()) })
	all.Go(func() { p.end(p.list()) })
	// The reader waits for the connection only, so ending it is what stops it. The
	// writer has sent what it wanted by then.
	stop := context.AfterFunc(p.ctx, func() { p.conn.NetConn().SetReadDeadline(time.Now()) })
	defer stop()
	p.end(p.read())
	all.Wait()
	p.painting.Wait()
	return context.Cause(p.ctx)
}

// send queues a message. A page that has not taken the last outboxSize of them is ended.
func (p *page) send(m message) {
	select {
	case p.outbox <- m:
	default:
		p.end(closing(closeSlow, "The page did not keep up."))
	}
}

// write sends what is queued, and pings.
func (p *page) write() error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case m := <-p.outbox:
			p.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
			err = p.conn.WriteJSON(m)
		case picture := <-p.thumbs:
			p.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
			err = p.conn.WriteMessage(websocket.BinaryMessage, picture)
		case <-ping.C:
			err = p.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(sendTimeout))
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
		if err != nil {
			return err
		}
	}
}

// list sends the list of sessions whenever it has changed, a few times a second at most.
func (p *page) list() error {
	version := uint64(0)
	for {
		var err error
		if version, err = p.server.cfg.Computer.Wait(p.ctx, version); err != nil {
			return err
		}
		p.send(message{Type: msgSessions, Sessions: p.server.cfg.Computer.Sessions(), Now: time.Now()})
		select {
		case <-time.After(listEvery):
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	}
}

// read acts on the page's commands, one after the other.
func (p *page) read() error {
	defer p.watch(nil, 0)
	p.conn.SetReadLimit(maxCommand)
	alive := func() {
		p.conn.SetReadDeadline(time.Now().Add(pongTimeout))
		if p.ctx.Err() != nil {
			p.conn.SetReadDeadline(time.Now()) // run has set it before us
		}
	}
	alive()
	p.conn.SetPongHandler(func(string) error { alive(); return nil })
	for p.ctx.Err() == nil {
		var c command
		if err := readCommand(p.conn, &c); err != nil {
			return err
		}
		alive()
		p.heard.Store(time.Now().UnixNano())
		p.obey(c)
	}
	return context.Cause(p.ctx)
}

func (p *page) obey(c command) {
	switch c.Type {
	case cmdThumbnails:
		p.watch(c.Screens, c.Width)
		return
	case cmdAnswer:
		if c.Answer == HandedBack || c.Answer == Declined {
			p.server.cfg.Computer.Answer(c.Screen, c.Answer)
		}
		return
	}
	p.mu.Lock()
	seat := p.seat
	p.mu.Unlock()
	if seat == nil || seat.screen != c.Screen {
		return // the page has moved on meanwhile
	}
	switch c.Type {
	case cmdTake:
		if err := seat.TakeControl(p.ctx); err != nil {
			p.send(message{Type: msgControl, Screen: c.Screen, Why: sentence(err)})
		}
	case cmdHandBack:
		seat.HandBack()
	case cmdResetKeys:
		if err := seat.ResetKeys(p.ctx); err != nil {
			p.send(message{Type: msgNotice, Why: sentence(err)})
		}
	case cmdPaste:
		why := "The text is longer than 1 MiB."
		if len(c.Text) <= maxPaste {
			why = sentence(seat.SetClipboard(p.ctx, c.Text))
		}
		p.send(message{Type: msgPasted, Screen: c.Screen, Why: why})
	}
}

// sentence returns an error as the page shows it, empty for none.
func sentence(err error) string {
	if err == nil {
		return ""
	}
	s := err.Error()
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:] + "."
}

// readCommand reads one message. The connection is of no use after an error.
func readCommand(conn *websocket.Conn, c *command) error {
	kind, data, err := conn.ReadMessage()
	if err != nil {
		return err
	}
	if kind != websocket.TextMessage {
		return closing(websocket.CloseUnsupportedData, "A text message was expected.")
	}
	if err := json.Unmarshal(data, c); err != nil {
		return closing(websocket.ClosePolicyViolation, "A message was not understood.")
	}
	return nil
}
