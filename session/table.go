package session

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
	"github.com/falleng0d/computer-use-mcp/session/browser"
	"github.com/falleng0d/computer-use-mcp/session/files"
	"github.com/falleng0d/computer-use-mcp/session/shell"
)

// maxSessions is how many sessions a Table holds. Only 16 have a screen, but each has a
// control group and commands of its own, and an agent in a loop opens one after the other.
const maxSessions = 256

// remembered is how many ended sessions a Table can still explain.
const remembered = 1000

// Config says what the sessions of a Table live on.
type Config struct {
	// Open opens a screen of the given size in pixels. The error is an api.Error of
	// CodeNoFreeScreen when all are in use.
	Open func(ctx context.Context, width, height int) (Screen, error)
	// Programs starts applications on screens.
	Programs Programs
	// Browsers is nil where there are none.
	Browsers *browser.Browsers
	// Shells runs commands, Files reads and writes files. Both run as the user of the
	// programs.
	Shells *shell.Shells
	Files  files.Runner
	Logger *slog.Logger
}

// Table holds the sessions. All methods may be called from any goroutine.
type Table struct {
	cfg       Config
	freeSpace func(folder string) (bytes uint64, err error)

	mu       sync.Mutex
	sessions map[string]*Session   // guarded by mu; those that have not ended
	gone     map[string]*api.Error // guarded by mu; how the last ones ended
	goneIDs  []string              // guarded by mu; keys of gone, oldest first
	beats    map[string]time.Time  // guarded by mu; last heartbeat of owners with sessions
	desktops map[int]*Desktop      // guarded by mu; by screen number
	stopped  bool                  // guarded by mu; Run has ended
	version  uint64                // guarded by mu; counts changes that a viewer shows
	news     chan struct{}         // guarded by mu; closed and replaced at each of them

	resched chan struct{} // capacity 1: a deadline may have come closer
}

// NewTable returns an empty Table. It ends no session by itself until Run is called.
func NewTable(cfg Config) *Table {
	if cfg.Shells == nil {
		cfg.Shells = shell.New(shell.Config{})
	}
	return &Table{
		cfg:       cfg,
		freeSpace: freeSpace,
		sessions:  make(map[string]*Session),
		gone:      make(map[string]*api.Error),
		beats:     make(map[string]time.Time),
		desktops:  make(map[int]*Desktop),
		news:      make(chan struct{}),
		resched:   make(chan struct{}, 1),
	}
}

// Start opens a session. It counts as a heartbeat of its owner. No screen is opened. The
// error is an api.Error: of CodeBusy when there are maxSessions, of CodeComputerStopped
// once Run has ended, else of CodeBadRequest.
func (t *Table) Start(r api.StartRequest) (*Session, error) {
	title, err := api.CleanTitle(r.Title)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	now := time.Now()
	ctx, end := context.WithCancelCause(context.Background())
	s := &Session{
		id: api.NewID(), title: title, owner: r.Owner, startedAt: now,
		settings: settingsOf(r), table: t, ctx: ctx, end: end, activeAt: now,
	}
	s.tracker = settle.NewTracker(s.settings.autoIgnore)
	s.work = newWorkspace(t.cfg, s.id)
	t.mu.Lock()
	if err := t.full(); err != nil {
		t.mu.Unlock()
		end(nil)
		s.work.shell.End()
		return nil, err
	}
	t.sessions[s.id] = s
	t.beats[r.Owner] = now
	t.mu.Unlock()
	t.Changed()
	t.reschedule()
	t.cfg.Logger.Info("session started", "session", s.id, "title", s.title, "owner", s.owner)
	return s, nil
}

// full says why no session can start, nil if one can. The caller holds mu.
func (t *Table) full() error {
	switch {
	case t.stopped:
		return api.Errorf(api.CodeComputerStopped, "The computer is shutting down.").
			WithFix("Call start_computer again in a few seconds.").WithRetry()
	case len(t.sessions) >= maxSessions:
		return api.Errorf(api.CodeBusy, "The computer has %d sessions already.", len(t.sessions)).
			WithFix("Go on with the session that you have, or end those that are not needed with end_session. One that is not used ends by itself.").WithRetry()
	}
	return nil
}

// Get returns the session with the given id. The error is an api.Error of
// CodeSessionEnded, which says why, or of CodeUnknownSession.
func (t *Table) Get(id string) (*Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sessions[id]; s != nil {
		return s, nil
	}
	if err := t.gone[id]; err != nil {
		return nil, err
	}
	return nil, unknownError(id)
}

// End ends a session and returns when its screen is closed or left to its watchers.
func (t *Table) End(id string) error {
	s, err := t.Get(id)
	if err != nil {
		return err
	}
	t.endSession(s, "end_session was called")
	return nil
}

// Heartbeat keeps all sessions of an owner for another api.OwnerTimeout and returns
// how many there are.
func (t *Table) Heartbeat(owner string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.ofOwner(owner))
	if n > 0 {
		t.beats[owner] = time.Now()
	}
	return n
}

// Release ends all sessions of an owner at once and returns how many there were.
func (t *Table) Release(owner string) int {
	t.mu.Lock()
	sessions := t.ofOwner(owner)
	t.mu.Unlock()
	t.endAll(sessions, "its server process ended")
	return len(sessions)
}

// ofOwner returns the owner's sessions. The caller holds mu.
func (t *Table) ofOwner(owner string) []*Session {
	var list []*Session
	for _, s := range t.sessions {
		if s.owner == owner {
			list = append(list, s)
		}
	}
	return list
}

// endAll ends several sessions side by side and returns when all have ended.
func (t *Table) endAll(sessions []*Session, why string) {
	var wg sync.WaitGroup
	for _, s := range sessions {
		wg.Go(func() { t.endSession(s, why) })
	}
	wg.Wait()
}

// endSession takes the session out of the table, which cancels its calls, waits for
// those on its screen and closes that. Only the first call for a session does
// anything.
func (t *Table) endSession(s *Session, why string) {
	t.mu.Lock()
	if t.sessions[s.id] != s {
		t.mu.Unlock()
		return
	}
	err := endedError(s.title, time.Now(), why)
	delete(t.sessions, s.id)
	t.remember(s.id, err)
	if len(t.ofOwner(s.owner)) == 0 {
		delete(t.beats, s.owner)
	}
	t.mu.Unlock()
	s.end(err)
	t.Changed()
	t.cfg.Logger.Info("session ended", "session", s.id, "title", s.title, "why", why)

	var commands sync.WaitGroup
	commands.Go(s.endCommands)
	defer commands.Wait()
	leave, _ := s.turns.enter(context.Background())
	defer leave()
	if d := s.Desktop(); d != nil {
		d.sessionEnded()
	}
}

// remember keeps how a session ended. The caller holds mu.
func (t *Table) remember(id string, err *api.Error) {
	t.gone[id] = err
	t.goneIDs = append(t.goneIDs, id)
	if len(t.goneIDs) > remembered {
		delete(t.gone, t.goneIDs[0])
		t.goneIDs = slices.Delete(t.goneIDs, 0, 1)
	}
}

// Sessions lists the sessions, oldest first.
func (t *Table) Sessions() []api.Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]api.Session, 0, len(t.sessions))
	for _, s := range t.sessions {
		screen := 0
		if s.desktop != nil {
			screen = s.desktop.Screen.Number()
		}
		list = append(list, api.Session{ID: s.id, Title: s.title, Owner: s.owner, Screen: screen, StartedAt: s.startedAt.UTC()})
	}
	slices.SortFunc(list, func(a, b api.Session) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Desktops lists the open desktops by screen number.
func (t *Table) Desktops() []*Desktop {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.desktops), func(a, b *Desktop) int {
		return cmp.Compare(a.Screen.Number(), b.Screen.Number())
	})
}

// Desktop returns the desktop of the screen with the given number, or nil.
func (t *Table) Desktop(number int) *Desktop {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.desktops[number]
}

// Wait returns as soon as sessions, desktops or who is at them have changed after
// version since, with the present version, or with ctx's error. A first call takes 0.
func (t *Table) Wait(ctx context.Context, since uint64) (version uint64, err error) {
	for {
		t.mu.Lock()
		version, news := t.version, t.news
		t.mu.Unlock()
		if version != since {
			return version, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return version, ctx.Err()
		}
	}
}

// Changed tells those in Wait that something has changed, such as whether a screen is
// down, of which only its caller knows.
func (t *Table) Changed() { // the caller does not hold mu
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version++
	close(t.news)
	t.news = make(chan struct{})
}

// Run ends sessions when their owner or agent is gone, until ctx ends. Then it ends
// all of them and returns when every screen is closed. No session starts after that.
func (t *Table) Run(ctx context.Context) error {
	var ending sync.WaitGroup
	defer ending.Wait()
	for {
		now := time.Now()
		due, next := t.due(now)
		for _, e := range due {
			ending.Go(func() { t.endSession(e.session, e.why) })
		}
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(next.Sub(now))
		}
		select {
		case <-timer:
		case <-t.resched:
		case <-ctx.Done():
			t.shutdown()
			return nil
		}
	}
}

func (t *Table) shutdown() {
	t.mu.Lock()
	t.stopped = true
	sessions := slices.Collect(maps.Values(t.sessions))
	t.mu.Unlock()
	t.endAll(sessions, "the computer was stopped")
	for _, d := range t.Desktops() {
		d.close() // those that only watchers kept open
	}
}

// reschedule makes Run look at the deadlines again.
func (t *Table) reschedule() {
	select {
	case t.resched <- struct{}{}:
	default:
	}
}

// ending is a session whose time is up, and why.
type ending struct {
	session *Session
	why     string
}

// due returns the sessions whose time is up, and the next moment at which there may
// be another; zero when there is none.
func (t *Table) due(now time.Time) (due []ending, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		deadline, why := s.deadline(t.beats[s.owner])
		switch {
		case !deadline.After(now):
			due = append(due, ending{s, why})
		case next.IsZero() || deadline.Before(next):
			next = deadline
		}
	}
	return due, next
}

// deadline returns when the session ends unless something happens, and why. The
// caller holds table.mu.
func (s *Session) deadline(beat time.Time) (at time.Time, why string) {
	at = beat.Add(api.OwnerTimeout)
	why = fmt.Sprintf("its server process sent no heartbeat for %v", api.OwnerTimeout)
	watched := s.desktop != nil && s.desktop.watchers > 0
	if idle := s.activeAt.Add(s.settings.idle); s.calls == 0 && !watched && idle.Before(at) {
		return idle, fmt.Sprintf("no call came for %v", s.settings.idle)
	}
	return at, why
}
