package x11

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"

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
	clients, active, err := c.clients()
	if err != nil {
		return nil, err
	}
	return c.describe(clients, active)
}

const (
	maxWindows = 1024 // listed
	maxText    = 1024 // 32-bit units read of a title or class
	maxDepth   = 4    // of a client inside its frame
)

// client is a window of an application and the child of the root window that it is
// in: its frame, or itself.
type client struct{ id, frame xproto.Window }

// clients returns the windows of applications, from the bottom up, and the one
// that has the keyboard. The order is that of their frames in the root window:
// Fluxbox does not keep _NET_CLIENT_LIST_STACKING up to date.
func (c *Conn) clients() (list []client, active xproto.Window, err error) {
	managed, err := c.hasWindowManager()
	if err != nil {
		return nil, 0, err
	}
	tree, err := xproto.QueryTree(c.x, c.root).Reply()
	if err != nil {
		return nil, 0, failed("list windows", err)
	}
	if !managed {
		focus, err := xproto.GetInputFocus(c.x).Reply()
		if err != nil {
			return nil, 0, failed("ask for the focused window", err)
		}
		list, err := c.visible(tree.Children)
		return list, focus.Focus, err
	}
	if active, err = c.windowProperty(c.root, "_NET_ACTIVE_WINDOW"); err != nil {
		return nil, 0, err
	}
	atom, err := c.atom("_NET_CLIENT_LIST")
	if err != nil {
		return nil, 0, err
	}
	ids, err := xproto.GetProperty(c.x, false, c.root, atom, xproto.AtomWindow, 0, maxWindows).Reply()
	if err != nil {
		return nil, 0, failed("list windows", err)
	}
	if list, err = c.framed(words(ids)); err != nil {
		return nil, 0, err
	}
	height := make(map[xproto.Window]int, len(tree.Children))
	for i, w := range tree.Children {
		height[w] = i
	}
	slices.SortStableFunc(list, func(a, b client) int { return height[a.frame] - height[b.frame] })
	return list, active, nil
}

// visible returns the windows that a screen without a window manager shows.
func (c *Conn) visible(children []xproto.Window) ([]client, error) {
	cookies := make([]xproto.GetWindowAttributesCookie, len(children))
	for i, w := range children {
		cookies[i] = xproto.GetWindowAttributes(c.x, w)
	}
	var list []client
	for i, w := range children {
		a, err := cookies[i].Reply()
		if err = windowFailed("look at a window", err); errors.Is(err, ErrNoWindow) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if a.MapState == xproto.MapStateViewable && !a.OverrideRedirect && a.Class == xproto.WindowClassInputOutput {
			list = append(list, client{w, w})
		}
	}
	return list, nil
}

// framed finds the frames of windows, all of them one level up in each round trip.
// A window that has gone meanwhile is left out.
func (c *Conn) framed(ids []uint32) ([]client, error) {
	var list, inside []client
	for _, id := range ids {
		inside = append(inside, client{xproto.Window(id), xproto.Window(id)})
	}
	for range maxDepth {
		cookies := make([]xproto.QueryTreeCookie, len(inside))
		for i, w := range inside {
			cookies[i] = xproto.QueryTree(c.x, w.frame)
		}
		var further []client
		for i, w := range inside {
			tree, err := cookies[i].Reply()
			if err = windowFailed("look at a window", err); errors.Is(err, ErrNoWindow) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if tree.Parent == c.root {
				list = append(list, w)
			} else {
				further = append(further, client{w.id, tree.Parent})
			}
		}
		inside = further
	}
	return list, nil
}

// questions are the requests about one window that are on their way.
type questions struct {
	attributes xproto.GetWindowAttributesCookie
	place      xproto.GetGeometryCookie
	name       xproto.GetPropertyCookie
	oldName    xproto.GetPropertyCookie
	class      xproto.GetPropertyCookie
}

// describe looks at windows, given from the bottom up. All questions are sent
// before the first answer is awaited, so it costs one round trip. A window that
// has gone meanwhile is left out.
func (c *Conn) describe(clients []client, active xproto.Window) ([]Window, error) {
	netName, err := c.atom("_NET_WM_NAME")
	if err != nil {
		return nil, err
	}
	utf8String, err := c.atom("UTF8_STRING")
	if err != nil {
		return nil, err
	}
	asked := make([]questions, len(clients))
	for i, w := range clients {
		property := func(name, kind xproto.Atom) xproto.GetPropertyCookie {
			return xproto.GetProperty(c.x, false, w.id, name, kind, 0, maxText)
		}
		asked[i] = questions{
			attributes: xproto.GetWindowAttributes(c.x, w.id),
			place:      xproto.GetGeometry(c.x, xproto.Drawable(w.frame)),
			name:       property(netName, utf8String),
			oldName:    property(xproto.AtomWmName, xproto.GetPropertyTypeAny),
			class:      property(xproto.AtomWmClass, xproto.AtomString),
		}
	}
	windows := make([]Window, 0, len(clients))
	for i := len(clients) - 1; i >= 0; i-- {
		w, err := asked[i].answer()
		if err = windowFailed("look at a window", err); errors.Is(err, ErrNoWindow) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w.ID = uint32(clients[i].id)
		w.Focused = clients[i].id == active
		windows = append(windows, w)
	}
	return windows, nil
}

func (q *questions) answer() (Window, error) {
	attributes, err := q.attributes.Reply()
	if err != nil {
		return Window{}, err
	}
	place, err := q.place.Reply()
	if err != nil {
		return Window{}, err
	}
	var text [3][]byte
	for i, cookie := range []xproto.GetPropertyCookie{q.name, q.oldName, q.class} {
		reply, err := cookie.Reply()
		if err != nil {
			return Window{}, err
		}
		text[i] = reply.Value
	}
	name, oldName, class := text[0], text[1], text[2]

	w := Window{Title: string(name), Class: classOf(class), Hidden: attributes.MapState != xproto.MapStateViewable}
	if w.Title == "" {
		w.Title = oldText(oldName)
	}
	w.Title = strings.ToValidUTF8(w.Title, "\uFFFD")
	// The size leaves the border out; the place is the border's corner.
	x, y, border := int(place.X), int(place.Y), 2*int(place.BorderWidth)
	w.Rect = image.Rect(x, y, x+int(place.Width)+border, y+int(place.Height)+border)
	return w, nil
}

// classOf returns the class of a WM_CLASS property, which is instance and class,
// each ended by a zero byte (ICCCM 4.1.2.5).
func classOf(value []byte) string {
	parts := strings.Split(fromLatin1(value), "\x00")
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
	text := fromLatin1(before)
	for found {
		var section []byte
		section, rest, found = bytes.Cut(rest, []byte{esc})
		switch {
		case bytes.HasPrefix(section, []byte("%G")):
			text += string(section[2:])
		case bytes.HasPrefix(section, []byte("%@")), bytes.HasPrefix(section, []byte("(B")),
			bytes.HasPrefix(section, []byte("-A")):
			text += fromLatin1(section[2:])
		default:
			text += "\uFFFD"
		}
	}
	return text
}

const esc = 0x1b
