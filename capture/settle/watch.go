package settle

import (
	"context"
	"errors"
	"image"
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
	// Pictured says that a picture follows.
	Pictured bool
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
		b.busy = busyName(v.Cursor.Name) || t.idle(time.Now(), v)
	})
	b.busy = b.busy || b.hooked()
	return b
}

func (b Baseline) hooked() bool { return b.hook != nil && b.hook() }

// Watch waits for the verdict on an action that has just ended and before which base
// was taken. It returns ctx's error when that ends the wait.
func Watch(ctx context.Context, buf *frame.Buffer, t *Tracker, a Action, base Baseline) (Verdict, error) {
	_, screen := present(buf)
	d := t.begin(a, time.Now(), screen)
	d.wasBusy = base.busy
	var pointer pointer
	v, stamp, err := drive(ctx, buf, d, base.Stamp, func(now time.Time, c frame.Cursor) (poll bool) {
		pointer.see(now, c)
		poll = base.hooked() || pointer.animated(now)
		d.Busy(poll || busyName(c.Name))
		d.OverText(overText(c))
		return poll
	})
	if err != nil {
		return Verdict{}, err
	}
	return t.end(a, time.Now(), stamp, d.busy, v), nil
}

// Rest waits until the screen has rested for c.Quiet, and returns the part that changed
// before. Unlike Watch it expects no reaction, has no end of its own, and leaves out
// nothing that keeps moving but for what is inside ignore; of c it also takes ActiveCells
// and Region. When ctx ends, it returns the part that still moves with ctx's error.
func Rest(ctx context.Context, buf *frame.Buffer, c Config, ignore []image.Rectangle) (image.Rectangle, error) {
	// A Detector takes a screen without reaction for one that rests once the time for
	// reactions is over.
	const never = 24 * time.Hour
	c.React, c.MaxWait, c.ResidualBail, c.Handover = c.Quiet, never, never, 0
	stamp, screen := present(buf)
	d := NewDetector(c, time.Now(), screen, ignore)
	v, _, err := drive(ctx, buf, d, stamp, nil)
	if err != nil {
		return d.Moving(time.Now()), err
	}
	return v.Region, nil
}

// present returns what is on the screen and how large that is.
func present(buf *frame.Buffer) (stamp frame.Stamp, screen image.Rectangle) {
	buf.Read(func(v frame.View) { stamp, screen = v.Stamp, v.Bounds() })
	return stamp, screen
}

// drive tells d what has changed on the screen after since and what changes, until the
// rules allow a verdict, which it returns with the screen that it is about. heed, which
// may be nil, looks at what cells do not show, each time before d is asked; it reports
// whether that may change soon without a publication. The error is ctx's.
func drive(ctx context.Context, buf *frame.Buffer, d *Detector, since frame.Stamp, heed func(time.Time, frame.Cursor) (poll bool)) (Verdict, frame.Stamp, error) {
	var (
		cells  frame.CellSet
		cursor frame.Cursor
	)
	look := func(v frame.View) {
		switch {
		case v.Stamp.Epoch != since.Epoch:
			d.Reset(v.Published, v.Bounds())
		case v.Stamp.Gen != since.Gen:
			v.Changed(since, &cells)
			d.Change(v.Published, &cells)
		}
		since, cursor = v.Stamp, v.Cursor
	}
	for {
		buf.Read(look)
		now := time.Now()
		poll := heed != nil && heed(now, cursor)
		if v, ok := d.Verdict(now); ok {
			return v, since, nil
		}
		next := d.Next(now)
		if poll {
			next = now.Add(min(busyPoll, next.Sub(now)))
		}
		if err := sleep(ctx, buf, since, next); err != nil {
			return Verdict{}, since, err
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
