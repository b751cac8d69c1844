// Package session holds the agents' stays on the computer. A [Session] is named
// after its task and has at most one screen, which the first observe or act opens;
// a [Table] holds all sessions and ends those whose owner or agent is gone. A
// [Desktop] is an open screen with everybody at it: its session, the people who
// watch it and the one who has taken control.
//
// Observe and act of one session run one after the other in the order they came.
// Everything else, and other sessions, do not wait for them.
//
// Errors that leave this package are or wrap an [api.Error].
package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/screenshot"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

// settings are what a session was started with, defaults filled in.
type settings struct {
	width, height int // of the screen, in pixels
	idle          time.Duration
	elideTTL      time.Duration // 0: an unchanged image is sent all the same
	maxSide       int           // pixels
	format        screenshot.Format
	quality       int           // the highest of a JPEG; 0 is the encoder's default
	autoIgnore    time.Duration // 0: every part of the screen counts, however restless
	shellTimeout  time.Duration // of a command that asks for none
	shellMax      time.Duration
}

func settingsOf(r api.StartRequest) settings {
	size := r.ScreenSize
	if size == "" {
		size = api.DefaultScreenSize
	}
	s := settings{
		idle:       time.Duration(r.IdleMS) * time.Millisecond,
		elideTTL:   api.DefaultElideTTL,
		maxSide:    r.MaxSide,
		quality:    r.JPEGQuality,
		autoIgnore: settle.DefaultAutoIgnore,
		shellMax:   cmp.Or(time.Duration(r.ShellTimeoutMaxMS)*time.Millisecond, api.DefaultShellTimeoutMax),
	}
	s.shellTimeout = cmp.Or(time.Duration(r.ShellTimeoutMS)*time.Millisecond, min(api.DefaultShellTimeout, s.shellMax))
	if r.ImageFormat != "auto" {
		s.format = screenshot.Format(r.ImageFormat)
	}
	s.width, s.height, _ = api.ParseScreenSize(size) // checked by StartRequest.Check
	if s.idle == 0 {
		s.idle = api.DefaultIdle
	}
	if r.ElideTTLMS != nil {
		s.elideTTL = time.Duration(*r.ElideTTLMS) * time.Millisecond
	}
	if r.AutoIgnoreMS != nil {
		s.autoIgnore = time.Duration(*r.AutoIgnoreMS) * time.Millisecond
	}
	if s.maxSide == 0 {
		s.maxSide = api.DefaultMaxSide
	}
	return s
}

// Session is one agent's stay on the computer. All methods may be called from any
// goroutine.
type Session struct {
	id        string
	title     string
	owner     string
	startedAt time.Time
	settings  settings
	table     *Table

	// ctx ends with the session; its cause is the error that later calls get.
	ctx   context.Context
	end   context.CancelCauseFunc
	turns queue // observe and act
	work  *workspace

	calls    int       // in progress; guarded by table.mu
	activeAt time.Time // end of the last call; guarded by table.mu
	desktop  *Desktop  // nil until the first observe or act; guarded by table.mu

	// What follows belongs to the call that has its turn.
	seen    seen // the last image it received
	guard   guard
	tracker *settle.Tracker
}

// ID returns the session's id, 32 lower-case hex digits.
func (s *Session) ID() string { return s.id }

// Desktop returns the session's desktop, nil while it has none.
func (s *Session) Desktop() *Desktop {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return s.desktop
}

// begin marks the start of a call. The context that it returns also ends with the
// session, and done must be called at the end of the call: until then the session
// does not idle. The error is the one that the call answers with when the session
// has already ended.
func (s *Session) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	t := s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, nil, context.Cause(s.ctx)
	}
	s.calls++
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
		t.mu.Lock()
		s.calls--
		s.activeAt = time.Now()
		t.mu.Unlock()
		t.reschedule()
	}, nil
}

// inTurn runs f when all earlier observes and acts of the session are through, with
// the session's desktop, which it opens first if there is none.
func (s *Session) inTurn(ctx context.Context, f func(context.Context, *Desktop) error) error {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	leave, err := s.turns.enter(ctx)
	if err != nil {
		return explain(ctx, err)
	}
	defer leave()
	if s.ctx.Err() != nil { // the one before left because of that; ctx may learn it later
		return context.Cause(s.ctx)
	}
	seen := s.seen
	d, err := s.open(ctx)
	if err == nil {
		err = f(ctx, d)
	}
	if err != nil || ctx.Err() != nil {
		s.seen = seen // whatever pictures were taken, the caller does not get them
	}
	return explain(ctx, err)
}

// open returns the session's desktop and opens it if there is none. The caller has
// its turn, so no other call does the same.
func (s *Session) open(ctx context.Context) (*Desktop, error) {
	if d := s.Desktop(); d != nil {
		return d, nil
	}
	t := s.table
	screen, err := t.cfg.Open(ctx, s.settings.width, s.settings.height)
	if err != nil {
		return nil, err
	}
	d := newDesktop(t, s, screen)
	t.mu.Lock()
	s.desktop = d
	t.desktops[screen.Number()] = d
	t.mu.Unlock()
	t.Changed()
	t.cfg.Logger.Info("screen opened", "session", s.id, "screen", screen.Number())
	return d, nil
}

// explain turns the error of a call into the one that its caller gets. The cause of
// a cancelled context is closer to the truth than what the cancelled work reports.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
		return cause
	}
	if _, ok := errors.AsType[*api.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, control.ErrPerson), errors.Is(context.Cause(ctx), control.ErrPerson):
		return api.Errorf(api.CodeHumanInControl, "A person has taken control of the screen.").
			WithFix("Do not act now. Observe to see what they do, and act again when human.in_control is false.").WithRetry()
	case errors.Is(ctx.Err(), context.Canceled):
		return api.Errorf(api.CodeCanceled, "The call was cancelled.")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return api.Errorf(api.CodeTimeout, "The call took too long and was stopped.").WithRetry()
	}
	failed := api.Errorf(api.CodeScreenFailed, "It did not work: %v.", err).WithRetry()
	if errors.Is(err, display.ErrScreenDown) || errors.Is(err, x11.ErrClosed) {
		return failed.WithFix("The screen is being repaired; observe again in a few seconds.")
	}
	return failed.WithFix("Look at the screen before trying again.")
}

// sleep waits for d, or for the end of ctx, whose error it then returns.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endedError is what calls on an ended session get.
func endedError(title string, at time.Time, why string) *api.Error {
	return api.Errorf(api.CodeSessionEnded, "The session %q ended at %s: %s.", title, at.UTC().Format("15:04:05 MST"), why).
		WithFix("Call start_computer again and use its session id. Files in home are still there.")
}

// unknownError is what calls on an id get that no session ever had.
func unknownError(id string) *api.Error {
	const longest = 64
	if len(id) > longest {
		id = id[:longest]
	}
	return api.Errorf(api.CodeUnknownSession, "No session has the id %q.", id).
		WithFix("Use the session id that start_computer returned, or call start_computer.")
}
