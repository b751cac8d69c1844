// Package browser runs one Chromium for each screen and keeps them signed in alike.
//
// A [Browser] is a screen's. Its Chromium starts when it is first needed, on a fresh copy
// of the profile in home, and what the person changed in it (bookmarks, saved passwords,
// settings) is copied back when it closes. [Browsers] holds all of them, carries cookies
// from one to the others, and keeps them in home for those that start later.
//
// Chromium is driven over a pipe (DevTools protocol) that only this process has. Programs
// reach it through [Browser.DevTools] alone; docs/adr/0011-a-browser-for-each-screen.md says
// why.
//
// Errors that leave this package are or wrap an api.Error, but for those of a context.
package browser

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// Config says what browsers live on.
type Config struct {
	// Home is the folder of the programs, which keeps the profile, cookies and
	// localStorage. What only this process may read is in its folder .computer-use.
	Home string
	User *supervise.Credential // of the programs; nil is the user of this process
	Env  []string              // of the programs that copy profiles
	// OwnSandbox lets Chromium use its sandbox. Inside a container or another sandbox it
	// cannot, and that is the boundary.
	OwnSandbox bool
	// Offline keeps Chromium from looking for updates and extensions.
	Offline bool
	// PortBase plus the number of a screen is the port of [Browser.DevTools]; 0 is a free
	// port for each, where the network is shared with other programs than the computer's.
	PortBase int
	Logger   *slog.Logger // nil is silence
}

// Process is a Chromium that was started on a screen.
type Process interface {
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// Ending says how it ended, once Done is closed; failed is false when it quit in
	// good order. said is the end of what it printed.
	Ending() (how string, failed bool, said string)
	// Kill ends it at once, with what is in its process group.
	Kill()
}

// Screen is what a Browser needs of its screen. All functions may be called from any
// goroutine.
type Screen struct {
	Number int // 1 to 16
	// Start starts a program as the programs' user, with the screen's environment and
	// files as its descriptors 3 and up.
	Start func(argv []string, files ...*os.File) (Process, error)
	// Owns reports whether a peer on the loopback address, host:port, is a program of the
	// screen's session.
	Owns func(peer string) bool
	// Raise brings Chromium's topmost window to the front and gives it the keyboard. It
	// returns when that is so.
	Raise func(ctx context.Context) error
}

// Browsers are the browsers of a computer. All methods may be called from any goroutine.
type Browsers struct {
	cfg Config

	profiles   sync.Mutex // one copy of the profile at a time is made or brought back
	exchanging sync.Mutex // one exchange of cookies at a time
	jar        *jar       // guarded by exchanging
	storage    *storage

	mu      sync.Mutex
	running map[*instance]bool // guarded by mu
	started chan struct{}      // capacity 1: Run has something to do
}

// New returns a Browsers. It carries no cookies until Run is called.
func New(cfg Config) *Browsers {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Browsers{
		cfg: cfg, jar: openJar(cfg), storage: openStorage(cfg),
		running: make(map[*instance]bool), started: make(chan struct{}, 1),
	}
}

// On returns the browser of a screen, which does not run yet. Close it with the screen.
func (b *Browsers) On(s Screen) *Browser {
	br := &Browser{all: b, screen: s, turn: make(chan struct{}, 1)}
	br.life, br.end = context.WithCancel(context.Background())
	return br
}

// template is the folder of the template that every Chromium starts with a copy of.
func (b *Browsers) template() string {
	return filepath.Join(b.cfg.Home, ".local/share/computer-use/chromium/template")
}

// Browser is the browser of one screen. All methods may be called from any goroutine.
type Browser struct {
	all    *Browsers
	screen Screen

	life context.Context // ends at Close, and with it a start under way
	end  context.CancelFunc

	turn chan struct{} // capacity 1: held by whoever starts or ends Chromium

	gate    *gate // held by who has the turn; nil before the first start
	gateErr error // why there is none, held by who has the turn

	mu    sync.Mutex
	run   *instance // guarded by mu; nil while no Chromium runs
	crash string    // guarded by mu; how the last one crashed, empty when it did not
	notes []string  // guarded by mu
}

const (
	startTime = time.Minute      // for a start; it takes 5 to 10 s on a busy machine
	closeTime = 5 * time.Second  // for a clean end, before it is ended by force
	saveTime  = 10 * time.Second // for the copying of a profile, a matter of milliseconds
)

// Open opens an address in a new tab and brings it to the front, and starts Chromium if
// none runs. It does not wait until the page has loaded. With an empty address it makes
// sure that there is a window and brings that to the front. The address is taken as it
// is: who lets agents choose it checks it.
func (b *Browser) Open(ctx context.Context, url string) error {
	leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	run, err := b.ensure(ctx)
	if err != nil {
		return err
	}
	err = run.open(ctx, url)
	if errors.Is(err, errGone) { // it had crashed, which was not known yet
		if err := run.awaitEnd(ctx); err != nil {
			return err
		}
		if run, err = b.ensure(ctx); err == nil {
			err = run.open(ctx, url)
		}
	}
	if err != nil {
		return b.failed(ctx, "The browser could not open the page", err)
	}
	return b.screen.Raise(ctx)
}

// Running reports whether a Chromium runs, with or without a window.
func (b *Browser) Running() bool { return b.current() != nil }

// Busy reports whether the page in front is loading or waits for an answer that it has
// asked for within the last seconds. It is cheap: Chromium tells of every change.
func (b *Browser) Busy() bool {
	run := b.current()
	return run != nil && run.busy(time.Now())
}

// TakeNotes returns what happened to the browser since the last call, one sentence for
// each event, for whoever acts on the screen.
func (b *Browser) TakeNotes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	notes := b.notes
	b.notes = nil
	return notes
}

// Close has Chromium quit in good order, saves what the person changed in its profile and
// lets none be started any more. It returns when that is done, within some 10 seconds, or
// with ctx's error.
func (b *Browser) Close(ctx context.Context) error {
	b.end()
	leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if run := b.current(); run != nil {
		run.close()
	}
	if b.gate != nil {
		b.gate.close()
	}
	return nil
}

// ensure returns the running Chromium and starts one if there is none. The caller has the
// turn.
func (b *Browser) ensure(ctx context.Context) (*instance, error) {
	run := b.current()
	switch {
	case b.life.Err() != nil:
		return nil, api.Errorf(api.CodeSessionEnded, "The screen has closed, and its browser with it.").
			WithFix("Call start_computer again. Logins are still there.")
	case run != nil:
		return run, nil
	}
	if b.gate == nil {
		if b.gate, b.gateErr = b.openGate(); b.gateErr != nil {
			b.all.cfg.Logger.Warn("serve DevTools", "screen", b.screen.Number, "error", b.gateErr)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	began := time.Now()
	run, err := b.start(ctx)
	if err == nil {
		err = b.screen.Raise(ctx)
	}
	if err != nil {
		return nil, b.failed(ctx, "The browser did not start", err)
	}
	b.all.cfg.Logger.Info("browser started", "screen", b.screen.Number, "ms", time.Since(began).Milliseconds(), "devtools", b.gate.at())
	return run, nil
}

// enter waits for the turn to start or to end Chromium.
func (b *Browser) enter(ctx context.Context) (leave func(), err error) {
	select {
	case b.turn <- struct{}{}:
		return func() { <-b.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// failed words an error for the model.
func (b *Browser) failed(ctx context.Context, what string, err error) error {
	if _, ok := errors.AsType[*api.Error](err); ok || ctx.Err() != nil {
		return err
	}
	return api.Errorf(api.CodeScreenFailed, "%s: %v.", what, err).
		WithFix("Look at the screen and try again; with shell, chromium --version says whether it is installed.").WithRetry()
}

func (b *Browser) current() *instance {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.run
}

// maxNotes is how many notes are kept for a caller that takes none.
const maxNotes = 5

func (b *Browser) note(sentence string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, sentence)
	b.notes = b.notes[max(0, len(b.notes)-maxNotes):]
}

// lost forgets a Chromium that has ended. crash says how when that was a crash, and is empty
// otherwise.
func (b *Browser) lost(run *instance, crash string) {
	if crash != "" {
		b.note("The browser crashed (" + crash + ") and its windows are gone; logins are kept. Whatever opens a page starts it again.")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run == run {
		b.run, b.crash = nil, crash
	}
}
