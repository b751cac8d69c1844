package hostmcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arrivals keeps the order in which calls arrived. The SDK starts every call in a
// goroutine of its own, so their order is lost by the time a handler runs. It is
// taken where messages are read one by one, in the connection.
type arrivals struct {
	ordered func(tool string) bool

	mu     sync.Mutex
	queues map[string][]*turn // by session; the first of a queue may run
	turns  map[string]*turn   // by number
	last   int
}

// turn is the place of one call in its session's queue.
type turn struct {
	session string
	number  string
	first   chan struct{} // closed when it is this call's turn
}

// arrivalHeader carries a turn's number from the connection to the handler, in the
// one part of a request that belongs to the transport.
const arrivalHeader = "Arrival"

func newArrivals(ordered func(string) bool) *arrivals {
	return &arrivals{ordered: ordered, queues: map[string][]*turn{}, turns: map[string]*turn{}}
}

// arrive is join for a call as it comes in.
func (a *arrivals) arrive(call *jsonrpc.Request) *turn {
	var params struct {
		Name      string
		Arguments struct{ Session string }
	}
	// Arguments that cannot be read are refused by the handler, which needs no turn.
	if json.Unmarshal(call.Params, &params) != nil {
		return nil
	}
	return a.join(params.Name, params.Arguments.Session)
}

// join puts a call at the end of its session's queue. It returns nil when order does
// not matter to the tool.
func (a *arrivals) join(tool, session string) *turn {
	if !a.ordered(tool) {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	t := &turn{session: session, number: strconv.Itoa(a.last), first: make(chan struct{})}
	a.turns[t.number] = t
	a.queues[t.session] = append(a.queues[t.session], t)
	if len(a.queues[t.session]) == 1 {
		close(t.first)
	}
	return t
}

// leave removes a call from its queue, wherever it stands.
func (a *arrivals) leave(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.turns, t.number)
	queue := a.queues[t.session]
	for i, other := range queue {
		if other != t {
			continue
		}
		queue = append(queue[:i], queue[i+1:]...)
		if len(queue) == 0 {
			delete(a.queues, t.session)
			return
		}
		a.queues[t.session] = queue
		if i == 0 {
			close(queue[0].first)
		}
		return
	}
}

// wait blocks until every call that arrived before req, for the same session, was
// answered. The caller calls leave when it has its own answer.
//
// Calls over HTTP come each on its own, so what order they have is that of their
// handlers.
func (a *arrivals) wait(ctx context.Context, req *mcp.CallToolRequest, tool, session string) (leave func(), err error) {
	var t *turn
	if req.Extra != nil {
		a.mu.Lock()
		t = a.turns[req.Extra.Header.Get(arrivalHeader)]
		a.mu.Unlock()
	}
	leave = func() {} // the connection does, with the answer
	if t == nil {
		if t = a.join(tool, session); t == nil {
			return leave, nil
		}
		leave = func() { a.leave(t) }
	}
	select {
	case <-t.first:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// orderedTransport is a transport whose calls join the queues as they are read and
// leave them as they are answered.
type orderedTransport struct {
	mcp.Transport
	arrivals *arrivals
}

func (t orderedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &orderedConn{Connection: conn, arrivals: t.arrivals, waiting: map[jsonrpc.ID]*turn{}}, nil
}

type orderedConn struct {
	mcp.Connection
	arrivals *arrivals

	mu      sync.Mutex
	waiting map[jsonrpc.ID]*turn // by the id of a request that was not answered yet
}

func (c *orderedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		return nil, err
	}
	call, ok := msg.(*jsonrpc.Request)
	if !ok || !call.IsCall() || call.Method != "tools/call" {
		return msg, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.waiting[call.ID]; taken {
		return msg, nil // a repeated id; the SDK refuses the call
	}
	if t := c.arrivals.arrive(call); t != nil {
		c.waiting[call.ID] = t
		call.Extra = &mcp.RequestExtra{Header: http.Header{arrivalHeader: {t.number}}}
	}
	return msg, nil
}

// Write lets the next call run when it has written the answer of this one. That is
// the one moment that every call comes to, also one that was cancelled before its
// handler ran.
func (c *orderedConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if answer, ok := msg.(*jsonrpc.Response); ok {
		defer c.answered(answer.ID)
	}
	return c.Connection.Write(ctx, msg)
}

func (c *orderedConn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	t := c.waiting[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	if t != nil {
		c.arrivals.leave(t)
	}
}
