package browser

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/gorilla/websocket"
)

// maxQueue is how many messages wait for a guest before it is sent away.
const maxQueue = 16 << 10

// guest is a program that speaks the DevTools protocol over our pipe. The browser knows it
// as a session of its own, so that what it asks for and is told stays apart from ours: what
// it sends without a session belongs to that.
type guest struct {
	run   *instance
	ws    *websocket.Conn
	root  string // its session with the browser
	queue chan message

	mu       sync.Mutex
	sessions map[string]bool // guarded by mu; those that it has, root among them
}

func (c *guest) serve(ctx context.Context) {
	defer c.ws.Close()
	var attached struct{ SessionID string }
	conn := c.run.conn
	if conn.call(ctx, "", "Target.attachToBrowserTarget", nil, &attached) != nil {
		return
	}
	c.root = attached.SessionID
	c.add(c.root)
	defer c.leave()

	ctx, cancel := context.WithCancel(ctx)
	var writing sync.WaitGroup
	writing.Go(func() { c.write(ctx) })
	defer writing.Wait()
	defer cancel()
	c.ws.SetReadLimit(maxMessage)
	for {
		var m message
		if c.ws.ReadJSON(&m) != nil {
			return
		}
		if m.Session == "" {
			m.Session = c.root
		}
		c.mu.Lock()
		own := c.sessions[m.Session]
		c.mu.Unlock()
		if !own {
			c.receive(message{ID: m.ID, Session: m.Session, Error: &remoteError{Code: -32001, Message: "Session with given id not found."}})
			continue
		}
		if conn.send(m) != nil {
			return
		}
	}
}

// add gives what comes in a session to the guest.
func (c *guest) add(session string) {
	c.mu.Lock()
	c.sessions[session] = true
	c.mu.Unlock()
	c.run.conn.tap(session, c.receive)
}

// leave ends the guest's sessions.
func (c *guest) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	_ = c.run.conn.call(ctx, "", "Target.detachFromTarget", map[string]any{"sessionId": c.root}, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	for session := range c.sessions {
		c.run.conn.tap(session, nil)
	}
}

// receive takes a message of one of the guest's sessions. It is called by the connection
// and must not block.
func (c *guest) receive(m message) {
	var e struct{ SessionID string }
	switch m.Method {
	case "Target.attachedToTarget":
		if json.Unmarshal(m.Params, &e) == nil {
			c.add(e.SessionID)
		}
	case "Target.detachedFromTarget":
		if json.Unmarshal(m.Params, &e) == nil {
			c.mu.Lock()
			delete(c.sessions, e.SessionID)
			c.mu.Unlock()
			c.run.conn.tap(e.SessionID, nil)
		}
	}
	if m.Session == c.root {
		m.Session = ""
	}
	select {
	case c.queue <- m:
	default:
		c.ws.Close() // it does not read
	}
}

// write sends what has come.
func (c *guest) write(ctx context.Context) {
	defer c.ws.Close() // ends the reading
	for {
		select {
		case m := <-c.queue:
			if c.ws.WriteJSON(m) != nil {
				return
			}
		case <-c.run.conn.done:
			return
		case <-ctx.Done():
			return
		}
	}
}
