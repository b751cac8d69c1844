package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/session"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

// NativeViewers says what people at VNC programs may do.
type NativeViewers string

// The choices.
const (
	NativeControl NativeViewers = "control" // take control with the first key or button
	NativeWatch   NativeViewers = "watch"
	NativeOff     NativeViewers = "off" // no port is open
)

// native serves the screens to VNC programs, each on a port of its own.
type native struct {
	viewers  *viewers
	password string
	guard    *rfb.Guard
	may      NativeViewers

	mu     sync.Mutex
	guests map[string]*guest // by the address that they come from; guarded by mu
}

// guest is somebody at a VNC program.
type guest struct {
	desktop *session.Desktop
	leave   func()
	conn    atomic.Pointer[rfb.Conn]      // nil before the first press
	grant   atomic.Pointer[control.Grant] // the last one; nil before the first
}

// serveVNC returns what serves screen n on port base+n of a host. The ports are open
// when it returns.
func (v *viewers) serveVNC(host string, base int, password string, guard *rfb.Guard, may NativeViewers) (serve func(context.Context) error, err error) {
	n := &native{viewers: v, password: password, guard: guard, may: may, guests: make(map[string]*guest)}
	server := &rfb.Server{Config: n.welcome, Log: v.log}
	listeners := make([]net.Listener, 0, display.Screens)
	// A program that vanished is noticed within half a minute.
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	for screen := 1; screen <= display.Screens; screen++ {
		l, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(base+screen)))
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return nil, fmt.Errorf("listen for VNC programs: %v", err)
		}
		listeners = append(listeners, door{l, n})
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var serving sync.WaitGroup
		for i, l := range listeners {
			serving.Go(func() { cancel(server.Serve(ctx, l, i+1)) })
		}
		serving.Wait()
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}

// welcome says how a connection is served. Whoever connects counts as a watcher at once,
// without a password for a short time only.
func (n *native) welcome(screen int, peer net.Addr) rfb.Config {
	d, b, leave, err := n.viewers.enter(screen)
	if err != nil {
		return rfb.Config{Refuse: err}
	}
	g := &guest{desktop: d, leave: leave}
	n.mu.Lock()
	n.guests[peer.String()] = g
	n.mu.Unlock()
	cfg := rfb.Config{Screen: b.screen, Password: n.password, Guard: n.guard, Input: &hands{desktop: d, acts: g.acts}, SetClipboard: g.copied}
	if n.may != NativeWatch {
		cfg.OnInput = g.press
	}
	return cfg
}

// gone ends the stay of who came from an address.
func (n *native) gone(peer net.Addr) {
	n.mu.Lock()
	g := n.guests[peer.String()]
	delete(n.guests, peer.String())
	n.mu.Unlock()
	if g == nil {
		return // refused
	}
	if grant := g.grant.Load(); grant != nil {
		grant.Leave()
	}
	g.leave()
}

// press takes control for a person who has pressed a key or a button.
func (g *guest) press(c *rfb.Conn) bool {
	g.conn.Store(c)
	grant := g.desktop.Control.TakeByPress(control.Person{
		Name: c.Info().Kind,
		Lost: func(control.Loss) { c.SetRole(rfb.Viewer) },
	})
	if grant == nil {
		return false
	}
	g.grant.Store(grant)
	return true
}

// acts reports whether the person may press a key or use the pointer.
func (g *guest) acts() bool {
	if grant := g.grant.Load(); grant != nil && grant.Acts() {
		return true
	}
	// Control may have been lost while it was being taken.
	if c := g.conn.Load(); c != nil {
		c.SetRole(rfb.Viewer)
	}
	return false
}

// copied puts text that the person has copied on the screen's clipboard.
func (g *guest) copied(text string) {
	if g.acts() {
		_ = setClipboard(g.desktop, text) // a clipboard that fails is no reason to lose the screen
	}
}

// door is a listener that notices when a connection ends.
type door struct {
	net.Listener
	native *native
}

func (d door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &visit{TCPConn: conn.(*net.TCPConn), native: d.native}, nil
}

// visit is the connection of a guest.
type visit struct {
	*net.TCPConn
	native *native
	once   sync.Once
}

func (v *visit) Close() error {
	err := v.TCPConn.Close()
	v.once.Do(func() { v.native.gone(v.RemoteAddr()) })
	return err
}
