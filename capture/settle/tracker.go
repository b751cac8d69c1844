package settle

import (
	"image"
	"slices"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// What a Tracker remembers, and for how long.
const (
	DefaultAutoIgnore = 30 * time.Second // how long a region that keeps moving is left out

	forgetRegion = 10 * time.Minute // after which such a region must prove itself again
	bailsNeeded  = 2                // consecutive bails that make a region ignored

	minSamples   = 5 // waits of a kind before its cap is learned
	keepSamples  = 50
	minLearned   = time.Second
	learnedTimes = 3 // times the 95th percentile
)

// Tracker is what one session knows about its screen from one action to the next. Its
// methods are safe for concurrent use; only one Watch at a time may use it.
type Tracker struct {
	mu         sync.Mutex
	pinned     Pinned
	ignore     []image.Rectangle
	autoIgnore time.Duration
	regions    []region                   // that bailed, youngest last
	carets     carets                     // also used by the one wait's Detector
	book       map[string][]time.Duration // waits by kind, oldest first
	rested     frame.Stamp                // at the end of the last wait, until the next look; else zero
	busy       bool                       // at the end of the last wait
}

// Pinned holds the values that the agent has set. They win over defaults and over
// what was learned. Nil is not set.
type Pinned struct {
	Quiet, React, MaxWait, ResidualBail *time.Duration
}

// region is a part of the screen where a wait gave up.
type region struct {
	bounds image.Rectangle
	bails  int // consecutive
	last   time.Time
	until  time.Time // ignored until then; zero when it never was
}

// NewTracker returns a Tracker that leaves out regions for autoIgnore after they proved
// restless; 0 never does.
func NewTracker(autoIgnore time.Duration) *Tracker {
	return &Tracker{autoIgnore: autoIgnore, book: make(map[string][]time.Duration)}
}

// Pin sets the values that are not nil in p and leaves the others as they are.
func (t *Tracker) Pin(p Pinned) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range []struct{ to, from **time.Duration }{
		{&t.pinned.Quiet, &p.Quiet},
		{&t.pinned.React, &p.React},
		{&t.pinned.MaxWait, &p.MaxWait},
		{&t.pinned.ResidualBail, &p.ResidualBail},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
}

// Ignore replaces the regions that the agent wants left out. An empty list also
// forgets those that were found automatically.
func (t *Tracker) Ignore(regions []image.Rectangle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ignore = slices.Clone(regions)
	if len(regions) == 0 {
		t.regions = nil
	}
}

// State is a copy of what a Tracker holds, for people and models.
type State struct {
	Config      Config // for an action without defaults of its own
	Pinned      Pinned
	Ignore      []image.Rectangle
	AutoIgnored []image.Rectangle
}

// State returns what is in force at a time.
func (t *Tracker) State(now time.Time) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return State{
		Config: t.config(Action{}), Pinned: t.pinned,
		Ignore: slices.Clone(t.ignore), AutoIgnored: t.ignored(now),
	}
}

// Changed bounds what changed after since, apart from what is left out at a time and from
// carets. It must not be called during a Watch.
func (t *Tracker) Changed(now time.Time, v frame.View, since frame.Stamp) image.Rectangle {
	t.mu.Lock()
	defer t.mu.Unlock()
	cells := t.changed(now, v, since)
	t.carets.remove(cells)
	return cells.Bounds()
}

// changed returns the cells that changed after since and are not left out at a time. The
// caller holds mu.
func (t *Tracker) changed(now time.Time, v frame.View, since frame.Stamp) *frame.CellSet {
	cells := new(frame.CellSet)
	v.Changed(since, cells)
	for _, r := range append(t.ignored(now), t.ignore...) {
		cells.RemoveRect(r)
	}
	return cells
}

// idle looks at the screen at a time before an action: what has changed since the last
// wait, the screen did by itself. It reports whether that wait ended with announced work.
func (t *Tracker) idle(now time.Time, v frame.View) (busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rested.Epoch == v.Stamp.Epoch && t.rested.Gen != v.Stamp.Gen {
		if cells := t.changed(now, v, t.rested); cells.Count() < ActiveCells {
			t.carets.seenIdle(v.Published, cells.Bounds())
		}
	}
	t.rested = frame.Stamp{}
	return t.busy
}

// begin returns a Detector for an action that has ended now. The detector shares the
// Tracker's memory of carets: one wait at a time.
func (t *Tracker) begin(a Action, now time.Time, screen image.Rectangle) *Detector {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := NewDetector(t.config(a), now, screen, append(slices.Clone(t.ignore), t.ignored(now)...))
	d.carets = &t.carets
	return d
}

// end records a verdict and the screen that it is about, and returns it completed:
// whether its region is left out from now on.
func (t *Tracker) end(a Action, now time.Time, screen frame.Stamp, busy bool, v Verdict) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rested, t.busy = screen, busy
	switch v.Outcome {
	case Residual:
		v.Ignored = t.bail(now, v.Region)
	case Settled, Timeout:
		t.learn(a.Kind, v.Waited)
		t.calm(now)
	case NoReaction:
		t.calm(now)
	}
	return v
}

// config applies the order of precedence: pinned, then by action, then learned, which
// touches only MaxWait. The caller holds mu.
func (t *Tracker) config(a Action) Config {
	c := Defaults(a)
	if learned, ok := t.learned(a.Kind); ok {
		c.MaxWait = min(c.MaxWait, learned)
	}
	for _, f := range []struct {
		value  *time.Duration
		pinned *time.Duration
	}{
		{&c.Quiet, t.pinned.Quiet},
		{&c.React, t.pinned.React},
		{&c.MaxWait, t.pinned.MaxWait},
		{&c.ResidualBail, t.pinned.ResidualBail},
	} {
		if f.pinned != nil {
			*f.value = *f.pinned
		}
	}
	if t.pinned.React != nil {
		c.Handover = min(c.Handover, c.React) // both are patience with a late reaction
	}
	c.Handover = min(c.Handover, c.MaxWait)
	return c
}

func (t *Tracker) learn(kind string, waited time.Duration) {
	b := append(t.book[kind], waited)
	t.book[kind] = b[max(0, len(b)-keepSamples):]
}

// learned returns the cap for a kind, once enough of its waits are known.
func (t *Tracker) learned(kind string) (time.Duration, bool) {
	b := slices.Clone(t.book[kind])
	if len(b) < minSamples {
		return 0, false
	}
	slices.Sort(b)
	p95 := b[(len(b)*95+99)/100-1]
	return max(minLearned, learnedTimes*p95), true
}

// ignored returns the regions that are left out at a time. The caller holds mu.
func (t *Tracker) ignored(now time.Time) []image.Rectangle {
	var out []image.Rectangle
	for _, r := range t.regions {
		if now.Before(r.until) {
			out = append(out, r.bounds)
		}
	}
	return out
}

// bail records that a wait gave up on a region and reports whether it is ignored from
// now on. A region that was ignored before is again at its first bail.
func (t *Tracker) bail(now time.Time, bounds image.Rectangle) bool {
	t.regions = slices.DeleteFunc(t.regions, func(r region) bool { return now.Sub(r.last) > forgetRegion })
	i := slices.IndexFunc(t.regions, func(r region) bool { return r.bounds.Overlaps(bounds) })
	if i < 0 {
		t.regions = append(t.regions, region{})
		i = len(t.regions) - 1
	}
	r := &t.regions[i]
	r.bounds = r.bounds.Union(bounds)
	r.bails++
	r.last = now
	if t.autoIgnore <= 0 || (r.bails < bailsNeeded && r.until.IsZero()) {
		return false
	}
	r.until = now.Add(t.autoIgnore)
	return true
}

// calm ends the runs of consecutive bails of regions that are not ignored.
func (t *Tracker) calm(now time.Time) {
	for i := range t.regions {
		if !now.Before(t.regions[i].until) {
			t.regions[i].bails = 0
		}
	}
}
