package settle

import (
	"context"
	"errors"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// busyPoll is how often announced work is looked at while it holds a verdict back. Its
// end has no event.
const busyPoll = 50 * time.Millisecond

// Action is what the screen is watched after.
type Action struct {
	Kind string // of package api's actions
	// ThenKeys says that the next action uses the keyboard.
	ThenKeys bool
}

// Baseline is the screen before an action.
type Baseline struct {
	Stamp frame.Stamp
	busy  bool
	hook  func() bool
}

// Look takes the baseline. busy, which may be nil, reports work that the screen does
// not show, such as a page that is loading.
func Look(buf *frame.Buffer, t *Tracker, busy func() bool) Baseline {
	b := Baseline{hook: busy}
	buf.Read(func(v frame.View) {
		b.Stamp = v.Stamp
		b.busy = busyName(v.Cursor.Name) || t.idle(v)
	})
	b.busy = b.busy || b.hooked()
	return b
}

func (b Baseline) hooked() bool { return b.hook != nil && b.hook() }

// Watch waits for the verdict on an action that has just ended and before which base
// was taken. It returns ctx's error when that ends the wait.
func Watch(ctx context.Context, buf *frame.Buffer, t *Tracker, a Action, base Baseline) (Verdict, error) {
	var (
		cells   frame.CellSet
		d       *Detector
		since   = base.Stamp
		pointer pointer
		poll    bool
	)
	look := func(v frame.View) {
		now := time.Now()
		if d == nil {
			d = t.begin(a, now, v.Bounds())
			d.wasBusy = base.busy
		}
		switch {
		case v.Stamp.Epoch != since.Epoch:
			d.Reset(v.Published, v.Bounds())
		case v.Stamp.Gen != since.Gen:
			v.Changed(since, &cells)
			d.Change(v.Published, &cells)
		}
		since = v.Stamp
		pointer.see(now, v.Cursor)
		poll = poll || pointer.animated(now)
		d.Busy(poll || busyName(v.Cursor.Name))
		d.OverText(overText(v.Cursor))
	}
	for {
		poll = base.hooked()
		buf.Read(look)
		now := time.Now()
		if v, ok := d.Verdict(now); ok {
			return t.end(a, now, since, d.busy, v), nil
		}
		next := d.Next(now)
		if poll {
			next = now.Add(min(busyPoll, next.Sub(now)))
		}
		if err := sleep(ctx, buf, since, next); err != nil {
			return Verdict{}, err
		}
	}
}

// sleep returns at the next publication after since, or at a time.
func sleep(ctx context.Context, buf *frame.Buffer, since frame.Stamp, until time.Time) error {
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	_, err := buf.Wait(wait, since)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}
