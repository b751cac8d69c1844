// Package display runs the computer's screens. A screen is an Xvfb server, the
// connections that capture it and work its keyboard and pointer, and a window
// manager. Screens are opened on demand, supervised while they are open, and
// gone without a trace when they are closed.
//
// Screen n uses the X display :n; if something else on the machine has that one,
// :n+16, :n+32 and so on, so that two screens never want the same display.
package display

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

const (
	// Screens is how many screens a computer has. They are numbered from 1.
	Screens = 16

	// firstGroup and its number make the group of a screen's programs, see Screen.User.
	// The engines give these groups names.
	firstGroup = 59910

	// MinSide and MaxSide bound a screen's width and height in pixels.
	MinSide = 320
	MaxSide = 7680
)

var (
	// ErrNoFreeScreen is returned by [Manager.Open] when all screens are open.
	ErrNoFreeScreen = fmt.Errorf("all %d screens are in use", Screens)

	// ErrScreenDown is matched by the error of every method of a [Screen] that is
	// being started again, could not be kept running, or is closed.
	ErrScreenDown = errors.New("the screen is down")
)

// Credential is a user that child processes run as.
type Credential = supervise.Credential

// MenuItem is an entry of the menu that a right click on the background opens.
type MenuItem struct {
	Label   string
	Command string // for sh
}

// Config says how a Manager runs screens.
type Config struct {
	// StateDir is the folder for the screens' files. The Manager creates it with
	// mode 0711; ServerUser and ProgramUser must be able to pass through the
	// folders above it.
	StateDir string

	// ServerUser runs the X servers, ProgramUser the window managers and what
	// people start from their menus. nil is the user of this process.
	ServerUser, ProgramUser *Credential

	// Environ is the environment of programs apart from DISPLAY and XAUTHORITY.
	// It should have at least HOME, PATH and LANG.
	Environ []string

	// Menu is what the background menu offers above the list of windows.
	Menu []MenuItem

	// Changed, if not nil, is called whenever a screen goes down or comes back: when
	// Input and Clipboard begin to fail or to work. It must return at once.
	Changed func()

	// Logger is told what happens to the screens; nil is silence.
	Logger *slog.Logger
}

// Manager hands out screens. All methods may be called from any goroutine.
type Manager struct {
	cfg     Config
	policy  supervise.Policy // of the screens' groups; tests shorten it
	opening chan struct{}    // holds one token for each screen that is being opened

	mu      sync.Mutex
	screens [Screens + 1]*Screen // guarded by mu; by number, from 1; nil is free
	closed  bool                 // guarded by mu
}

// New returns a Manager without open screens.
func New(cfg Config) *Manager {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	return &Manager{
		cfg: cfg, policy: supervise.DefaultPolicy,
		// More at once would only make all of them slow, until some seem to hang.
		opening: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
	}
}

// checkSize returns an error that names the size if it is not one of a screen.
func checkSize(width, height int) error {
	if min(width, height) < MinSide || max(width, height) > MaxSide {
		return fmt.Errorf("screen size %dx%d is not possible: each side must be %d to %d pixels, as in 1280x800",
			width, height, MinSide, MaxSide)
	}
	return nil
}

// Open starts the free screen with the lowest number, of the given size in
// pixels. It returns when the screen can be captured and worked and its window
// manager has come up or failed to, or when ctx ends. The caller closes the
// screen. The error is [ErrNoFreeScreen] if there is none.
func (m *Manager) Open(ctx context.Context, width, height int) (*Screen, error) {
	if err := checkSize(width, height); err != nil {
		return nil, err
	}
	select {
	case m.opening <- struct{}{}:
		defer func() { <-m.opening }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other screens to open: %w", ctx.Err())
	}
	s, err := m.reserve(width, height)
	if err != nil {
		return nil, err
	}
	if err := s.waitOpen(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// reserve takes the lowest free number for a new screen and starts it.
func (m *Manager) reserve(width, height int) (*Screen, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errors.New("open a screen: the computer is shutting down")
	}
	for n := 1; n <= Screens; n++ {
		if m.screens[n] == nil {
			ctx, cancel := context.WithCancel(context.Background())
			s := newScreen(m, n, width, height, cancel)
			m.screens[n] = s
			go s.run(ctx)
			return s, nil
		}
	}
	return nil, ErrNoFreeScreen
}

// release makes a number free again.
func (m *Manager) release(number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.screens[number] = nil
}

// Close closes all screens and lets no more be opened. It returns ctx's error if
// ctx ends before all of them are gone.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	screens := m.screens
	m.mu.Unlock()
	for _, s := range screens {
		if s != nil {
			s.cancel()
		}
	}
	for _, s := range screens {
		if s == nil {
			continue
		}
		if err := s.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}
