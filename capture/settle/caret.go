package settle

import (
	"image"
	"slices"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// A caret is told from a reaction by its size and its period: a thin, small change,
// alone, that came back at the same place at a blink's distance before.
const (
	caretWidth   = 2 * frame.CellSize // a thin line may cross one cell border
	caretHeight  = 6 * frame.CellSize
	caretPeriod  = 250 * time.Millisecond // shorter is an animation
	caretMemory  = time.Minute
	caretsKept   = 16
	blinksNeeded = 2 // earlier changes at the same place
)

// carets remembers small changes by place.
type carets []caret

type caret struct {
	bounds image.Rectangle
	blinks int
	last   time.Time
}

// seen records a small change and reports whether it is the blink of a known caret.
func (c *carets) seen(at time.Time, r image.Rectangle) bool {
	if r.Dx() > caretWidth || r.Dy() > caretHeight {
		return false
	}
	*c = slices.DeleteFunc(*c, func(k caret) bool { return at.Sub(k.last) > caretMemory })
	i := slices.IndexFunc(*c, func(k caret) bool { return k.bounds == r })
	if i < 0 {
		if len(*c) == caretsKept {
			*c = slices.Delete(*c, 0, 1)
		}
		*c = append(*c, caret{bounds: r, last: at})
		return false
	}
	k := &(*c)[i]
	if at.Sub(k.last) < caretPeriod {
		k.blinks, k.last = 0, at
		return false
	}
	k.last = at
	k.blinks++
	return k.blinks >= blinksNeeded
}
