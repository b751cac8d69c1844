package rfb

import (
	"context"
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// sendSize is how much is written at once. The viewer has stallTimeout to take it.
const sendSize = 64 << 10

// writerState is what only the writer touches: above all, what picture the viewer
// has.
type writerState struct {
	out []byte // bytes on their way to the transport

	width, height int           // as the viewer knows them
	seen          frame.Stamp   // the viewer has this state, but for owed
	owed          frame.CellSet // cells whose newest pixels the viewer lacks
	lossy         frame.CellSet // cells that JPEG made inexact
	rests         rests

	owing bool            // a request waits for an answer
	area  image.Rectangle // where

	layout      bool     // the size is to be told
	answers     []uint16 // to SetDesktopSize, to be told with the size
	layoutTold  bool     // the last update told only the size
	name        string   // as told last
	leds        LEDs     // as told last
	ledsTold    bool
	keysTold    bool
	buttonsTold bool
	cursor      shownCursor

	settings viewerSettings
	joined   bool // settings are counted in the screen's pictures
	encoders map[encode.Settings]*encode.Encoder
	batch    encode.Batch
	streams  encode.Streams

	// Working memory.
	planner encode.Planner
	changed frame.CellSet
	dirty   frame.CellSet
	overlay []uint32 // pixels with the cursor painted in
	rects   []image.Rectangle
}

// resize fits the state to a new size, of which the viewer has nothing yet.
func (w *writerState) resize(width, height int) {
	w.width, w.height = width, height
	w.owed.Resize(width, height)
	w.owed.AddRect(w.bounds())
	w.lossy.Resize(width, height)
}

func (w *writerState) bounds() image.Rectangle { return image.Rect(0, 0, w.width, w.height) }

// write sends what the viewer is to get until the connection ends.
func (c *Conn) write(ctx context.Context) error {
	for {
		want := c.takeWants()
		if err := c.send(want.outbox); err != nil {
			return err
		}
		next, err := c.update(&want)
		if err != nil {
			return err
		}
		if next.sent {
			continue
		}
		if err := c.sleep(ctx, next); err != nil {
			return err
		}
	}
}

// takeWants takes over what the reader has noted since the last time.
func (c *Conn) takeWants() wants {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news = false
	want := c.want
	c.want.errands = errands{}
	want.outbox = append(want.outbox, want.clipboard...)
	want.flowing = c.flow.open()
	c.drained.Broadcast()
	return want
}

// send writes bytes and takes no longer than the viewer may.
func (c *Conn) send(b []byte) error {
	for len(b) > 0 {
		c.mustTake(time.Now().Add(stallTimeout))
		n, err := c.rwc.Write(b[:min(len(b), sendSize)])
		c.mustTake(time.Time{})
		c.sent.Add(int64(n))
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// mustTake notes when the viewer must have taken what is being written, or that it
// has. The timer is left to itself once it runs: to set and stop one for each update
// wakes a thread of the runtime each time.
func (c *Conn) mustTake(by time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeBy = by
	if !by.IsZero() {
		c.watchStall()
	}
}

// watchStall has the timer look, now and then, whether the viewer keeps us waiting. The
// caller holds mu.
func (c *Conn) watchStall() {
	if !c.watched {
		c.watched = true
		c.stalled.Reset(stallTimeout)
	}
}

// checkStall calls expire if the viewer keeps us waiting for too long, and looks
// again when it may do so next.
func (c *Conn) checkStall(expire func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := pause{until: c.takeBy}
	if c.want.continuous {
		due.sooner(c.flow.overdue())
	}
	left := time.Until(due.until)
	switch {
	case due.until.IsZero():
		c.watched = false
	case left > 0:
		c.stalled.Reset(left)
	default:
		expire()
	}
}

// pause is what the writer does after it looked whether there is something to send.
type pause struct {
	sent  bool      // it was: look again at once
	watch bool      // a change of the picture matters
	until time.Time // when to look again at the latest; zero: never
}

// sooner brings the end of the pause forward to t, unless t is zero.
func (p *pause) sooner(t time.Time) {
	if !t.IsZero() && (p.until.IsZero() || t.Before(p.until)) {
		p.until = t
	}
}

// sleep keeps the pause. What the reader notes and what changes about the screen
// end it too.
func (c *Conn) sleep(ctx context.Context, p pause) error {
	var nap context.Context
	var cancel context.CancelFunc
	if p.until.IsZero() {
		nap, cancel = context.WithCancel(ctx)
	} else {
		nap, cancel = context.WithDeadline(ctx, p.until)
	}
	defer cancel()
	c.mu.Lock()
	if c.news {
		c.mu.Unlock()
		return ctx.Err()
	}
	c.sleeping = cancel
	c.mu.Unlock()
	if p.watch {
		c.cfg.Screen.frame.Wait(nap, c.w.seen) // its error is ctx's, which is looked at below
	} else {
		<-nap.Done()
	}
	c.mu.Lock()
	c.sleeping = nil
	c.mu.Unlock()
	return ctx.Err()
}
