package session

import (
	"context"
	"errors"
	"fmt"
	"image"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

// The test binary is its own child for questions about files.
const filesArgument = "serve-files"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == filesArgument {
		if err := files.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaktest.Main(m)
}

// fakeScreens opens screens that exist in memory only.
type fakeScreens struct {
	mu      sync.Mutex
	screens []*fakeScreen // guarded by mu; in the order of opening
	open    int           // guarded by mu
	fail    error         // of Open; guarded by mu
}

func (f *fakeScreens) Open(ctx context.Context, width, height int) (Screen, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	s := &fakeScreen{all: f, number: len(f.screens) + 1, buf: frame.NewBuffer(), pix: make([]uint32, width*height), width: width}
	s.buf.Reset(width, height)
	f.screens = append(f.screens, s)
	f.open++
	return s, nil
}

func (f *fakeScreens) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

func (f *fakeScreens) last() *fakeScreen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.screens[len(f.screens)-1]
}

// fakeScreen is a screen and its input: it notes what is done to it, and onInput, when
// set, reacts.
type fakeScreen struct {
	all    *fakeScreens
	number int
	buf    *frame.Buffer
	width  int

	mu      sync.Mutex
	pix     []uint32        // guarded by mu
	events  []string        // guarded by mu
	held    map[string]bool // guarded by mu
	windows []x11.Window    // guarded by mu
	notes   []string        // guarded by mu
	fail    error           // of the next input; guarded by mu
	onInput func(event string)
	onApart func() // what happens while a click waits for the one before
	env     []string
}

// paint fills a rectangle with a colour.
func (s *fakeScreen) paint(r image.Rectangle, colour uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			s.pix[y*s.width+x] = colour
		}
	}
	s.buf.Publish(s.pix, s.width, []image.Rectangle{r})
}

func (s *fakeScreen) Number() int               { return s.number }
func (s *fakeScreen) Display() string           { return fmt.Sprintf(":%d", s.number) }
func (s *fakeScreen) Xauthority() string        { return "/nowhere" }
func (s *fakeScreen) User() *display.Credential { return nil }
func (s *fakeScreen) XvfbPID() int              { return 1000 + s.number }
func (s *fakeScreen) Frame() *frame.Buffer      { return s.buf }
func (s *fakeScreen) Env() []string             { return s.env }

func (s *fakeScreen) Refresh(ctx context.Context) (frame.Stamp, error) {
	return s.buf.Stamp(), ctx.Err()
}

func (s *fakeScreen) Windows(ctx context.Context) ([]x11.Window, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.windows, ctx.Err()
}

func (s *fakeScreen) Activate(ctx context.Context, id uint32) error {
	return s.event("activate %d", id)
}

func (s *fakeScreen) TakeNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	return notes
}

func (s *fakeScreen) Close(context.Context) error {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.open--
	return nil
}

func (s *fakeScreen) NewHolder(context.Context) (Holder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = make(map[string]bool)
	return fakeHolder{s}, nil
}

// event notes an input event and lets the screen react.
func (s *fakeScreen) event(format string, args ...any) error {
	e := fmt.Sprintf(format, args...)
	s.mu.Lock()
	s.events = append(s.events, e)
	err := s.fail
	s.fail = nil
	s.mu.Unlock()
	if s.onInput != nil {
		s.onInput(e)
	}
	return err
}

// taken returns the events since the last call.
func (s *fakeScreen) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.events
	s.events = nil
	return e
}

func (s *fakeScreen) pressed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for name := range s.held {
		list = append(list, name)
	}
	return list
}

func (s *fakeScreen) hold(name string, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if down {
		s.held[name] = true
	} else {
		delete(s.held, name)
	}
}

type fakeHolder struct{ s *fakeScreen }

func (h fakeHolder) Move(x, y int) error {
	h.s.buf.SetCursor(frame.Cursor{Serial: 1, X: x, Y: y})
	return h.s.event("move %d,%d", x, y)
}

func (h fakeHolder) Button(button int, down bool) error {
	h.s.hold(fmt.Sprintf("button %d", button), down)
	return h.s.event("button %d %t", button, down)
}

func (h fakeHolder) Key(sym uint32, down bool) error {
	h.s.hold(fmt.Sprintf("key %#x", sym), down)
	return h.s.event("key %#x %t", sym, down)
}

func (h fakeHolder) Scroll(d input.Direction, steps int) error {
	return h.s.event("scroll %d %d", d, steps)
}

func (h fakeHolder) Apart(context.Context, int, *image.Point) error {
	if h.s.onApart != nil {
		h.s.onApart()
	}
	return nil
}

func (h fakeHolder) Press(_ context.Context, button int) error { return h.Button(button, true) }

func (h fakeHolder) Click(_ context.Context, button, times int) error {
	for range times {
		if err := errors.Join(h.Button(button, true), h.Button(button, false)); err != nil {
			h.s.hold(fmt.Sprintf("button %d", button), true)
			return err
		}
	}
	return nil
}

func (h fakeHolder) Drag(ctx context.Context, button int, from, to image.Point, d time.Duration) error {
	return h.s.event("drag %d %v %v %v", button, from, to, d)
}

// Chord holds the key until ctx ends when it is asked to hold it at all.
func (h fakeHolder) Chord(ctx context.Context, c input.Chord, hold time.Duration) error {
	name := fmt.Sprintf("key %#x", c.Key)
	h.s.hold(name, true)
	if err := h.s.event("chord %#x %#x", c.Modifiers, c.Key); err != nil {
		return err
	}
	sleep(ctx, hold)
	if ctx.Err() == nil { // else it is left to Release
		h.s.hold(name, false)
	}
	return nil
}

func (h fakeHolder) Type(ctx context.Context, text string) error {
	return h.s.event("type %q", text)
}

func (h fakeHolder) Release(context.Context) error {
	h.s.mu.Lock()
	clear(h.s.held)
	h.s.mu.Unlock()
	return h.s.event("release")
}

// newTable returns a table on fake screens.
func newTable(t *testing.T) (*Table, *fakeScreens) {
	t.Helper()
	screens := &fakeScreens{}
	return NewTable(Config{Open: screens.Open, Logger: slog.New(slog.DiscardHandler)}), screens
}

var owner = api.NewID()

func start(t *testing.T, table *Table, change func(*api.StartRequest)) *Session {
	t.Helper()
	r := api.StartRequest{Title: "Test", Owner: owner, ScreenSize: "320x320"}
	if change != nil {
		change(&r)
	}
	s, err := table.Start(r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func observe(t *testing.T, s *Session, r api.ObserveRequest) (api.Observation, []Image) {
	t.Helper()
	o, images, err := s.Observe(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return o, images
}

// wantCode ends the test unless err is an api.Error of the given code.
func wantCode(t *testing.T, err error, code api.Code) *api.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	e := api.AsError(err)
	if e.Code != code {
		t.Fatalf("error %s (%v), want %s", e.Code, err, code)
	}
	return e
}

func (s *fakeScreen) Clipboard() (*input.Clipboard, error) {
	return nil, errors.New("a fake screen has no clipboard")
}
