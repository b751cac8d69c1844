package rfb

import (
	"cmp"
	"image"
	"slices"
	"sync"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// Screen is what viewers look at: a picture with a name, keyboard lights and a
// clipboard. All of its methods may be called from any goroutine, and none waits
// for a viewer.
type Screen struct {
	frame    *frame.Buffer
	pictures pictures

	mu        sync.Mutex
	conns     map[*Conn]struct{} // guarded by mu
	name      string             // guarded by mu
	leds      LEDs               // guarded by mu
	ledsKnown bool               // guarded by mu
	clipboard string             // guarded by mu
}

// LEDs are the keyboard's lights, a set.
type LEDs uint8

// The lights, with the values that RFB gives them.
const (
	ScrollLock LEDs = 1 << iota
	NumLock
	CapsLock
)

// NewScreen returns a Screen that shows buffer under a name (UTF-8).
func NewScreen(buffer *frame.Buffer, name string) *Screen {
	s := &Screen{frame: buffer, name: name, conns: make(map[*Conn]struct{})}
	s.pictures.frame = buffer
	return s
}

// Name returns the screen's name.
func (s *Screen) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// SetName changes the name in the title of the viewers' windows.
func (s *Screen) SetName(name string) {
	s.change(func() { s.name = name })
}

// SetLEDs tells viewers the state of the keyboard's lights. Before the first call they
// are told nothing: viewers press the lock keys until the lights are like theirs.
func (s *Screen) SetLEDs(leds LEDs) {
	s.change(func() { s.leds, s.ledsKnown = leds, true })
}

// SetClipboard offers text (UTF-8, lines ending in LF) to all controllers, as if a
// person at the screen had copied it. Text longer than 1 MiB is not offered.
func (s *Screen) SetClipboard(text string) {
	if len(text) > maxClipboard {
		return
	}
	s.change(func() { s.clipboard = text })
	for _, c := range s.viewers() {
		c.offer(text)
	}
}

// Bell rings at all viewers.
func (s *Screen) Bell() {
	for _, c := range s.viewers() {
		c.bell()
	}
}

// Viewers describes the viewers, in the order in which they came.
func (s *Screen) Viewers() []Info {
	var infos []Info
	for _, c := range s.viewers() {
		infos = append(infos, c.Info())
	}
	slices.SortFunc(infos, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return infos
}

// change applies a change and wakes the viewers' writers, which compare what they
// told last.
func (s *Screen) change(apply func()) {
	s.mu.Lock()
	apply()
	s.mu.Unlock()
	for _, c := range s.viewers() {
		c.mu.Lock()
		c.wake()
		c.mu.Unlock()
	}
}

// viewers returns the connections without keeping the lock: a Conn's lock is
// taken before a Screen's, never after.
func (s *Screen) viewers() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

func (s *Screen) add(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
}

func (s *Screen) remove(c *Conn) {
	if c.w.joined {
		s.pictures.leave(c.w.settings)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if len(s.conns) == 0 {
		s.pictures.drop()
	}
}

// bounds returns the rectangle of the screen.
func (s *Screen) bounds() image.Rectangle {
	var r image.Rectangle
	s.frame.Read(func(v frame.View) { r = v.Bounds() })
	return r
}

// state returns what writers compare with what they told last.
func (s *Screen) state() (name string, leds LEDs, ledsKnown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name, s.leds, s.ledsKnown
}
