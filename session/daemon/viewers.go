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
	seats  int                // connections, logged in or not; guarded by viewers.mu
	stop   context.CancelFunc // ends the goroutines
	ended  sync.WaitGroup     // the goroutines
}

func newViewers(table *session.Table, log *slog.Logger) *viewers {
	return &viewers{table: table, log: log, boards: make(map[*session.Desktop]*board)}
}

// listen returns the viewer page, and what serves it, and VNC programs unless that is
// off. The ports are open when it returns.
func (v *viewers) listen(o Options, id identity) (serve []service, page *viewer.Server, err error) {
	l, err := net.Listen("tcp", o.ViewerListen)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for the viewer page: %v", err)
	}
	listens := l.Addr().(*net.TCPAddr)
	port := o.PortBase // as browsers see it
	if port == 0 {
		port = listens.Port
	}
	guard := new(rfb.Guard)
	page = viewer.New(viewer.Config{
		Computer: v, Name: "Computer", Key: id.ViewerKey, HomeID: id.HomeID, Expiry: control.Expiry, Guard: guard,
		Port: port, Logger: o.Logger,
	})
	if !page.Complete() {
		o.Logger.Warn("the viewer page was left out of this build")
	}
	serve = append(serve, func(ctx context.Context) error { return page.Serve(ctx, l) })
	if o.NativeViewers == NativeOff {
		return serve, page, nil
	}
	vnc, err := v.serveVNC(listens.IP.String(), listens.Port, id.ViewerKey, guard, o.NativeViewers)
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return append(serve, vnc), page, nil
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
	if state == viewer.Live && isDown(d) {
		out.State = viewer.Restarting
	}
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
	d, b, leave, err := v.enter(screen)
	if err != nil {
		return nil, err
	}
	return &seat{desktop: d, board: b, peer: peer, log: v.log.With("screen", screen), leave: leave, told: told}, nil
}

// enter makes one more person watch a screen, until leave is called.
func (v *viewers) enter(screen int) (d *session.Desktop, b *board, leave func(), err error) {
	d = v.table.Desktop(screen)
	if d == nil {
		return nil, nil, nil, errNotOpen(screen)
	}
	unwatch, ok := d.Watch()
	if !ok {
		return nil, nil, nil, errNotOpen(screen)
	}
	if b, err = v.join(d); err != nil {
		unwatch()
		return nil, nil, nil, err
	}
	return d, b, func() {
		v.part(d)
		unwatch()
	}, nil
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
		b.ended.Go(func() { b.showKeyboard(ctx, d) })
		v.boards[d] = b
	}
	// Who has not logged in takes no place, or it would be easy to keep others out.
	if len(b.screen.Viewers()) >= maxSeats {
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
	for ctx.Err() == nil {
		if clip, err := d.Screen.Clipboard(); err == nil {
			b.follow(ctx, clip)
		}
		pause(ctx)
	}
}

// pause is taken when an X server went away: there will be another one.
func pause(ctx context.Context) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
}

// showKeyboard tells the viewers of the keyboard's lights and of the bell.
func (b *board) showKeyboard(ctx context.Context, d *session.Desktop) {
	screen, ok := d.Screen.(withInput)
	if !ok {
		return
	}
	lights := func(caps, num, scroll bool) {
		var on rfb.LEDs
		for led, lit := range map[rfb.LEDs]bool{rfb.CapsLock: caps, rfb.NumLock: num, rfb.ScrollLock: scroll} {
			if lit {
				on |= led
			}
		}
		b.screen.SetLEDs(on)
	}
	for ctx.Err() == nil {
		if keyboard, err := screen.Input(); err == nil {
			_ = keyboard.Notice(ctx, lights, b.screen.Bell) // it ends with ctx or with the X server
		}
		pause(ctx)
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
