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

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

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
	dir           string // of its programs' files; see makeFiles
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
		dir:    filepath.Join(m.cfg.StateDir, fmt.Sprintf("screen-%d-%s", number, rand.Text())),
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

// makeFiles makes the two copies of the screen's cookie. The programs' one is for the
// screen's group, because the programs of all screens have the same user, and lies in a
// folder whose name nobody can guess or list. The X server's one stands in its command line, which everybody can
// read.
func (s *Screen) makeFiles() error {
	old, _ := filepath.Glob(filepath.Join(s.m.cfg.StateDir, fmt.Sprintf("screen-%d-*", s.number)))
	for _, dir := range old { // of a run that was killed
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.dir, 0o711); err != nil {
		return err
	}
	for _, dir := range []string{s.m.cfg.StateDir, s.dir} {
		if err := os.Chmod(dir, 0o711); err != nil { // the umask may have taken some away
			return err
		}
	}
	for _, user := range []*Credential{s.m.cfg.ServerUser, s.User()} {
		if err := checkWay(s.dir, user); err != nil {
			return err
		}
	}
	data := authority(s.cookie)
	if err := writeFile(s.serverAuthority(), data, s.m.cfg.ServerUser); err != nil {
		return err
	}
	return writeShared(s.Xauthority(), data, s.User())
}

// removeFiles removes the screen's folder and what a killed X server left.
func (s *Screen) removeFiles() {
	if n := s.displayNumber(); n > 0 && !inUse(n) {
		os.Remove(socketPath(n))
	}
	for _, path := range []string{s.dir, s.serverAuthority()} {
		if err := os.RemoveAll(path); err != nil {
			s.log.Warn("remove the screen's files", "err", err)
		}
	}
}

// Number returns the screen's number, 1 to [Screens].
func (s *Screen) Number() int { return s.number }

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

// XvfbPID returns the process id of the screen's X server, or of the last one
// that it had.
func (s *Screen) XvfbPID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

// User returns who the screen's programs run as: Config's ProgramUser, but in a group
// that the programs of no other screen have. nil is the user of this process.
//
// Processes of one user may look into each other, at their environment and so at the
// path of their Xauthority, only if their groups are the same as well (ptrace(2), "Ptrace
// access mode checking").
func (s *Screen) User() *Credential {
	u := s.m.cfg.ProgramUser
	if u == nil || u.UID == 0 {
		return u
	}
	return &Credential{UID: u.UID, GID: firstGroup + uint32(s.number)}
}

// Xauthority returns the path of the file with the screen's cookie that programs
// can read.
func (s *Screen) Xauthority() string { return filepath.Join(s.dir, "Xauthority") }

// serverAuthority returns the path of the X server's own copy.
func (s *Screen) serverAuthority() string {
	return filepath.Join(s.m.cfg.StateDir, "server-authority-"+strconv.Itoa(s.number))
}

// Env returns the whole environment for programs on the screen.
func (s *Screen) Env() []string {
	env := setEnv(s.m.cfg.Environ, "DISPLAY", s.Display())
	return setEnv(env, "XAUTHORITY", s.Xauthority())
}
