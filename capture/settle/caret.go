package settle

import (
	"image"
	"slices"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// A caret is told from a reaction by its size and its period: a thin, small change,
// alone, that comes again at the same place without an action that would explain it.
const (
	caretWidth   = 2 * frame.CellSize // a thin line may cross one cell border
	caretHeight  = 6 * frame.CellSize
	caretPeriod  = 250 * time.Millisecond // shorter is an animation
	caretMemory  = time.Minute
	caretsKept   = 16
	blinksNeeded = 2
)

// Thin reports whether a change is no larger than the blink of a caret.
func Thin(r image.Rectangle) bool { return r.Dx() <= caretWidth && r.Dy() <= caretHeight }

// carets remembers thin changes by place.
type carets []caret

type caret struct {
	bounds image.Rectangle
	blinks int // changes that no action explains
	last   time.Time
}

// seen records a change at a time, the last action before which ended at action, and
// reports whether it is the blink of a known caret. An action explains the first change
// at a place after it: a digit beside a button changes with every click.
func (c *carets) seen(at time.Time, r image.Rectangle, action time.Time) bool {
	return c.record(at, r, func(k caret) bool { return k.last.After(action) })
}

// seenIdle records a change between two actions.
func (c *carets) seenIdle(at time.Time, r image.Rectangle) {
	c.record(at, r, func(caret) bool { return true })
}

func (c *carets) record(at time.Time, r image.Rectangle, blinked func(caret) bool) bool {
	if r.Empty() || !Thin(r) {
		return false
	}
	*c = slices.DeleteFunc(*c, func(k caret) bool { return at.Sub(k.last) > caretMemory })
	i := slices.IndexFunc(*c, func(k caret) bool { return k.bounds == r })
	if i < 0 {
		if len(*c) == caretsKept {
			*c = slices.Delete(*c, 0, 1)
		}
		i = len(*c)
		*c = append(*c, caret{bounds: r})
	}
	k := &(*c)[i]
	switch {
	case !k.last.IsZero() && at.Sub(k.last) < caretPeriod:
		k.blinks = 0
	case blinked(*k):
		k.blinks++
	}
	k.last = at
	return k.blinks >= blinksNeeded
}

// remove takes the known carets out of a set of changed cells.
func (c carets) remove(cells *frame.CellSet) {
	for _, k := range c {
		if k.blinks >= blinksNeeded {
			cells.RemoveRect(k.bounds)
		}
	}
}
