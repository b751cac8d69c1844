package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// errGone is the error of calls to a Chromium that has ended.
var errGone = errors.New("the browser has ended")

// maxMessage is the largest message that is read, in bytes. Chromium sends none that
// large unless it is asked for something that we never ask for.
const maxMessage = 64 << 20

// takeTime is how long a Chromium may take to read a command. It does so at once, unless
// it hangs or somebody stopped it. A browser that closes meanwhile has time left: closeTime.
const takeTime = 3 * time.Second

// message is one message of the DevTools protocol in its flat form: a call with an id and
// a method, an answer with an id, or an event with a method. It belongs to a session, or
// to the browser when that is empty.
type message struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *remoteError    `json:"error,omitempty"`
	Session string          `json:"sessionId,omitempty"`
}

// remoteError is Chromium's refusal of a call.
type remoteError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *remoteError) Error() string { return e.Message }

// conn talks to a Chromium over the two pipes of --remote-debugging-pipe, where messages
// end with a zero byte. Its methods may be called from any goroutine.
type conn struct {
	r    io.ReadCloser
	w    io.WriteCloser
	done chan struct{} // closed when nothing more comes
	hung atomic.Bool   // closed because a command was not read

	// onEvent is told of every event, from one goroutine and in their order. It must
	// not call.
	onEvent func(message)

	writing sync.Mutex // one message at a time goes to w

	mu    sync.Mutex
	last  int                      // guarded by mu; id of the last call
	calls map[string]chan message  // guarded by mu; by id; nil once done is closed
	taps  map[string]func(message) // guarded by mu; by session, see tap
}

func newConn(r io.ReadCloser, w io.WriteCloser, onEvent func(message)) *conn {
	return &conn{r: r, w: w, done: make(chan struct{}), onEvent: onEvent, calls: make(map[string]chan message), taps: make(map[string]func(message))}
}

// run reads until Chromium ends.
func (c *conn) run() {
	defer c.close()
	defer c.fail()
	for lines := bufio.NewReaderSize(c.r, 64<<10); ; {
		line, err := readMessage(lines)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			return // what does not speak the protocol is no Chromium
		}
		c.dispatch(m)
	}
}

// close ends the connection. It may be called more than once.
func (c *conn) close() {
	c.r.Close()
	c.w.Close()
}

// readMessage returns the next message without the zero byte behind it.
func readMessage(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice(0)
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte{0}), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxMessage:
			return nil, fmt.Errorf("a message of more than %d bytes", maxMessage)
		}
	}
}

func (c *conn) dispatch(m message) {
	c.mu.Lock()
	tap := c.taps[m.Session]
	answer := c.calls[string(m.ID)]
	if tap == nil {
		delete(c.calls, string(m.ID))
	}
	c.mu.Unlock()
	switch {
	case tap != nil:
		tap(m)
		return
	case m.Method != "":
		c.onEvent(m)
		return
	}
	if answer != nil {
		answer <- m // has room for it
	}
}

// tap has everything that comes in a session given to f, which must not call and not block,
// instead of to us; a nil f ends that. Ids of calls in it are the caller's own.
func (c *conn) tap(session string, f func(message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f == nil {
		delete(c.taps, session)
	} else {
		c.taps[session] = f
	}
}

// fail ends the calls under way.
func (c *conn) fail() {
	c.mu.Lock()
	c.calls = nil
	c.mu.Unlock()
	close(c.done)
}

// call sends a command to a session, or to the browser when that is empty, and waits for
// the answer, which it decodes into result unless that is nil. The error is errGone, ctx's
// or a remoteError.
func (c *conn) call(ctx context.Context, session, method string, params, result any) error {
	return c.begin(session, method, params)(ctx, result)
}

// begin is call in two steps, for commands that are not to wait for each other's answers:
// it sends the command, and what it returns waits for the answer.
func (c *conn) begin(session, method string, params any) (wait func(ctx context.Context, result any) error) {
	failed := func(err error) func(context.Context, any) error {
		return func(context.Context, any) error { return err }
	}
	m := message{Method: method, Session: session}
	if params != nil {
		data, err := json.Marshal(params)
		if err != nil {
			return failed(err)
		}
		m.Params = data
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.calls == nil {
		c.mu.Unlock()
		return failed(errGone)
	}
	c.last++
	id := strconv.Itoa(c.last)
	m.ID = json.RawMessage(id)
	c.calls[id] = answer
	c.mu.Unlock()
	if err := c.send(m); err != nil {
		return failed(err)
	}
	return func(ctx context.Context, result any) error {
		select {
		case got := <-answer:
			if got.Error != nil {
				return fmt.Errorf("%s: %w", method, got.Error)
			}
			if result == nil {
				return nil
			}
			return json.Unmarshal(got.Result, result)
		case <-c.done:
			return errGone
		case <-ctx.Done():
			c.mu.Lock()
			delete(c.calls, id)
			c.mu.Unlock()
			return ctx.Err()
		}
	}
}

func (c *conn) send(m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	defer time.AfterFunc(takeTime, func() {
		c.hung.Store(true)
		c.close() // ends the Write
	}).Stop()
	if _, err := c.w.Write(append(data, 0)); err != nil {
		return errGone
	}
	return nil
}
