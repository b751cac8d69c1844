package session

import (
	"context"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

// closeTimeout bounds the closing of a screen.
const closeTimeout = 15 * time.Second

// releaseTimeout bounds the release of keys and buttons.
const releaseTimeout = 2 * time.Second

// Desktop is an open screen with everybody at it: the session it was opened for, the
// people who watch it, and who works its keyboard and pointer. It lives until its
// session has ended and nobody watches. All methods may be called from any goroutine.
type Desktop struct {
	Screen  Screen
	Title   string         // of its session
	Started time.Time      // when its session started
	Control *control.Lease // between the session and people

	table    *Table
	done     chan struct{}
	children children // programs started on it
	browser  Browser  // nil where there is none

	session  *Session  // nil once it has ended; guarded by table.mu
	watchers int       // guarded by table.mu
	closing  bool      // guarded by table.mu
	action   string    // the kind of the last action; guarded by table.mu
	actedAt  time.Time // when it began; guarded by table.mu

	// A batch holds inputMu while it runs.
	inputMu sync.Mutex
	holder  Holder // what the session keeps pressed; nil when nothing; guarded by inputMu
	epoch   uint64 // of the X server that holder works on; guarded by inputMu
}

func newDesktop(t *Table, s *Session, screen Screen) *Desktop {
	d := &Desktop{Screen: screen, Title: s.title, Started: s.startedAt, table: t, session: s, done: make(chan struct{})}
	d.children = children{Scope: t.cfg.Shells.Scope(desktopVariable, api.NewID())}
	if t.cfg.Browsers != nil {
		d.browser = t.cfg.Browsers.On(d.forBrowser())
	}
	d.Control = control.New(control.Hooks{Release: d.releaseInput, Changed: t.Changed})
	return d
}

// Done is closed when the screen is being closed.
func (d *Desktop) Done() <-chan struct{} { return d.done }

// Info describes the desktop for people and scripts. vncPort is the port of this
// screen, 0 for none.
func (d *Desktop) Info(vncPort int) api.Screen {
	width, height := size(d.Screen)
	d.table.mu.Lock()
	defer d.table.mu.Unlock()
	info := api.Screen{
		Number: d.Screen.Number(), Display: d.Screen.Display(), Xauthority: d.Screen.Xauthority(),
		XvfbPID: d.Screen.XvfbPID(), VNCPort: vncPort, Title: d.Title, Width: width, Height: height,
	}
	if d.session != nil {
		info.Session = d.session.id
	}
	return info
}

// Watchers returns how many people watch.
func (d *Desktop) Watchers() int {
	d.table.mu.Lock()
	defer d.table.mu.Unlock()
	return d.watchers
}

// LastAction returns the kind of the session's last action and when it began; zero when
// it has not acted.
func (d *Desktop) LastAction() (kind string, at time.Time) {
	d.table.mu.Lock()
	defer d.table.mu.Unlock()
	return d.action, d.actedAt
}

// acts notes that an action begins.
func (d *Desktop) acts(kind string) {
	d.table.mu.Lock()
	d.action, d.actedAt = kind, time.Now()
	d.table.mu.Unlock()
	d.table.Changed()
}

// Watch counts one more watcher until leave is called. A watched session does not
// idle, and a watched screen stays open after its session has ended. It reports false
// when the screen is already being closed.
func (d *Desktop) Watch() (leave func(), ok bool) {
	t := d.table
	t.mu.Lock()
	if d.closing {
		t.mu.Unlock()
		return nil, false
	}
	d.watchers++
	t.mu.Unlock()
	t.Changed()
	return d.unwatch, true
}

func (d *Desktop) unwatch() {
	t := d.table
	t.mu.Lock()
	d.watchers--
	if d.session != nil && d.watchers == 0 {
		d.session.activeAt = time.Now() // idling starts now
	}
	t.mu.Unlock()
	t.Changed()
	t.reschedule()
	d.closeIfUnused()
}

// sessionEnded takes the session off the desktop. Its calls have ended.
func (d *Desktop) sessionEnded() {
	d.releaseInput()
	d.table.mu.Lock()
	d.session = nil
	d.table.mu.Unlock()
	d.closeIfUnused()
}

func (d *Desktop) closeIfUnused() {
	d.table.mu.Lock()
	used := d.session != nil || d.watchers > 0
	d.table.mu.Unlock()
	if !used {
		d.close()
	}
}

// close ends the programs and closes the screen. Its number is free afterwards. Only
// the first call does anything; later ones return at once.
func (d *Desktop) close() {
	t := d.table
	t.mu.Lock()
	if d.closing {
		t.mu.Unlock()
		return
	}
	d.closing = true
	t.mu.Unlock()
	close(d.done)

	// Whoever asked for the end may be gone already; the screen is closed all the same.
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if d.browser != nil {
		if err := d.browser.Close(ctx); err != nil {
			t.cfg.Logger.Error("close browser", "screen", d.Screen.Number(), "error", err)
		}
	}
	if left := d.children.End(stopGrace); left > 0 {
		t.cfg.Logger.Error("programs of a screen cannot be ended", "screen", d.Screen.Number(), "count", left)
	}
	err := d.Screen.Close(ctx)
	t.mu.Lock()
	delete(t.desktops, d.Screen.Number())
	t.mu.Unlock()
	t.Changed()
	if err != nil {
		t.cfg.Logger.Error("close screen", "screen", d.Screen.Number(), "error", err)
		return
	}
	t.cfg.Logger.Info("screen closed", "screen", d.Screen.Number())
}

// beginActing starts a batch: it returns the holder to press with and a context that
// ends when a person takes control, or the error that a batch gets while one has it.
// done must be called when the batch has ended, with whether it went well: what it left
// pressed on purpose then stays pressed.
func (d *Desktop) beginActing(ctx context.Context) (_ context.Context, h Holder, done func(ok bool), err error) {
	ctx, yield, err := d.Control.Act(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	d.inputMu.Lock()
	if err := d.prepareHolder(ctx); err != nil {
		d.inputMu.Unlock()
		yield()
		return nil, nil, nil, err
	}
	return ctx, d.holder, func(ok bool) {
		if !ok {
			d.release()
		}
		d.inputMu.Unlock()
		yield()
	}, nil
}

// prepareHolder makes sure that there is a holder for the present X server. One of an
// earlier server has nothing left to release. The caller holds inputMu.
func (d *Desktop) prepareHolder(ctx context.Context) (err error) {
	epoch := d.Screen.Frame().Stamp().Epoch
	if d.holder == nil || d.epoch != epoch {
		d.epoch = epoch
		d.holder, err = d.Screen.NewHolder(ctx)
	}
	return err
}

// releaseInput lets go of everything that the session holds, once its batch has ended.
func (d *Desktop) releaseInput() {
	d.inputMu.Lock()
	defer d.inputMu.Unlock()
	d.release()
}

// release lets go of everything that the session holds. The caller holds inputMu.
func (d *Desktop) release() {
	if d.holder == nil {
		return
	}
	// The call that pressed may be cancelled; its keys are released all the same.
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := d.holder.Release(ctx); err != nil {
		d.table.cfg.Logger.Warn("release input", "screen", d.Screen.Number(), "error", err)
	}
	d.holder = nil
}

// human returns what the next answer says of people at the screen.
func (d *Desktop) human() api.Human {
	r := d.Control.Report()
	h := api.Human{InControl: r.InControl, ActedSinceLastCall: r.Acted}
	if !r.Since.IsZero() {
		since := r.Since.UTC()
		h.SinceAt = &since
	}
	return h
}
