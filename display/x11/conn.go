// Package x11 talks to an X server about pixels, input and windows. It is the only
// package that knows the X library (xgb), and it hides that library's edges:
//
//   - it registers extensions in process-wide maps without a lock, see extensions.go;
//   - one goroutine of it reads events and replies, and stops when its queue of
//     events is full; a Conn reads events at all times and never waits for a
//     reply while it handles one;
//   - it logs to stderr and looks for an authority file when it gets no cookie;
//     here it does neither;
//   - it is slow, so that a [Watch], which works at every change of the screen, speaks
//     the protocol itself (wire).
//
// Every Conn has one job: input, windows or the clipboard. The X server handles the
// requests of one connection in order; two connections are only ordered by a
// round trip ([Conn.Sync]) on the first before a request on the second.
//
// Nothing here creates X resources per frame or per action: their numbers are
// never used again, so a long life would run out of them.
package x11

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xproto"
)

// ErrClosed is matched by the error of every call on a Conn that was closed or
// whose X server is gone.
var ErrClosed = errors.New("the connection to the X server is closed")

// dialTimeout bounds the connection set-up, also with a server that accepts and
// then says nothing.
const dialTimeout = 5 * time.Second

// Conn is a connection to one X server. All methods may be called from any
// goroutine.
type Conn struct {
	x      *xgb.Conn
	net    net.Conn
	screen *xproto.ScreenInfo
	root   xproto.Window
	done   chan struct{}

	mu            sync.Mutex
	width, height int                    // guarded by mu
	listeners     []*listener            // guarded by mu; replaced, never changed in place
	atoms         map[string]xproto.Atom // guarded by mu
}

type listener struct{ handle func(xgb.Event) }

// Dial connects to the X server of a display of this machine, such as ":5", with
// its 16 byte MIT-MAGIC-COOKIE-1. The caller closes the Conn.
func Dial(display string, cookie []byte) (*Conn, error) {
	c, err := dial(display, cookie)
	if err != nil {
		return nil, fmt.Errorf("connect to X display %s: %w", display, err)
	}
	return c, nil
}

// dialSocket connects to the X server of a display. The caller has dialTimeout to
// agree with it on the rest.
func dialSocket(display string, cookie []byte) (*net.UnixConn, error) {
	number, ok := strings.CutPrefix(display, ":")
	if _, err := strconv.ParseUint(number, 10, 16); err != nil || !ok {
		return nil, errors.New(`the name is not of the form ":5"`)
	}
	if len(cookie) != 16 {
		return nil, fmt.Errorf("the cookie has %d bytes, not 16", len(cookie))
	}
	nc, err := net.DialTimeout("unix", "/tmp/.X11-unix/X"+number, dialTimeout)
	if err != nil {
		return nil, err
	}
	nc.SetDeadline(time.Now().Add(dialTimeout))
	return nc.(*net.UnixConn), nil
}

func dial(display string, cookie []byte) (*Conn, error) {
	open := func() (*xgb.Conn, net.Conn, error) {
		nc, err := dialSocket(display, cookie)
		if err != nil {
			return nil, nil, err
		}
		x, err := xgb.NewConnNetWithCookieHex(nc, hex.EncodeToString(cookie))
		if err != nil {
			nc.Close()
			return nil, nil, err
		}
		return x, nc, nil
	}
	if err := registerExtensions(open); err != nil {
		return nil, err
	}
	x, nc, err := open()
	if err != nil {
		return nil, err
	}
	screen := xproto.Setup(x).DefaultScreen(x)
	c := &Conn{
		x: x, net: nc, screen: screen, root: screen.Root, done: make(chan struct{}),
		width: int(screen.WidthInPixels), height: int(screen.HeightInPixels),
		atoms: make(map[string]xproto.Atom),
	}
	c.listen(c.followSize)
	go c.readEvents()
	if err := c.setUp(); err != nil {
		c.Close()
		return nil, err
	}
	nc.SetDeadline(time.Time{})
	return c, nil
}

func (c *Conn) setUp() error {
	if err := useExtensions(c.x); err != nil {
		return err
	}
	randr.SelectInput(c.x, c.root, randr.NotifyMaskScreenChange)
	// The size may have changed between the greeting and the selection.
	g, err := xproto.GetGeometry(c.x, xproto.Drawable(c.root)).Reply()
	if err != nil {
		return failed("ask for the screen's size", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.width, c.height = int(g.Width), int(g.Height)
	return nil
}

// Close ends the connection and every call in progress on it, also when the X
// server hangs. Requests that were sent but not answered may be lost: Sync first
// where that matters. It may be called twice.
func (c *Conn) Close() {
	c.net.Close()
	<-c.done
}

// Done is closed when the connection has ended, by Close or because the X server
// is gone.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Sync returns when the X server has handled every request sent on this
// connection before.
func (c *Conn) Sync() error {
	_, err := xproto.GetInputFocus(c.x).Reply()
	return failed("wait for the X server", err)
}

// Size returns the size of the root window in pixels.
func (c *Conn) Size() (width, height int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.width, c.height
}

func (c *Conn) followSize(ev xgb.Event) {
	if e, ok := ev.(randr.ScreenChangeNotifyEvent); ok {
		c.mu.Lock()
		c.width, c.height = int(e.Width), int(e.Height)
		c.mu.Unlock()
	}
}

// listen calls handle for every event from now on, until stop is called. handle
// runs in the only goroutine that reads this connection: it must be quick and
// must not wait for a reply, directly or through a lock. It may still be running
// when stop returns.
func (c *Conn) listen(handle func(xgb.Event)) (stop func()) {
	l := &listener{handle}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(slices.Clone(c.listeners), l)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listeners = slices.DeleteFunc(slices.Clone(c.listeners), func(o *listener) bool { return o == l })
	}
}

func (c *Conn) readEvents() {
	defer close(c.done)
	for {
		ev, xerr := c.x.WaitForEvent()
		if ev == nil && xerr == nil {
			return // the connection has ended
		}
		if ev == nil {
			continue // the error of a request sent without waiting for its fate
		}
		c.mu.Lock()
		listeners := c.listeners
		c.mu.Unlock()
		for _, l := range listeners {
			l.handle(ev)
		}
	}
}

// atom returns the number of an atom, which the server makes if it is new. It
// asks the server only once per name.
func (c *Conn) atom(name string) (xproto.Atom, error) {
	c.mu.Lock()
	a, ok := c.atoms[name]
	c.mu.Unlock()
	if ok {
		return a, nil
	}
	reply, err := xproto.InternAtom(c.x, false, uint16(len(name)), name).Reply()
	if err != nil {
		return 0, failed("make the atom "+name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atoms[name] = reply.Atom
	return reply.Atom, nil
}

// failed words an error of a request, nil staying nil. The end of the connection
// becomes ErrClosed; an X error can be matched with errors.As (xproto.MatchError).
func failed(act string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = ErrClosed
	}
	return fmt.Errorf("%s: %w", act, err)
}
