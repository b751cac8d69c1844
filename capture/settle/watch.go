package settle

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// busyPoll is how often a busy function is asked while it holds a verdict back. There
// is no event for it.
const busyPoll = 50 * time.Millisecond

// Baseline is the screen before an action.
type Baseline struct {
	stamp frame.Stamp
	busy  bool
	hook  func() bool
}

// Look takes the baseline. busy, which may be nil, reports work that the screen does
// not show, such as a page that is loading.
func Look(buf *frame.Buffer, busy func() bool) Baseline {
	b := Baseline{hook: busy}
	buf.Read(func(v frame.View) {
		b.stamp, b.busy = v.Stamp, busyCursor(v.Cursor.Name)
	})
	b.busy = b.busy || b.hooked()
	return b
}

func (b Baseline) hooked() bool { return b.hook != nil && b.hook() }

// Watch waits for the verdict on an action of the given kind that has just ended and
// before which base was taken. It returns ctx's error when that ends the wait.
func Watch(ctx context.Context, buf *frame.Buffer, t *Tracker, kind string, base Baseline) (Verdict, error) {
	var (
		cells  frame.CellSet
		d      *Detector
		since  = base.stamp
		hooked bool
	)
	look := func(v frame.View) {
		if d == nil {
			d = t.begin(kind, time.Now(), v.Bounds())
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
		d.Busy(hooked || busyCursor(v.Cursor.Name))
	}
	for {
		hooked = base.hooked()
		buf.Read(look)
		now := time.Now()
		if v, ok := d.Verdict(now); ok {
			return t.end(kind, now, v), nil
		}
		next := d.Next(now)
		if hooked {
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

// busyCursor reports whether a cursor name announces work.
func busyCursor(name string) bool {
	switch name {
	case "watch", "wait", "progress", "left_ptr_watch", "half-busy":
		return true
	}
	return strings.HasSuffix(name, "_watch")
}
