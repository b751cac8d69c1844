package x11

import (
	"context"
	"errors"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// WaitWindowManager returns when a window manager has taken over the screen: when
// it has set _NET_SUPPORTING_WM_CHECK (EWMH 1.5, Root Window Properties) to a
// window that exists. A killed one leaves the property behind, but not the window.
func (c *Conn) WaitWindowManager(ctx context.Context) error {
	return c.waitRoot(ctx, c.hasWindowManager)
}

// waitRoot calls met now and after every change of a property of the root window
// or of the order of the windows in it, until it returns true or an error, or ctx
// ends.
func (c *Conn) waitRoot(ctx context.Context, met func() (bool, error)) error {
	changed := make(chan struct{}, 1)
	stop := c.listen(func(ev xgb.Event) {
		switch ev.(type) {
		case xproto.PropertyNotifyEvent, xproto.ConfigureNotifyEvent:
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	defer stop()
	mask := uint32(xproto.EventMaskPropertyChange | xproto.EventMaskSubstructureNotify)
	xproto.ChangeWindowAttributes(c.x, c.root, xproto.CwEventMask, []uint32{mask})
	for {
		if ok, err := met(); ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return ErrClosed
		}
	}
}

func (c *Conn) hasWindowManager() (bool, error) {
	onRoot, err := c.windowProperty(c.root, "_NET_SUPPORTING_WM_CHECK")
	if onRoot == 0 || err != nil {
		return false, err
	}
	onChild, err := c.windowProperty(onRoot, "_NET_SUPPORTING_WM_CHECK")
	if errors.Is(err, ErrNoWindow) {
		return false, nil
	}
	return onChild == onRoot, err
}

// windowProperty returns a property that holds one window, 0 if it is not set.
func (c *Conn) windowProperty(w xproto.Window, name string) (xproto.Window, error) {
	atom, err := c.atom(name)
	if err != nil {
		return 0, err
	}
	reply, err := xproto.GetProperty(c.x, false, w, atom, xproto.AtomWindow, 0, 1).Reply()
	if err != nil {
		return 0, windowFailed("read "+name, err)
	}
	ids := words(reply)
	if len(ids) == 0 {
		return 0, nil
	}
	return xproto.Window(ids[0]), nil
}

// raiseTime is how long Activate waits for a focused window to get on top, which it
// may never do because another one is kept above all others.
const raiseTime = 500 * time.Millisecond

// Activate brings a window to the front, from another workspace or its icon if
// need be, and gives it the keyboard. It returns when the window has the focus.
func (c *Conn) Activate(ctx context.Context, id uint32) error {
	w := xproto.Window(id)
	managed, err := c.hasWindowManager()
	if err != nil {
		return err
	}
	if !managed {
		xproto.ConfigureWindow(c.x, w, xproto.ConfigWindowStackMode, []uint32{xproto.StackModeAbove})
		err := xproto.SetInputFocusChecked(c.x, xproto.InputFocusPointerRoot, w, xproto.TimeCurrentTime).Check()
		return windowFailed("activate a window", err)
	}
	// The wish is sent only if it changes something, and awaited: one still on its
	// way when we return could undo what the next call asks for.
	focused, onTop, err := c.standing(w)
	if err != nil || focused && onTop {
		return err
	}
	if err := c.askToActivate(w); err != nil {
		return err
	}
	err = c.waitRoot(ctx, func() (bool, error) {
		focused, onTop, err = c.standing(w)
		return focused, err
	})
	if err != nil || onTop {
		return err
	}
	short, cancel := context.WithTimeout(ctx, raiseTime)
	defer cancel()
	err = c.waitRoot(short, func() (bool, error) {
		_, onTop, err = c.standing(w)
		return onTop, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return ctx.Err()
	}
	return err
}

// standing reports whether a window has the keyboard and whether it is above all
// others. A window manager may call one active for a while that it has just hidden.
func (c *Conn) standing(w xproto.Window) (focused, onTop bool, err error) {
	attributes, err := xproto.GetWindowAttributes(c.x, w).Reply()
	if err != nil {
		return false, false, windowFailed("activate a window", err)
	}
	clients, active, err := c.clients()
	focused = active == w && attributes.MapState == xproto.MapStateViewable
	return focused, len(clients) > 0 && clients[len(clients)-1].id == w, err
}

func (c *Conn) askToActivate(w xproto.Window) error {
	atom, err := c.atom("_NET_ACTIVE_WINDOW")
	if err != nil {
		return err
	}
	const fromPager = 2 // EWMH: a direct wish of the user, which no focus rule overrides
	message := xproto.ClientMessageEvent{
		Format: 32, Window: w, Type: atom,
		Data: xproto.ClientMessageDataUnionData32New([]uint32{fromPager, xproto.TimeCurrentTime, 0, 0, 0}),
	}
	mask := uint32(xproto.EventMaskSubstructureRedirect | xproto.EventMaskSubstructureNotify)
	xproto.SendEvent(c.x, false, c.root, mask, string(message.Bytes()))
	return nil
}

// PaintRoot makes the background of the screen one colour, 0x00RRGGBB, for as
// long as the X server runs.
func (c *Conn) PaintRoot(colour uint32) error {
	xproto.ChangeWindowAttributes(c.x, c.root, xproto.CwBackPixel, []uint32{colour})
	return failed("paint the background", xproto.ClearAreaChecked(c.x, false, c.root, 0, 0, 0, 0).Check())
}
