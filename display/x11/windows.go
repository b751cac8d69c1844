package x11

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"strings"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// ErrNoWindow is matched by the error of a call that names a window which does
// not exist (any more).
var ErrNoWindow = errors.New("no such window")

// Window is an application's window as a person sees it: a client of the window
// manager, or a visible top-level window when none runs.
type Window struct {
	ID      uint32
	Title   string
	Class   string          // the second part of WM_CLASS, such as "XTerm"
	Rect    image.Rectangle // with its frame, in screen pixels; may reach off the screen
	Focused bool
	Hidden  bool // minimised or on another workspace
}

// WaitWindowManager returns when a window manager has taken over the screen: when
// it has set _NET_SUPPORTING_WM_CHECK (EWMH 1.5, Root Window Properties) to a
// window that exists. A killed one leaves the property behind, but not the window.
func (c *Conn) WaitWindowManager(ctx context.Context) error {
	return c.waitRootProperty(ctx, "_NET_SUPPORTING_WM_CHECK", c.hasWindowManager)
}

// waitRootProperty calls met now and after every change of the named property of
// the root window, until it returns true or an error, or ctx ends.
func (c *Conn) waitRootProperty(ctx context.Context, name string, met func() (bool, error)) error {
	atom, err := c.atom(name)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	stop := c.listen(func(ev xgb.Event) {
		if e, ok := ev.(xproto.PropertyNotifyEvent); ok && e.Atom == atom && e.Window == c.root {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	defer stop()
	xproto.ChangeWindowAttributes(c.x, c.root, xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange})
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

// windowFailed is failed for requests that name a window.
func windowFailed(act string, err error) error {
	var bad xproto.WindowError
	var badDrawable xproto.DrawableError
	if errors.As(err, &bad) || errors.As(err, &badDrawable) {
		return fmt.Errorf("%s: %w", act, ErrNoWindow)
	}
	return failed(act, err)
}

// words returns the 32-bit items of a property; none if it has another format.
func words(p *xproto.GetPropertyReply) []uint32 {
	if p == nil || p.Format != 32 {
		return nil
	}
	list := make([]uint32, len(p.Value)/4)
	for i := range list {
		list[i] = binary.NativeEndian.Uint32(p.Value[4*i:])
	}
	return list
}

// Windows returns the windows on the screen, the topmost first.
func (c *Conn) Windows() ([]Window, error) {
	managed, err := c.hasWindowManager()
	if err != nil {
		return nil, err
	}
	if !managed {
		return c.topLevels()
	}
	atom, err := c.atom("_NET_CLIENT_LIST_STACKING")
	if err != nil {
		return nil, err
	}
	list, err := xproto.GetProperty(c.x, false, c.root, atom, xproto.AtomWindow, 0, maxWindows).Reply()
	if err != nil {
		return nil, failed("list windows", err)
	}
	active, err := c.windowProperty(c.root, "_NET_ACTIVE_WINDOW")
	if err != nil {
		return nil, err
	}
	return c.describe(words(list), active)
}

const (
	maxWindows = 1024 // listed
	maxText    = 1024 // 32-bit units read of a title or class
)

// topLevels lists what a screen without a window manager shows.
func (c *Conn) topLevels() ([]Window, error) {
	tree, err := xproto.QueryTree(c.x, c.root).Reply()
	if err != nil {
		return nil, failed("list windows", err)
	}
	focus, err := xproto.GetInputFocus(c.x).Reply()
	if err != nil {
		return nil, failed("ask for the focused window", err)
	}
	cookies := make([]xproto.GetWindowAttributesCookie, len(tree.Children))
	for i, w := range tree.Children {
		cookies[i] = xproto.GetWindowAttributes(c.x, w)
	}
	var ids []uint32
	for i, w := range tree.Children {
		a, err := cookies[i].Reply()
		if errors.Is(windowFailed("", err), ErrNoWindow) {
			continue
		}
		if err != nil {
			return nil, failed("look at a window", err)
		}
		if a.MapState == xproto.MapStateViewable && !a.OverrideRedirect && a.Class == xproto.WindowClassInputOutput {
			ids = append(ids, uint32(w))
		}
	}
	return c.describe(ids, focus.Focus)
}

// questions are the requests about one window that are on their way.
type questions struct {
	geometry xproto.GetGeometryCookie
	place    xproto.TranslateCoordinatesCookie
	name     xproto.GetPropertyCookie
	oldName  xproto.GetPropertyCookie
	class    xproto.GetPropertyCookie
	extents  xproto.GetPropertyCookie
	state    xproto.GetPropertyCookie
}

// describe looks at windows, given from the bottom up. All questions are sent
// before the first answer is awaited, so it costs one round trip. A window that
// has gone meanwhile is left out.
func (c *Conn) describe(ids []uint32, active xproto.Window) ([]Window, error) {
	atoms := make(map[string]xproto.Atom)
	for _, name := range []string{"_NET_WM_NAME", "UTF8_STRING", "_NET_FRAME_EXTENTS", "_NET_WM_STATE", "_NET_WM_STATE_HIDDEN"} {
		a, err := c.atom(name)
		if err != nil {
			return nil, err
		}
		atoms[name] = a
	}
	asked := make([]questions, len(ids))
	for i, id := range ids {
		w := xproto.Window(id)
		property := func(name, kind xproto.Atom, length uint32) xproto.GetPropertyCookie {
			return xproto.GetProperty(c.x, false, w, name, kind, 0, length)
		}
		asked[i] = questions{
			geometry: xproto.GetGeometry(c.x, xproto.Drawable(w)),
			place:    xproto.TranslateCoordinates(c.x, w, c.root, 0, 0),
			name:     property(atoms["_NET_WM_NAME"], atoms["UTF8_STRING"], maxText),
			oldName:  property(xproto.AtomWmName, xproto.GetPropertyTypeAny, maxText),
			class:    property(xproto.AtomWmClass, xproto.AtomString, maxText),
			extents:  property(atoms["_NET_FRAME_EXTENTS"], xproto.AtomCardinal, 4),
			state:    property(atoms["_NET_WM_STATE"], xproto.AtomAtom, 32),
		}
	}
	windows := make([]Window, 0, len(ids))
	for i := len(ids) - 1; i >= 0; i-- {
		w, err := asked[i].answer(atoms["_NET_WM_STATE_HIDDEN"])
		if errors.Is(err, ErrNoWindow) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w.ID = ids[i]
		w.Focused = xproto.Window(w.ID) == active
		windows = append(windows, w)
	}
	return windows, nil
}

func (q *questions) answer(hidden xproto.Atom) (Window, error) {
	const act = "look at a window"
	geometry, err := q.geometry.Reply()
	if err != nil {
		return Window{}, windowFailed(act, err)
	}
	place, err := q.place.Reply()
	if err != nil {
		return Window{}, windowFailed(act, err)
	}
	var replies [5]*xproto.GetPropertyReply
	for i, cookie := range []xproto.GetPropertyCookie{q.name, q.oldName, q.class, q.extents, q.state} {
		if replies[i], err = cookie.Reply(); err != nil {
			return Window{}, windowFailed(act, err)
		}
	}
	name, oldName, class, extents, state := replies[0], replies[1], replies[2], words(replies[3]), words(replies[4])

	w := Window{Title: string(name.Value), Class: classOf(class.Value)}
	if w.Title == "" {
		w.Title = oldText(oldName.Value)
	}
	w.Title = strings.ToValidUTF8(w.Title, "\uFFFD")
	x, y := int(place.DstX), int(place.DstY)
	w.Rect = image.Rect(x, y, x+int(geometry.Width), y+int(geometry.Height))
	if len(extents) == 4 { // left, right, top, bottom
		e := [4]int{}
		for i := range e {
			e[i] = int(min(extents[i], 1000)) // a client may write anything there
		}
		w.Rect = image.Rect(w.Rect.Min.X-e[0], w.Rect.Min.Y-e[2], w.Rect.Max.X+e[1], w.Rect.Max.Y+e[3])
	}
	for _, s := range state {
		w.Hidden = w.Hidden || xproto.Atom(s) == hidden
	}
	return w, nil
}

// classOf returns the class of a WM_CLASS property, which is instance and class,
// each ended by a zero byte (ICCCM 4.1.2.5).
func classOf(value []byte) string {
	parts := strings.Split(latin1(value), "\x00")
	if len(parts) > 1 && parts[1] != "" {
		return parts[1]
	}
	return parts[0]
}

// oldText converts text of the types STRING, which is Latin-1, and COMPOUND_TEXT,
// which switches to other sets of characters with escape sequences. It knows the
// UTF-8 sections of those; characters of national sets become U+FFFD.
func oldText(b []byte) string {
	before, rest, found := bytes.Cut(b, []byte{esc})
	text := latin1(before)
	for found {
		var section []byte
		section, rest, found = bytes.Cut(rest, []byte{esc})
		switch {
		case bytes.HasPrefix(section, []byte("%G")):
			text += string(section[2:])
		case bytes.HasPrefix(section, []byte("%@")), bytes.HasPrefix(section, []byte("(B")),
			bytes.HasPrefix(section, []byte("-A")):
			text += latin1(section[2:])
		default:
			text += "\uFFFD"
		}
	}
	return text
}

const esc = 0x1b

// latin1 converts text of the type STRING.
func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// Activate brings a window to the front, from another workspace or its icon if
// need be, and gives it the keyboard. It returns when the window has the focus.
func (c *Conn) Activate(ctx context.Context, id uint32) error {
	w := xproto.Window(id)
	if _, err := xproto.GetGeometry(c.x, xproto.Drawable(w)).Reply(); err != nil {
		return windowFailed("activate a window", err)
	}
	managed, err := c.hasWindowManager()
	if err != nil {
		return err
	}
	if !managed {
		xproto.ConfigureWindow(c.x, w, xproto.ConfigWindowStackMode, []uint32{xproto.StackModeAbove})
		err := xproto.SetInputFocusChecked(c.x, xproto.InputFocusPointerRoot, w, xproto.TimeCurrentTime).Check()
		return windowFailed("activate a window", err)
	}
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
	return c.waitRootProperty(ctx, "_NET_ACTIVE_WINDOW", func() (bool, error) {
		active, err := c.windowProperty(c.root, "_NET_ACTIVE_WINDOW")
		return active == w, err
	})
}

// PaintRoot makes the background of the screen one colour, 0x00RRGGBB, for as
// long as the X server runs.
func (c *Conn) PaintRoot(colour uint32) error {
	xproto.ChangeWindowAttributes(c.x, c.root, xproto.CwBackPixel, []uint32{colour})
	return failed("paint the background", xproto.ClearAreaChecked(c.x, false, c.root, 0, 0, 0, 0).Check())
}
