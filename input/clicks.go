package input

import (
	"context"
	"image"
	"sync"
	"time"
)

const (
	// clickGap is the time between the clicks of a double click. Chromium takes clicks
	// of the same millisecond for one.
	clickGap = 30 * time.Millisecond
	// doubleTime is how long after a press another one is the second of a double click:
	// 500 ms in Chromium, 400 in GTK and Qt. They count whole milliseconds.
	doubleTime = 510 * time.Millisecond
	// tripleTime is how long after a double click one more press makes a triple click:
	// GTK 3 waits for that twice as long.
	tripleTime = 810 * time.Millisecond
	// doubleDistance is how far from the first press, in each direction, the second may
	// be: 5 pixels in GTK and Qt, 2 in Chromium, and all of them twice as much where they
	// draw at twice the size.
	doubleDistance = 10
)

// clicks remembers the last press of an agent. What comes next is kept apart from it, as
// programs would take two clicks for a double one. The time has to pass for that: there is
// no motion that all of them take for the end of a click.
type clicks struct {
	mu      sync.Mutex
	pointer image.Point // guarded by mu
	button  int         // guarded by mu; the one that was pressed, 0 for none
	at      image.Point // guarded by mu; where
	until   time.Time   // guarded by mu; how long a press at the same place counts with it
}

// moved notes where the pointer is.
func (c *clicks) moved(to image.Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pointer = to
}

// note notes a press where the pointer is, the count-th of one click.
func (c *clicks) note(button, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := doubleTime
	if count > 1 {
		d = tripleTime
	}
	c.button, c.at, c.until = button, c.pointer, time.Now().Add(d)
}

// apart returns when a press of a button at a place, nil for where the pointer is, counts
// as the first.
func (c *clicks) apart(ctx context.Context, button int, place *image.Point) error {
	c.mu.Lock()
	if place == nil {
		place = &c.pointer
	}
	away := place.Sub(c.at)
	var d time.Duration
	if button == c.button && max(away.X, -away.X, away.Y, -away.Y) <= doubleDistance {
		d = time.Until(c.until)
	}
	c.mu.Unlock()
	return wait(ctx, d)
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
