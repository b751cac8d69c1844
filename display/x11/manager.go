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
// or of the order of the windows in it, and when the keyboard goes to a window
// whose focus events were asked for, until it returns true or an error, or ctx
// ends.
func (c *Conn) waitRoot(ctx context.Context, met func() (bool, error)) error {
	changed := make(chan struct{}, 1)
	stop := c.listen(func(ev xgb.Event) {
		switch ev.(type) {
		case xproto.PropertyNotifyEvent, xproto.ConfigureNotifyEvent, xproto.FocusInEvent:
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

// followTime is how long Activate waits for an active window to get on top and to
// get the keyboard. It may never get on top because another one is kept above all
// others, and never get the keyboard because it takes none.
const followTime = 500 * time.Millisecond

// Activate brings a window to the front, from another workspace or its icon if
// need be, and gives it the keyboard. When it returns, keys go to the window.
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
	err = xproto.ChangeWindowAttributesChecked(c.x, w, xproto.CwEventMask, []uint32{xproto.EventMaskFocusChange}).Check()
	if err != nil {
		return windowFailed("activate a window", err)
	}
	// The wish is sent only if it changes something, and awaited: one still on its
	// way when we return could undo what the next call asks for.
	now, err := c.standing(w)
	if err != nil {
		return err
	}
	if !now.active || !now.onTop {
		if err := c.askToActivate(w); err != nil {
			return err
		}
	}
	err = c.waitRoot(ctx, func() (bool, error) {
		now, err = c.standing(w)
		return now.active, err
	})
	if err != nil || now.onTop && now.keyboard {
		return err
	}
	short, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	err = c.waitRoot(short, func() (bool, error) {
		now, err = c.standing(w)
		return now.onTop && now.keyboard, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return ctx.Err()
	}
	return err
}

// standing is how a window stands among the others.
type standing struct {
	active   bool // the window manager says so, and it is shown
	onTop    bool // above all others
	keyboard bool // keys go to it or to a part of it
}

// standing returns how a window stands. The window manager calls one active before
// the X server has given it the keyboard (by up to 70 ms on a busy machine), and for
// a while after it has hidden it.
func (c *Conn) standing(w xproto.Window) (s standing, err error) {
	attributes, err := xproto.GetWindowAttributes(c.x, w).Reply()
	if err != nil {
		return s, windowFailed("activate a window", err)
	}
	clients, active, err := c.clients()
	if err != nil {
		return s, err
	}
	s.active = active == w && attributes.MapState == xproto.MapStateViewable
	s.onTop = len(clients) > 0 && clients[len(clients)-1].id == w
	focus, err := xproto.GetInputFocus(c.x).Reply()
	if err != nil {
		return s, failed("ask for the focused window", err)
	}
	s.keyboard, err = c.within(focus.Focus, w)
	return s, err
}

// within reports whether a window is w or a part of it. One that has gone is not.
func (c *Conn) within(part, w xproto.Window) (bool, error) {
	for range maxDepth {
		if part == w {
			return true, nil
		}
		if part <= xproto.InputFocusPointerRoot || part == c.root {
			return false, nil
		}
		tree, err := xproto.QueryTree(c.x, part).Reply()
		if err = windowFailed("look at a window", err); errors.Is(err, ErrNoWindow) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		part = tree.Parent
	}
	return false, nil
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
