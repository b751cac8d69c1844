package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/input"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/session"
	"github.com/falleng0d/computer-use-mcp/session/control"
	"github.com/falleng0d/computer-use-mcp/viewer"
)

// maxSeats is how many people may watch one screen.
const maxSeats = 8

// viewers shows the computer to people: it is the page's viewer.Computer.
type viewers struct {
	table *session.Table
	log   *slog.Logger

	mu     sync.Mutex
	boards map[*session.Desktop]*board // of desktops that somebody watches; guarded by mu
}

// board is what all who watch one desktop share.
type board struct {
	screen *rfb.Screen
	seats  int                // guarded by viewers.mu
	stop   context.CancelFunc // ends the goroutines
	ended  sync.WaitGroup     // the goroutines
}

func newViewers(table *session.Table, log *slog.Logger) *viewers {
	return &viewers{table: table, log: log, boards: make(map[*session.Desktop]*board)}
}

// listenForPage returns what serves the viewer page, on a port that is open already.
func listenForPage(o Options, identity Identity, table *session.Table) (serve func(context.Context) error, err error) {
	l, err := net.Listen("tcp", o.ViewerListen)
	if err != nil {
		return nil, fmt.Errorf("listen for the viewer page: %v", err)
	}
	port := o.PortBase // as browsers see it
	if port == 0 {
		port = l.Addr().(*net.TCPAddr).Port
	}
	page := viewer.New(viewer.Config{
		Computer: newViewers(table, o.Logger), Name: "Computer", Key: identity.ViewerKey, Expiry: control.Expiry,
		Port: port, Logger: o.Logger,
	})
	if !page.Complete() {
		o.Logger.Warn("the viewer page was left out of this build")
	}
	return func(ctx context.Context) error { return page.Serve(ctx, l) }, nil
}

// Sessions lists the live sessions and then the screens that outlived theirs.
func (v *viewers) Sessions() []viewer.Session {
	var list []viewer.Session
	live := make(map[int]bool)
	for _, s := range v.table.Sessions() {
		live[s.Screen] = true
		list = append(list, v.describe(s, viewer.Live))
	}
	for _, d := range v.table.Desktops() {
		if n := d.Screen.Number(); !live[n] {
			list = append(list, v.describe(api.Session{Title: d.Title, Screen: n, StartedAt: d.Started}, viewer.Ended))
		}
	}
	return list
}

func (v *viewers) describe(s api.Session, state viewer.State) viewer.Session {
	out := viewer.Session{
		// Not the session's id, which is for those who act for it.
		ID:    strconv.FormatInt(s.StartedAt.UnixNano(), 36),
		Title: s.Title, State: state, StartedAt: s.StartedAt, Control: viewer.Control{By: control.Nobody.String()},
	}
	d := v.table.Desktop(s.Screen)
	if d == nil {
		return out
	}
	out.Screen, out.Viewers = s.Screen, d.Watchers()
	d.Screen.Frame().Read(func(f frame.View) { out.Width, out.Height = f.Width, f.Height })
	out.LastAction, out.LastActionAt = d.LastAction()
	c := d.Control.State()
	out.Control = viewer.Control{By: c.Holder.String(), Name: c.Name, Since: c.Since}
	if c.Reason != "" {
		out.Request = &viewer.Request{Reason: c.Reason, At: c.AskedAt}
	}
	return out
}

// Wait is the table's.
func (v *viewers) Wait(ctx context.Context, since uint64) (uint64, error) {
	return v.table.Wait(ctx, since)
}

// Frame returns the picture of a screen, or nil.
func (v *viewers) Frame(screen int) *frame.Buffer {
	if d := v.table.Desktop(screen); d != nil {
		return d.Screen.Frame()
	}
	return nil
}

// Answer answers the agent at a screen.
func (v *viewers) Answer(screen int, a viewer.Answer) {
	if d := v.table.Desktop(screen); d != nil {
		d.Control.Answer(control.Outcome(a))
	}
}

// Sit takes a seat for a page.
func (v *viewers) Sit(screen int, peer string, told func(mine bool, why string)) (viewer.Seat, error) {
	s, err := v.sit(screen, peer)
	if err != nil {
		return nil, err
	}
	s.told = told
	return s, nil
}

// sit takes a seat, which its Serve gives up.
func (v *viewers) sit(screen int, peer string) (*seat, error) {
	d := v.table.Desktop(screen)
	if d == nil {
		return nil, errNotOpen(screen)
	}
	unwatch, ok := d.Watch()
	if !ok {
		return nil, errNotOpen(screen)
	}
	b, err := v.join(d)
	if err != nil {
		unwatch()
		return nil, err
	}
	return &seat{desktop: d, board: b, peer: peer, log: v.log.With("screen", screen), leave: func() {
		v.part(d)
		unwatch()
	}}, nil
}

func errNotOpen(screen int) error {
	return fmt.Errorf("screen %d is not open", screen)
}

// join counts one more at a desktop's board, which the first one sets up.
func (v *viewers) join(d *session.Desktop) (*board, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	b := v.boards[d]
	if b == nil {
		ctx, stop := context.WithCancel(context.Background())
		b = &board{screen: rfb.NewScreen(d.Screen.Frame(), d.Title), stop: stop}
		b.ended.Go(func() { b.announce(ctx, v.table, d) })
		b.ended.Go(func() { b.shareClipboard(ctx, d) })
		v.boards[d] = b
	}
	if b.seats == maxSeats {
		return nil, fmt.Errorf("%d viewers watch this screen already", maxSeats)
	}
	b.seats++
	return b, nil
}

// part takes one off the board. The last one takes it down.
func (v *viewers) part(d *session.Desktop) {
	v.mu.Lock()
	b := v.boards[d]
	b.seats--
	last := b.seats == 0
	if last {
		delete(v.boards, d)
	}
	v.mu.Unlock()
	if last {
		b.stop()
		b.ended.Wait()
	}
}

// announce keeps the screen's name, which VNC programs show above their picture, in line
// with who has control: it is how a person there learns that another has taken it.
func (b *board) announce(ctx context.Context, table *session.Table, d *session.Desktop) {
	var version uint64
	var err error
	for {
		if version, err = table.Wait(ctx, version); err != nil {
			return
		}
		name := fmt.Sprintf("%d: %s", d.Screen.Number(), d.Title)
		if c := d.Control.State(); c.Holder == control.Human {
			name += " (" + c.Name + " has control)"
		}
		b.screen.SetName(name)
	}
}

// shareClipboard tells those in control what programs on the screen copy.
func (b *board) shareClipboard(ctx context.Context, d *session.Desktop) {
	screen, ok := d.Screen.(withClipboard)
	for ok && ctx.Err() == nil {
		if clip, err := screen.Clipboard(); err == nil {
			b.follow(ctx, clip)
		}
		// The X server went away; there will be another one.
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// follow passes on each new text until ctx ends or the X server is gone.
func (b *board) follow(ctx context.Context, clip *input.Clipboard) {
	seen, err := clip.Wait(ctx, math.MaxUint64) // what is there already is no news
	for err == nil {
		if seen, err = clip.Wait(ctx, seen); err != nil {
			return
		}
		// What is not text is not for us.
		if text, err := clip.Get(ctx); err == nil {
			b.screen.SetClipboard(text)
		}
	}
}
