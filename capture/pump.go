// Package capture keeps a [frame.Buffer] equal to the screen of an X server.
//
// Damage is a hint and the comparison is the truth: the X server says which
// rectangles were drawn on, the [Pump] copies them out of the server, and the
// Buffer finds the cells that really differ. Nothing is copied while nobody wants
// pixels, however busy the screen is.
package capture

import (
	"context"
	"errors"
	"fmt"
	"image"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// ErrStopped is matched by the error of a Pump whose Run has returned: the X
// server is gone, or the Pump was stopped. A new Pump with a new Source can go on
// with the same Buffer.
var ErrStopped = errors.New("the screen is not captured any more")

// interval is the least time between two captures that nobody asked for with
// Refresh: 60 a second.
const interval = time.Second / 60

// Pump brings the changes of a screen into a Buffer. It is the Buffer's only
// writer. Run does the work; all other methods may be called from any goroutine.
type Pump struct {
	src   Source
	buf   *frame.Buffer
	asked chan struct{} // capacity 1: there is a refresh to do
	moved chan struct{} // capacity 1: there is a new pointer position
	done  chan struct{} // closed when Run has returned

	width, height int // of the epoch; 0 before it begins. Used by Run alone

	mu         sync.Mutex
	refresh    *refresh    // guarded by mu; the one that callers may still join, or nil
	pointer    image.Point // guarded by mu; where PointerMoved said
	pointerNew bool        // guarded by mu; PointerMoved was called since the last Poll began
}

// refresh is one capture for everybody who asked for it before it began.
type refresh struct {
	done  chan struct{} // closed when stamp is set
	stamp frame.Stamp
}

// NewPump returns a Pump from src to buf. Run must be called, or src closed.
func NewPump(src Source, buf *frame.Buffer) *Pump {
	return &Pump{
		src: src, buf: buf,
		asked: make(chan struct{}, 1), moved: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// Run begins a new epoch of the Buffer with the screen's picture and captures
// what changes until ctx ends or the X server is gone, and closes the Source. It
// returns ctx's error, or one that matches ErrStopped. It may be called once.
func (p *Pump) Run(ctx context.Context) error {
	defer close(p.done)
	defer p.src.Close()
	// A hanging X server must not keep Run from ending.
	defer context.AfterFunc(ctx, p.src.Close)()
	err := p.run(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrStopped, err)
}

func (p *Pump) run(ctx context.Context) error {
	if err := p.capture(); err != nil {
		return err
	}
	last := time.Now()
	dirty := false // there is something to capture
	pace := time.NewTimer(0)
	defer pace.Stop()
	for {
		// A nil channel does not wake. While nobody waits, changes gather in the X
		// server, which has announced the first of them and is silent since; and
		// while nothing changes, nobody who begins to wait wakes us.
		var changed, moved, wanted <-chan struct{}
		var due <-chan time.Time
		switch {
		case !dirty:
			changed, moved = p.src.Changed(), p.moved
		case p.buf.Waiters() == 0:
			wanted = p.buf.Wanted()
		default:
			wait := time.Until(last.Add(interval))
			if wait <= 0 { // after a rest: at once
				if err := p.capture(); err != nil {
					return err
				}
				dirty, last = false, time.Now()
				continue
			}
			pace.Reset(wait)
			due = pace.C
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.src.Done():
			return errors.New("the X server is gone")
		case <-wanted:
		case <-changed:
			dirty = true
		case <-moved:
			dirty = true
		case <-due:
		case <-p.asked:
			if err := p.captureAsked(); err != nil {
				return err
			}
			dirty, last = false, time.Now()
		}
	}
}

// capture brings the Buffer up to date.
func (p *Pump) capture() error {
	// Whatever was announced so far is in the coming Poll.
	drain(p.src.Changed())
	drain(p.moved)
	for {
		st, err := p.poll()
		if err != nil {
			return err
		}
		err = p.publish(st)
		if !errors.Is(err, ErrResized) {
			return err
		}
		p.width, p.height = 0, 0 // this Poll's damage is lost, so take everything
	}
}

func drain(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// poll is the Source's Poll with the better of two pointer positions. Nothing
// orders the capture connection with the one that moves the pointer, so after
// PointerMoved the X server may still answer with an older position. A Poll that
// began after another one with no move between them is right.
func (p *Pump) poll() (State, error) {
	p.mu.Lock()
	movedBefore := p.pointerNew
	p.pointerNew = false
	p.mu.Unlock()

	st, err := p.src.Poll()

	p.mu.Lock()
	defer p.mu.Unlock()
	if movedBefore || p.pointerNew {
		st.Cursor.X, st.Cursor.Y = p.pointer.X, p.pointer.Y
	}
	return st, err
}

func (p *Pump) publish(st State) error {
	rects := st.Damage
	newEpoch := st.Width != p.width || st.Height != p.height
	if newEpoch {
		rects = []image.Rectangle{image.Rect(0, 0, st.Width, st.Height)}
	}
	if len(rects) > 0 {
		err := p.src.Grab(rects, func(pix []uint32, stride int) {
			if newEpoch {
				p.buf.ResetTo(pix, stride, st.Width, st.Height)
			} else {
				p.buf.Publish(pix, stride, rects)
			}
		})
		if err != nil {
			return err
		}
		p.width, p.height = st.Width, st.Height
	}
	p.buf.SetCursor(st.Cursor)
	return nil
}

func (p *Pump) captureAsked() error {
	p.mu.Lock()
	r := p.refresh
	p.refresh = nil // who comes from now on needs a later capture
	p.mu.Unlock()
	if err := p.capture(); err != nil {
		return err
	}
	r.stamp = p.buf.Stamp()
	close(r.done)
	return nil
}

// Refresh is the barrier of the capture side: when it returns, the Buffer holds
// everything that the X server had drawn when it was called, and at least the
// returned Stamp. It captures at once, whether anybody waits or not; callers at
// the same time share captures. What another connection asked the server to draw
// counts only after a round trip on that connection.
//
// The error is ctx's, or matches ErrStopped.
func (p *Pump) Refresh(ctx context.Context) (frame.Stamp, error) {
	p.mu.Lock()
	r := p.refresh
	if r == nil {
		r = &refresh{done: make(chan struct{})}
		p.refresh = r
		p.asked <- struct{}{} // has room: Run took the last one before it took its refresh
	}
	p.mu.Unlock()
	select {
	case <-r.done:
		return r.stamp, nil
	case <-p.done:
		return frame.Stamp{}, ErrStopped
	case <-ctx.Done():
		return frame.Stamp{}, ctx.Err()
	}
}

// PointerMoved says that the pointer was moved to a position: the X server reports
// shapes of the cursor, but no positions. A watched screen shows it within
// 1/60 s; moves by programs show with the next capture.
func (p *Pump) PointerMoved(x, y int) {
	p.mu.Lock()
	p.pointer, p.pointerNew = image.Pt(x, y), true
	p.mu.Unlock()
	select {
	case p.moved <- struct{}{}:
	default: // not yet received: one is enough
	}
}
