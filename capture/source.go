package capture

import (
	"image"
	"slices"
	"sync"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// ErrResized is matched by the error of [Source.Grab] when the screen changed its
// size after the Poll that the rectangles came from.
var ErrResized = x11.ErrResized

// Source is where a Pump's pixels come from: one X server, or a script in tests.
// One goroutine calls Poll and Grab; the other methods may be called at any time.
type Source interface {
	// Changed receives when Poll has news. It announces once and then stays
	// silent until the next Poll, so a screen that nobody polls costs nothing.
	Changed() <-chan struct{}
	// Poll returns the screen's state. It is a barrier: everything that the X
	// server drew before is in this or an earlier State's Damage.
	Poll() (State, error)
	// Grab calls use with a picture of the whole screen, stride pixels a row, in
	// which the pixels of rects are up to date. The picture is valid only
	// inside use, and the unused bytes of its pixels hold anything.
	Grab(rects []image.Rectangle, use func(pix []uint32, stride int)) error
	// Done is closed when the X server is gone.
	Done() <-chan struct{}
	// Close frees the Source and ends a call in progress, also when the X server
	// hangs. It may be called twice.
	Close()
}

// State is what one Poll found.
type State struct {
	Width, Height int               // of the screen in pixels
	Damage        []image.Rectangle // inside the screen; what was drawn on since the last Poll
	Cursor        frame.Cursor
}

// xSource is the Source of a real X server.
type xSource struct {
	watch  *x11.Watch
	cursor frame.Cursor // the shape last fetched; used only by Poll
	size   image.Point  // of the screen as of the last Poll

	mu      sync.Mutex   // held while the segment is in use
	segment *x11.Segment // guarded by mu; nil before the first Grab
	closed  bool         // guarded by mu
}

// Dial returns the Source of the X server of a display; see [x11.DialWatch].
func Dial(display string, cookie []byte) (Source, error) {
	watch, err := x11.DialWatch(display, cookie)
	if err != nil {
		return nil, err
	}
	return &xSource{watch: watch}, nil
}

func (s *xSource) Changed() <-chan struct{} { return s.watch.Changed() }

func (s *xSource) Done() <-chan struct{} { return s.watch.Done() }

func (s *xSource) Poll() (State, error) {
	ch, err := s.watch.Take()
	if err != nil {
		return State{}, err
	}
	if ch.CursorShape {
		c, err := s.watch.Cursor()
		if err != nil {
			return State{}, err
		}
		s.cursor = frame.Cursor{
			Serial: uint64(c.Serial), Name: c.Name, HotX: c.HotX, HotY: c.HotY,
			Width: c.Width, Height: c.Height, Pix: c.Pix,
		}
		if transparent(c.Pix) { // how programs hide the cursor
			s.cursor.Width, s.cursor.Height, s.cursor.Pix = 0, 0, nil
		}
	}
	s.cursor.X, s.cursor.Y = ch.Pointer.X, ch.Pointer.Y
	s.size = image.Pt(ch.Width, ch.Height)
	screen := image.Rectangle{Max: s.size}
	damage := ch.Damage[:0]
	for _, r := range ch.Damage {
		if r = r.Intersect(screen); !r.Empty() {
			damage = append(damage, r)
		}
	}
	return State{Width: ch.Width, Height: ch.Height, Damage: damage, Cursor: s.cursor}, nil
}

func transparent(pix []uint32) bool {
	return !slices.ContainsFunc(pix, func(p uint32) bool { return p>>24 != 0 })
}

func (s *xSource) Grab(rects []image.Rectangle, use func(pix []uint32, stride int)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return x11.ErrClosed
	}
	if err := s.fit(s.size.X * s.size.Y); err != nil {
		return err
	}
	if err := s.watch.GrabRows(s.segment, s.size.X, bands(rects)); err != nil {
		return err
	}
	use(s.segment.Pix, s.size.X)
	return nil
}

// fit makes sure that the segment has room for the given number of pixels. The
// caller holds mu.
func (s *xSource) fit(pixels int) (err error) {
	if s.segment != nil && len(s.segment.Pix) >= pixels {
		return nil
	}
	if s.segment != nil {
		s.segment.Close()
		s.segment = nil
	}
	s.segment, err = s.watch.NewSegment(pixels)
	return err
}

func (s *xSource) Close() {
	s.watch.Close() // first: it ends the call that holds mu
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.segment != nil {
		s.segment.Close()
		s.segment = nil
	}
	s.closed = true
}

// bandGap is the number of rows between two bands that is cheaper to grab than to
// leave out: one more request takes 12 µs, a row of 1280 pixels 0.45 µs.
const bandGap = 32

// bands returns the rows that rects touch, from top to bottom. Whole rows land in
// the picture's own place in shared memory; parts of rows would not.
func bands(rects []image.Rectangle) []x11.Rows {
	sorted := slices.SortedFunc(slices.Values(rects), func(a, b image.Rectangle) int { return a.Min.Y - b.Min.Y })
	var rows []x11.Rows
	for _, r := range sorted {
		if n := len(rows); n > 0 && r.Min.Y <= rows[n-1].Max+bandGap {
			rows[n-1].Max = max(rows[n-1].Max, r.Max.Y)
		} else {
			rows = append(rows, x11.Rows{Min: r.Min.Y, Max: r.Max.Y})
		}
	}
	return rows
}
