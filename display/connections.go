package display

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input"
)

// connections are a screen's four connections to one X server and what works on
// them. They end together, as one unit of the screen's group.
type connections struct {
	windows   *x11.Conn
	input     *x11.Conn
	selection *x11.Conn
	device    *input.Device    // on the connection input
	clipboard *input.Clipboard // on the connection selection
	pump      *capture.Pump    // on a connection of its own

	ended bool // guarded by Screen.mu

	cancel context.CancelCauseFunc // closes all connections, for a reason
	done   chan struct{}
	err    error // written before done is closed
}

// Why connections end.
var (
	errLost     = errors.New("a connection to the X server was lost")
	errNoAnswer = errors.New("the X server does not answer")
	errStopped  = errors.New("the screen is being stopped")
)

// connectTime is how long it may take to connect and to get the first picture.
const connectTime = 10 * time.Second

// connect connects to the screen's X server and starts to capture it. The Frame
// has the server's picture when it returns.
func (s *Screen) connect(ctx context.Context) (supervise.Running, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &connections{cancel: cancel, done: make(chan struct{})}
	alarm := time.AfterFunc(connectTime, func() { cancel(errNoAnswer) })
	defer alarm.Stop()
	if err := c.setUp(ctx, s); err != nil {
		cancel(err)
		return nil, context.Cause(ctx) // the alarm's, if that came first
	}
	go c.run(ctx, s)
	if _, err := c.pump.Refresh(ctx); err != nil {
		c.Stop()
		return nil, c.err
	}
	s.setConnections(c)
	return c, nil
}

func (c *connections) setUp(ctx context.Context, s *Screen) (err error) {
	if c.windows, err = s.dial(ctx); err != nil {
		return err
	}
	if err := c.windows.PaintRoot(Background); err != nil {
		return err
	}
	if c.input, err = s.dial(ctx); err != nil {
		return err
	}
	if c.device, err = input.New(c.input, func(x, y int) { c.pump.PointerMoved(x, y) }); err != nil {
		return err
	}
	if c.selection, err = s.dial(ctx); err != nil {
		return err
	}
	if c.clipboard, err = input.NewClipboard(c.selection, "CLIPBOARD"); err != nil {
		return err
	}
	source, err := capture.Dial(s.Display(), s.cookie)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, source.Close)
	c.pump = capture.NewPump(source, s.buf)
	return nil
}

// dial makes a connection that is closed when ctx ends.
func (s *Screen) dial(ctx context.Context) (*x11.Conn, error) {
	conn, err := x11.Dial(s.Display(), s.cookie)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, conn.Close)
	return conn, nil
}

// run captures the screen until ctx ends or one of the connections does.
func (c *connections) run(ctx context.Context, s *Screen) {
	defer close(c.done)
	var clipboard sync.WaitGroup
	clipboard.Go(func() { _ = c.clipboard.Run(ctx) })
	defer clipboard.Wait()
	go func() {
		select {
		case <-c.windows.Done():
		case <-c.input.Done():
		case <-c.selection.Done():
		case <-ctx.Done():
		}
		c.cancel(errLost)
	}()
	err := c.pump.Run(ctx)
	c.cancel(err)
	c.err = context.Cause(ctx)
	s.clearConnections(c)
	c.selection.Close()
	c.input.Close()
	c.windows.Close()
}

func (c *connections) Done() <-chan struct{} { return c.done }

func (c *connections) Err() error { return c.err }

func (c *connections) Stop() {
	c.cancel(errStopped)
	<-c.done
}
