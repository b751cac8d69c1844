package rfb

import (
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

const (
	// restTime is how long the screen has to be at rest before what JPEG blurred is
	// sent again exactly. Pages that change twice a second are not worth it.
	restTime = 600 * time.Millisecond
	// partRestTime is how long a part has to be at rest while others change: what a
	// dragged window uncovers, it often covers soon.
	partRestTime = 1500 * time.Millisecond
	// restStep is how exactly these are kept.
	restStep = 50 * time.Millisecond
	// refreshPixels bounds such an update, so that it holds up no real change.
	refreshPixels = 64 << 10
)

// rests remembers which state of the screen the viewer had when, as far back as
// partRestTime. What did not change since the state of that time is at rest.
type rests []rest

type rest struct {
	at    time.Time
	stamp frame.Stamp
}

// note remembers that the viewer has a state now.
func (r *rests) note(now time.Time, stamp frame.Stamp) {
	list := *r
	if n := len(list); n > 0 && (list[n-1].stamp == stamp || now.Sub(list[n-1].at) < restStep) {
		return
	}
	*r = append(list, rest{now, stamp})
}

// before returns the newest state that the viewer had at a time, and forgets older
// ones.
func (r *rests) before(t time.Time) (frame.Stamp, bool) {
	list := *r
	n := 0
	for n+1 < len(list) && !list[n+1].at.After(t) {
		n++
	}
	list = append(list[:0], list[n:]...)
	*r = list
	if len(list) == 0 || list[0].at.After(t) {
		return frame.Stamp{}, false
	}
	return list[0].stamp, true
}

// rested returns the state since which a part that did not change is at rest.
func (r *rests) rested(now time.Time, present frame.Stamp) (frame.Stamp, bool) {
	last := (*r)[len(*r)-1]
	if last.stamp == present && now.Sub(last.at) >= restTime {
		return present, true
	}
	return r.before(now.Add(-partRestTime))
}

// next tells when rested will have another answer, or when the present state can be
// noted; zero when the present one is at rest.
func (r rests) next(now time.Time, present frame.Stamp) time.Time {
	last := r[len(r)-1]
	due := now.Add(restStep)
	if last.stamp == present {
		if due = last.at.Add(restTime); !due.After(now) {
			return time.Time{}
		}
	}
	for _, e := range r {
		if at := e.at.Add(partRestTime); at.After(now) && at.Before(due) {
			return at
		}
	}
	return due
}

// refresh sends parts of the screen exactly that the viewer has from JPEG and that
// are at rest. It returns when there may be more of them; zero means when the
// picture changes.
func (u *updater) refresh() (time.Time, error) {
	w := u.w
	if w.lossy.Empty() {
		w.rests = w.rests[:0]
		return time.Time{}, nil
	}
	now := time.Now()
	present := frame.Stamp{Epoch: w.seen.Epoch, Gen: w.seen.Gen}
	w.rests.note(now, present)
	rested, ok := w.rests.rested(now, present)
	if !ok {
		return w.rests.next(now, present), nil
	}
	u.takeRested(rested)
	settings := w.settings.settings
	settings.JPEG = encode.JPEG{}
	err := u.rectangles(w.planner.Cover(&w.dirty), settings)
	return w.rests.next(now, present), err
}

// takeRested moves lossy cells that did not change since rested to dirty, as many
// as a refresh may have.
func (u *updater) takeRested(rested frame.Stamp) {
	w := u.w
	w.dirty.Resize(w.width, w.height)
	fits := false
	u.conn.cfg.Screen.frame.Read(func(v frame.View) {
		v.Changed(rested, &w.changed)
		fits = v.Width == w.width && v.Height == w.height
	})
	if !fits {
		return
	}
	const n = frame.CellSize
	left := refreshPixels / (n * n)
	cols, rows := w.lossy.Size()
	for cy := 0; cy < rows && left > 0; cy++ {
		for cx := 0; cx < cols && left > 0; cx++ {
			if w.lossy.Has(cx, cy) && !w.changed.Has(cx, cy) {
				cell := image.Rect(cx*n, cy*n, cx*n+1, cy*n+1)
				w.dirty.AddRect(cell)
				w.lossy.RemoveRect(cell)
				left--
			}
		}
	}
}
