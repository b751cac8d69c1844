package display

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input"
)

// answerTime bounds every method of a Screen, also while it is being started
// again.
const answerTime = 4500 * time.Millisecond

// Names of a screen's units, for messages.
const (
	serverUnit     = "X server"
	connectionUnit = "connection"
	managerUnit    = "window manager"
)

// Screen is one open screen. All methods may be called from any goroutine. They
// answer within 5 seconds: a method that needs the X server waits for it while it
// is being started again and then fails with [ErrScreenDown].
type Screen struct {
	m             *Manager
	number        int
	width, height int
	dir           string // of its files
	cookie        []byte
	buf           *frame.Buffer
	log           *slog.Logger

	cancel context.CancelFunc // ends run
	opened chan struct{}      // closed when Open may return
	failed chan struct{}      // closed when err is final
	gone   chan struct{}      // closed when nothing of the screen is left

	mu      sync.Mutex
	display int             // guarded by mu; of the latest X server, 0 before the first
	server  int             // guarded by mu; process id of the latest X server
	conns   *connections    // guarded by mu; nil while the screen is down
	up      chan struct{}   // guarded by mu; closed while conns is not nil
	err     error           // guarded by mu; why the screen is down
	ended   map[string]bool // guarded by mu; units that ended and are not back
	notes   []string        // guarded by mu
}

// newScreen returns a screen that is down. Its run must be called; cancel ends
// that.
func newScreen(m *Manager, number, width, height int, cancel context.CancelFunc) *Screen {
	s := &Screen{
		m: m, number: number, width: width, height: height,
		dir:    filepath.Join(m.cfg.StateDir, "screen-"+strconv.Itoa(number)),
		cookie: make([]byte, cookieSize),
		buf:    frame.NewBuffer(),
		log:    m.cfg.Logger.With("screen", number),
		cancel: cancel,
		opened: make(chan struct{}), failed: make(chan struct{}), gone: make(chan struct{}),
		up: make(chan struct{}), ended: make(map[string]bool),
		err: errors.New("it is being started"),
	}
	rand.Read(s.cookie)
	return s
}

// run is the screen's goroutine, from the first file to the last.
func (s *Screen) run(ctx context.Context) {
	defer close(s.gone)
	defer s.m.release(s.number)
	defer s.removeFiles()
	err := s.makeFiles()
	if err == nil {
		group := supervise.Group{
			Units: []supervise.Unit{
				{Name: serverUnit, Start: s.startServer},
				{Name: connectionUnit, Start: s.connect},
				{Name: managerUnit, Start: s.startManager, Optional: true},
			},
			Policy: s.m.policy,
			Report: s.report,
		}
		err = group.Run(ctx)
	}
	if err == nil {
		err = errors.New("it was closed")
	} else {
		s.log.Error("screen failed", "err", err)
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	close(s.failed)
	<-ctx.Done() // Close has been called
}

// waitOpen returns when the screen is open, and closes it if it does not open
// before ctx ends.
func (s *Screen) waitOpen(ctx context.Context) (err error) {
	select {
	case <-s.opened:
		return nil
	case <-s.failed:
		err = s.down()
	case <-ctx.Done():
		err = fmt.Errorf("open screen %d: %w", s.number, ctx.Err())
	}
	s.Close(context.WithoutCancel(ctx))
	return err
}

// makeFiles makes the screen's folder with the two copies of its cookie. Others
// can only pass through the folder.
func (s *Screen) makeFiles() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o711); err != nil {
		return err
	}
	for _, dir := range []string{s.m.cfg.StateDir, s.dir} {
		if err := os.Chmod(dir, 0o711); err != nil { // the umask may have taken some away
			return err
		}
	}
	data := authority(s.cookie)
	if err := writeFile(s.serverAuthority(), data, s.m.cfg.ServerUser); err != nil {
		return err
	}
	return writeFile(s.Xauthority(), data, s.m.cfg.ProgramUser)
}

// removeFiles removes the screen's folder and what a killed X server left.
func (s *Screen) removeFiles() {
	if n := s.displayNumber(); n > 0 && !inUse(n) {
		os.Remove(socketPath(n))
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.log.Warn("remove the screen's files", "err", err)
	}
}

// report turns what happened in the screen's group into its state, notes and log. It
// is called from the group's goroutine.
func (s *Screen) report(e supervise.Event) {
	if e.Kind == supervise.Up {
		s.log.Info("screen is up", "display", s.Display())
	} else {
		s.log.Warn("part of the screen stopped", "unit", e.Unit, "err", e.Err)
	}
	opening := !isClosed(s.opened)
	s.noteEvent(e, opening)
	// The screen can be used without a window manager, which is tried again.
	if opening && (e.Kind == supervise.Up || e.Unit == managerUnit) {
		close(s.opened)
	}
}

func (s *Screen) noteEvent(e supervise.Event, opening bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == supervise.Up:
		if s.ended[managerUnit] {
			s.note("The screen's window manager stopped and was started again; programs are still open.")
		}
		clear(s.ended)
	case e.Kind == supervise.Ended:
		s.ended[e.Unit] = true
	case e.Kind == supervise.GivenUp:
		delete(s.ended, e.Unit)
		s.note(fmt.Sprintf("The screen has no window manager, so windows have no title bars and cannot be moved or resized: %v.", e.Err))
	case e.Unit == managerUnit && opening:
		s.note(fmt.Sprintf("The screen's window manager has not started and is being tried again; until then windows have no title bars: %v.", e.Err))
	}
	if s.conns == nil && e.Err != nil {
		s.err = e.Err
	}
}

// maxNotes is how many notes are kept for a caller that takes none.
const maxNotes = 10

// note adds a note. The caller holds mu.
func (s *Screen) note(sentence string) {
	s.notes = append(s.notes, sentence)
	s.notes = s.notes[max(0, len(s.notes)-maxNotes):]
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TakeNotes returns what happened to the screen since the last call, one sentence
// for each event, for whoever acts on the screen.
func (s *Screen) TakeNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	return notes
}

// Number returns the screen's number, 1 to [Screens].
func (s *Screen) Number() int { return s.number }

// Size returns the size in pixels that the screen was opened with.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

// Frame returns the screen's picture. It stays the same Buffer for the life of
// the screen; a new X server is a new epoch in it.
func (s *Screen) Frame() *frame.Buffer { return s.buf }

// Display returns the screen's X display, such as ":5".
func (s *Screen) Display() string { return ":" + strconv.Itoa(s.displayNumber()) }

func (s *Screen) displayNumber() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.display
}

// setServer remembers the latest X server.
func (s *Screen) setServer(display, pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.display, s.server = display, pid
}

// setConnections makes the screen usable. Whoever uses it next is told what came
// back: an X server takes everything else with it, so it gets the only sentence.
func (s *Screen) setConnections(c *connections) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended[serverUnit]:
		s.note("The screen's X server stopped and was started again; programs that were open on it are gone.")
	case s.ended[connectionUnit]:
		s.note("The connection to the screen was lost and made again; programs on it are still open.")
	}
	clear(s.ended)
	s.conns = c
	close(s.up)
}

// clearConnections makes the screen unusable because of err.
func (s *Screen) clearConnections(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns, s.up, s.err = nil, make(chan struct{}), err
}

// XvfbPID returns the process id of the screen's X server, or of the last one
// that it had.
func (s *Screen) XvfbPID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

// Xauthority returns the path of the file with the screen's cookie that programs
// can read.
func (s *Screen) Xauthority() string { return filepath.Join(s.dir, "Xauthority") }

// serverAuthority returns the path of the X server's own copy.
func (s *Screen) serverAuthority() string { return filepath.Join(s.dir, "server-authority") }

// Env returns the whole environment for programs on the screen.
func (s *Screen) Env() []string {
	env := setEnv(s.m.cfg.Environ, "DISPLAY", s.Display())
	return setEnv(env, "XAUTHORITY", s.Xauthority())
}

// Ready returns when the screen can be used. It waits for a screen that is being
// started again, for less than 5 seconds, and then returns an [ErrScreenDown].
func (s *Screen) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err := s.ready(ctx)
	return err
}

// ready waits for the connections. At the end of ctx it says why there are none.
func (s *Screen) ready(ctx context.Context) (*connections, error) {
	for {
		s.mu.Lock()
		conns, up := s.conns, s.up
		s.mu.Unlock()
		if conns != nil {
			return conns, nil
		}
		select {
		case <-up:
		case <-s.failed:
			return nil, s.down()
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, s.down()
		}
	}
}

// down returns the error of a screen that is down.
func (s *Screen) down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("screen %d: %w: %w", s.number, ErrScreenDown, s.err)
}

// Input returns the screen's keyboard, pointer and clipboard. It does not wait. A
// new X server has a new Device and calls on the old one fail ([x11.ErrClosed]), so
// do not keep it.
func (s *Screen) Input() (*input.Device, error) {
	s.mu.Lock()
	conns := s.conns
	s.mu.Unlock()
	if conns == nil {
		return nil, s.down()
	}
	return conns.device, nil
}

// Refresh brings the Frame up to date with everything that the X server drew up to
// now, including what input sent before has caused it to draw, and returns the
// Stamp.
func (s *Screen) Refresh(ctx context.Context) (frame.Stamp, error) {
	return ask(ctx, s, func(ctx context.Context, c *connections) (frame.Stamp, error) {
		if err := c.device.Sync(); err != nil {
			return frame.Stamp{}, err
		}
		return c.pump.Refresh(ctx)
	})
}

// Windows returns the windows on the screen, the topmost first.
func (s *Screen) Windows(ctx context.Context) ([]x11.Window, error) {
	return ask(ctx, s, func(_ context.Context, c *connections) ([]x11.Window, error) {
		return c.windows.Windows()
	})
}

// focusTime is how long a window has to take the keyboard.
const focusTime = 2 * time.Second

// Activate brings a window to the front and gives it the keyboard. It returns when
// the window has it. The error matches [x11.ErrNoWindow] if there is no such window.
func (s *Screen) Activate(ctx context.Context, id uint32) error {
	_, err := ask(ctx, s, func(ctx context.Context, c *connections) (struct{}, error) {
		short, cancel := context.WithTimeout(ctx, focusTime)
		defer cancel()
		err := c.windows.Activate(short, id)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = fmt.Errorf("activate a window: it did not take the keyboard within %v", focusTime)
		}
		return struct{}{}, err
	})
	return err
}

// ask calls f with the screen's connections and gives up on it after answerTime. If
// the X server goes away under f, f is called again with the next one.
func ask[T any](ctx context.Context, s *Screen, f func(context.Context, *connections) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		conns, err := s.ready(limited)
		if err != nil {
			var none T
			return none, err
		}
		value, err := within(limited, func() (T, error) { return f(limited, conns) })
		switch {
		case ctx.Err() != nil:
			return value, ctx.Err()
		case limited.Err() != nil:
			// It may hang. Connections that cannot be made again get it replaced.
			conns.cancel()
			return value, fmt.Errorf("screen %d: %w: no answer from the X server in %v", s.number, ErrScreenDown, answerTime)
		case !errors.Is(err, x11.ErrClosed) && !errors.Is(err, capture.ErrStopped):
			return value, err
		}
		select {
		case <-conns.done:
		case <-limited.Done():
		}
	}
}

// within calls f, which waits for replies without looking at ctx, and returns
// ctx's error if that ends first. f then ends with the connection at the latest.
func within[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := f()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Close closes the screen: its window manager, connections and X server end, in
// this order, and with the X server every program that shows a window on it. It
// returns when nothing is left, or with ctx's error; the rest then ends in the
// background. It may be called more than once.
func (s *Screen) Close(ctx context.Context) error {
	s.cancel()
	select {
	case <-s.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close screen %d: %w", s.number, ctx.Err())
	}
}
