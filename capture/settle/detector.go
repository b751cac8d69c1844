package settle

import (
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// motionWindow is how far back motion counts towards the region that keeps moving.
const motionWindow = time.Second

// Detector watches the effect of one action. Its methods are the stimuli: Change,
// Reset, Busy and OverText tell it what happened, in order of time; Verdict asks. It is
// not safe for concurrent use.
type Detector struct {
	cfg    Config
	start  time.Time // the end of the action
	screen image.Rectangle
	ignore []image.Rectangle
	carets *carets // known to the Tracker, or nil

	reacted bool
	all     image.Rectangle // bounds of everything that changed
	active  time.Time       // the last reaction or activity
	motion  []motion        // activity of the last motionWindow

	busy     bool
	wasBusy  bool // without a break since before the action
	overText bool
}

type motion struct {
	at     time.Time
	bounds image.Rectangle
}

// NewDetector starts a wait at the end of an action, on a screen of the given bounds.
// Changes inside ignore count for nothing.
func NewDetector(cfg Config, start time.Time, screen image.Rectangle, ignore []image.Rectangle) *Detector {
	return &Detector{cfg: cfg, start: start, screen: screen, ignore: ignore}
}

// Change tells of cells that changed at a time. It takes those that do not count out of
// the set.
func (d *Detector) Change(at time.Time, cells *frame.CellSet) {
	if !d.cfg.Region.Empty() {
		cells.KeepRect(d.cfg.Region)
	}
	for _, r := range d.ignore {
		cells.RemoveRect(r)
	}
	n := cells.Count()
	if n == 0 {
		return
	}
	bounds := cells.Bounds()
	if n < ActiveCells && d.carets != nil && d.carets.seen(at, bounds, d.start) {
		return
	}
	if n < ReactCells && !d.reacted {
		return
	}
	d.all = d.all.Union(bounds)
	if d.reacted && n < d.cfg.ActiveCells {
		return
	}
	d.reacted = true
	d.active = at
	d.motion = append(d.motion, motion{at, bounds})
	d.forget(at)
}

// Reset tells that the screen began anew at a time: another size, or a new X server.
func (d *Detector) Reset(at time.Time, screen image.Rectangle) {
	d.screen = screen
	d.reacted = true
	d.all = screen
	d.active = at
	d.motion = append(d.motion[:0], motion{at, screen})
}

// Busy tells whether the application announces work: a busy pointer, a loading page.
func (d *Detector) Busy(busy bool) {
	d.busy = busy
	d.wasBusy = d.wasBusy && busy
}

// OverText tells whether the pointer is over text that takes the keyboard.
func (d *Detector) OverText(is bool) { d.overText = is }

// forget drops motion that is older than the window.
func (d *Detector) forget(now time.Time) {
	i := 0
	for i < len(d.motion) && now.Sub(d.motion[i].at) > motionWindow {
		i++
	}
	d.motion = append(d.motion[:0], d.motion[i:]...)
}

// Verdict returns the answer at a time, and whether the rules allow one yet. When
// they do not, Next says when to ask again if nothing happens.
func (d *Detector) Verdict(now time.Time) (Verdict, bool) {
	v := Verdict{Reacted: d.reacted, Waited: now.Sub(d.start), Region: d.all}
	switch {
	case v.Waited >= d.cfg.MaxWait && (!d.still(now) || d.held(now)):
		v.Outcome, v.Region, v.Busy = Timeout, d.Moving(now), d.busy
	case d.held(now):
		return Verdict{}, false
	case d.reacted && d.still(now):
		v.Outcome = Settled
	case !d.reacted && v.Waited >= min(d.cfg.React, d.cfg.MaxWait):
		v.Outcome = NoReaction
	case v.Waited >= d.cfg.ResidualBail && d.confined(now):
		v.Outcome, v.Region = Residual, d.Moving(now)
	default:
		return Verdict{}, false
	}
	return v, true
}

// Next returns the earliest time after now at which Verdict can answer otherwise
// without a further stimulus.
func (d *Detector) Next(now time.Time) time.Time {
	next := d.start.Add(d.cfg.MaxWait)
	earlier := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	earlier(d.start.Add(d.cfg.ResidualBail))
	if d.reacted {
		earlier(d.active.Add(d.cfg.Quiet))
	} else {
		earlier(d.start.Add(d.cfg.React))
	}
	earlier(d.start.Add(d.cfg.Handover))
	// Motion leaves the window by itself, which may make the rest confined.
	for _, m := range d.motion {
		earlier(m.at.Add(motionWindow + 1))
	}
	return next
}

// still reports whether nothing of size moved for the quiet time.
func (d *Detector) still(now time.Time) bool {
	return !d.reacted || now.Sub(d.active) >= d.cfg.Quiet
}

// held reports whether more is expected than the screen shows. Work that was announced
// before the action is believed only for the residual time: something that is always
// busy must not slow every action down.
func (d *Detector) held(now time.Time) bool {
	waited := now.Sub(d.start)
	busy := d.busy && (!d.wasBusy || waited < d.cfg.ResidualBail)
	return busy || !d.overText && waited < d.cfg.Handover
}

// confined reports whether something keeps moving inside a small part of the screen.
func (d *Detector) confined(now time.Time) bool {
	m := d.Moving(now)
	return len(d.motion) > 1 && float64(m.Dx()*m.Dy()) <= ConfinedShare*float64(d.screen.Dx()*d.screen.Dy())
}

// Moving bounds what moved within the last second.
func (d *Detector) Moving(now time.Time) image.Rectangle {
	d.forget(now)
	var r image.Rectangle
	for _, m := range d.motion {
		r = r.Union(m.bounds)
	}
	return r
}
