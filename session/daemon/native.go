package daemon

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

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
}

// guest is somebody at a VNC program.
type guest struct {
	desktop *session.Desktop
	conn    atomic.Pointer[rfb.Conn]      // nil before the first press
	grant   atomic.Pointer[control.Grant] // the last one; nil before the first
}

// serveVNC returns what serves screen n on port base+n of a host. The ports are open
// when it returns.
func (v *viewers) serveVNC(host string, base int, password string, guard *rfb.Guard, may NativeViewers) (serve func(context.Context) error, err error) {
	n := &native{viewers: v, password: password, guard: guard, may: may}
	server := &rfb.Server{Config: n.welcome, Log: v.log}
	listeners, err := rfb.Listen(host, base, display.Screens)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := server.Serve(ctx, listeners...); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}

// welcome says how a connection is served. Whoever connects counts as a watcher at once,
// without a password for a short time only.
func (n *native) welcome(screen int, _ net.Addr) rfb.Config {
	d, b, leave, err := n.viewers.enter(screen)
	if err != nil {
		return rfb.Config{Refuse: err}
	}
	g := &guest{desktop: d}
	cfg := rfb.Config{
		Screen: b.screen, Password: n.password, Guard: n.guard,
		Input: &hands{desktop: d, acts: g.acts}, SetClipboard: g.copied,
		OnEnd: func() {
			if grant := g.grant.Load(); grant != nil {
				grant.Leave()
			}
			leave()
		},
	}
	if n.may != NativeWatch {
		cfg.OnInput = g.press
	}
	return cfg
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
