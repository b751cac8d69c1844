// Package settle decides when a screen has reacted to an action and come to rest.
//
// The rules are a pure function of changed cells and time: a [Detector] is told what
// changed and when, and answers with a [Verdict] once the rules allow one. Nothing in
// it reads a clock or a screen, so its tests run in virtual time. [Watch], after an
// action, and [Rest] drive one from a frame.Buffer: they sleep until a publication or the
// next moment at which the answer can change, and so cost nothing while the screen is
// still.
//
// A [Tracker] keeps what outlives one action: the values that the agent has pinned,
// regions that never stop moving, carets, and how long actions of each kind take. It is
// told the time too.
//
// In short: a change of at least [ReactCells] cells is a reaction; changes of fewer than
// [ActiveCells] cells do not keep the screen from being still; after the reaction the
// screen must rest for Quiet. Without a reaction within React there was none. Motion
// that stays inside a part of the screen is left alone after ResidualBail. Announced work
// and the Handover from the mouse to the keyboard hold a verdict back, and MaxWait ends
// every wait.
package settle

import (
	"image"
	"time"
)

// Sizes that decide what a change means.
const (
	ReactCells    = 2    // this many changed cells are a reaction
	ActiveCells   = 8    // this many changed cells at once are activity, by default
	ConfinedShare = 0.35 // of the screen: motion within less is a residual region
)

// Config holds the rules of one wait.
type Config struct {
	Quiet        time.Duration // how long the screen must rest
	React        time.Duration // how long to wait for a first change
	MaxWait      time.Duration // the end of every wait
	ResidualBail time.Duration // when confined motion is left alone
	// Handover is the least time from a click to keys that follow it, unless the
	// pointer is over text. What the click brings up for the keys may come late, and
	// the look of the clicked button is not yet it.
	Handover time.Duration
	// ActiveCells is how many cells that change at once keep the screen from being
	// still.
	ActiveCells int
	// Region is the part of the screen that counts, in pixels; empty is all of it.
	Region image.Rectangle
}

// handover is what people need at least to get from the mouse to the keyboard, so
// interfaces that are used by people are ready by then.
const handover = time.Second

// Defaults returns the rules for an action, before pinned and learned values.
func Defaults(a Action) Config {
	c := Config{
		Quiet:        200 * time.Millisecond,
		React:        300 * time.Millisecond,
		MaxWait:      8 * time.Second,
		ResidualBail: 1500 * time.Millisecond,
		ActiveCells:  ActiveCells,
	}
	switch a.Kind {
	case "click":
		if a.ThenKeys {
			c.Handover = handover
		}
	case "type":
		// Nearly all text shows. A page that works some 10 ms for each key shows a
		// sentence of 50 characters 600 to 800 ms after the last one.
		c.React = 800 * time.Millisecond
		if !a.Pictured { // a piece of the text is as good as all of it where nobody looks
			c.Quiet = 120 * time.Millisecond
		}
	case "scroll":
		c.Quiet = 150 * time.Millisecond
	case "move": // most pointer motion changes nothing
		c.React = 200 * time.Millisecond
	}
	return c
}

// Outcome is the kind of a Verdict.
type Outcome string

// The outcomes. Their names are the wire's.
const (
	Settled    Outcome = "settled"     // reacted, then rested
	NoReaction Outcome = "no_reaction" // nothing changed within React
	Residual   Outcome = "residual"    // at rest but for Region, which keeps moving
	Timeout    Outcome = "timeout"     // still changing at MaxWait
)

// Verdict is the answer of one wait.
type Verdict struct {
	Outcome Outcome
	Reacted bool
	Waited  time.Duration // from the end of the action
	// Region bounds what still moved (Residual, Timeout) or everything that changed
	// (Settled), in screen pixels; empty when nothing did.
	Region image.Rectangle
	// Ignored says that Region is left out of account from now on (see Tracker).
	Ignored bool
	// Busy says that the application was still announcing work at a Timeout.
	Busy bool
}
