package display

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/capture"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input"
)

// connections are a screen's three connections to one X server and what works on
// them. They end together, as one unit of the screen's group.
type connections struct {
	windows *x11.Conn
	input   *x11.Conn
	device  *input.Device // on the connection input
	pump    *capture.Pump // on a connection of its own

	cancel context.CancelFunc
	done   chan struct{}
	err    error // written before done is closed
}

// connect connects to the screen's X server and starts to capture it.
func (s *Screen) connect(ctx context.Context) (supervise.Running, error) {
	c := &connections{done: make(chan struct{})}
	if err := c.dial(s); err != nil {
		c.hangUp()
		return nil, err
	}
	ctx, c.cancel = context.WithCancel(ctx)
	s.setConnections(c)
	go c.run(ctx, s)
	return c, nil
}

// dial makes the connections. What it made stays in c if it fails.
func (c *connections) dial(s *Screen) (err error) {
	if c.windows, err = x11.Dial(s.Display(), s.cookie); err != nil {
		return err
	}
	if err := c.windows.PaintRoot(Background); err != nil {
		return err
	}
	if c.input, err = x11.Dial(s.Display(), s.cookie); err != nil {
		return err
	}
	if c.device, err = input.New(c.input, func(x, y int) { c.pump.PointerMoved(x, y) }); err != nil {
		return err
	}
	conn, err := x11.Dial(s.Display(), s.cookie)
	if err != nil {
		return err
	}
	source, err := capture.NewSource(conn)
	if err != nil {
		return err
	}
	c.pump = capture.NewPump(source, s.buf)
	return nil
}

// hangUp closes the connections that the pump does not own.
func (c *connections) hangUp() {
	for _, conn := range []*x11.Conn{c.input, c.windows} {
		if conn != nil {
			conn.Close()
		}
	}
}

// run captures the screen until ctx ends or one of the connections does.
func (c *connections) run(ctx context.Context, s *Screen) {
	defer close(c.done)
	defer c.cancel()
	go func() {
		defer c.cancel()
		select {
		case <-c.windows.Done():
		case <-c.input.Done():
		case <-ctx.Done():
		}
	}()
	c.err = c.pump.Run(ctx)
	s.clearConnections(c.err)
	c.hangUp()
}

func (c *connections) Done() <-chan struct{} { return c.done }

func (c *connections) Err() error { return c.err }

func (c *connections) Stop() {
	c.cancel()
	<-c.done
}
