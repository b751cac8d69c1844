package capture_test

import (
	"context"
	"errors"
	"image"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// script is a Source that a test draws on. It announces changes as an X server
// does: the first one, and no more until the next Poll.
type script struct {
	changed chan struct{}
	done    chan struct{}
	closed  chan struct{}

	mu       sync.Mutex
	state    capture.State
	pix      []uint32
	polls    int
	grabs    int
	pollHook func() error // called in Poll, before the answer is made
	grabHook func() error // called in Grab, before the picture is shown
}

func newScript(width, height int) *script {
	return &script{
		changed: make(chan struct{}, 1), done: make(chan struct{}), closed: make(chan struct{}),
		state: capture.State{Width: width, Height: height, Cursor: frame.Cursor{Serial: 1}},
		pix:   make([]uint32, width*height),
	}
}

func (s *script) change(f func(st *capture.State)) {
	s.mu.Lock()
	f(&s.state)
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// draw paints one pixel.
func (s *script) draw(x, y int, colour uint32) {
	s.change(func(st *capture.State) {
		s.pix[y*st.Width+x] = colour
		st.Damage = append(st.Damage, image.Rect(x, y, x+1, y+1))
	})
}

func (s *script) resize(width, height int) {
	s.change(func(st *capture.State) {
		st.Width, st.Height, st.Damage = width, height, nil
		s.pix = make([]uint32, width*height)
	})
}

// counts returns how often Poll and Grab were called so far.
func (s *script) counts() (polls, grabs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polls, s.grabs
}

func (s *script) Changed() <-chan struct{} { return s.changed }

func (s *script) Done() <-chan struct{} { return s.done }

func (s *script) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
}

func (s *script) Poll() (capture.State, error) {
	s.mu.Lock()
	s.polls++
	hook := s.pollHook
	s.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return capture.State{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	s.state.Damage = nil
	return st, nil
}

func (s *script) Grab(rects []image.Rectangle, use func(pix []uint32, stride int)) error {
	s.mu.Lock()
	s.grabs++
	hook := s.grabHook
	s.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	use(s.pix, s.state.Width)
	return nil
}

// rig is a running Pump of a script in a bubble of virtual time.
type rig struct {
	*script
	buf    *frame.Buffer
	pump   *capture.Pump
	cancel context.CancelFunc
	result chan error // of Run
}

func pumpTest(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{script: newScript(32, 16), buf: frame.NewBuffer(), result: make(chan error, 1)}
		r.pump = capture.NewPump(r.script, r.buf)
		ctx, cancel := context.WithCancel(context.Background())
		r.cancel = cancel
		defer cancel()
		go func() { r.result <- r.pump.Run(ctx) }()
		synctest.Wait()
		test(t, r)
	})
}

// watch keeps one reader waiting for changes until stop is called.
func (r *rig) watch() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		var stamp frame.Stamp
		for ctx.Err() == nil {
			stamp, _ = r.buf.Wait(ctx, stamp)
		}
	}()
	synctest.Wait()
	return func() {
		cancel()
		synctest.Wait()
	}
}

func (r *rig) pixel(x, y int) (p uint32) {
	r.buf.Read(func(v frame.View) { p = v.Pix[y*v.Width+x] })
	return p
}

func (r *rig) cursor() (c frame.Cursor) {
	r.buf.Read(func(v frame.View) { c = v.Cursor })
	return c
}

func (r *rig) wantCounts(t *testing.T, polls, grabs int) {
	t.Helper()
	synctest.Wait()
	if p, g := r.counts(); p != polls || g != grabs {
		t.Errorf("%d polls and %d grabs, want %d and %d", p, g, polls, grabs)
	}
}

func TestPumpFirstPicture(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		if got, want := r.buf.Stamp(), (frame.Stamp{Epoch: 1, Cursor: 1}); got != want {
			t.Errorf("stamp %+v, want %+v", got, want)
		}
		r.wantCounts(t, 1, 1)
	})
}

func TestPumpUnwatchedCostsNothing(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		for n := range 1000 {
			r.draw(n%32, n%16, uint32(n))
			r.pump.PointerMoved(n, n)
			time.Sleep(time.Millisecond)
		}
		r.wantCounts(t, 1, 1)
		if len(r.changed) != 1 {
			t.Error("the pump woke up to hear of a change")
		}

		stop := r.watch() // what has gathered comes at once
		r.wantCounts(t, 2, 2)
		if r.pixel(999%32, 999%16) != 999 || r.cursor().X != 999 {
			t.Error("the first waiter did not get the latest picture")
		}
		stop()
		r.draw(0, 0, 1)
		time.Sleep(time.Hour)
		r.wantCounts(t, 2, 2)
	})
}

func TestPumpWatchedIdleScreenCostsNothing(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		defer r.watch()()
		time.Sleep(time.Hour)
		r.wantCounts(t, 1, 1)
	})
}

func TestPumpPace(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		defer r.watch()()
		time.Sleep(time.Second)
		start := time.Now()
		r.draw(1, 1, 7)
		synctest.Wait()
		if r.pixel(1, 1) != 7 || !time.Now().Equal(start) {
			t.Error("the first change after a rest was not captured at once")
		}
		for n := range 1000 {
			r.draw(2, 2, uint32(n))
			time.Sleep(time.Millisecond)
		}
		polls, grabs := r.counts()
		if polls < 60 || polls > 62 || grabs != polls {
			t.Errorf("%d polls and %d grabs in a busy second, want about 61", polls, grabs)
		}
		time.Sleep(time.Second)
		if r.pixel(2, 2) != 999 {
			t.Error("the last change was not captured")
		}
	})
}

func TestRefresh(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		for n := range uint32(100) {
			r.draw(3, 3, n+1)
			start := time.Now()
			stamp, err := r.pump.Refresh(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.pixel(3, 3) != n+1 || stamp != r.buf.Stamp() || !time.Now().Equal(start) {
				t.Fatalf("Refresh %d left pixel %d, stamp %+v, %v later", n, r.pixel(3, 3), stamp, time.Since(start))
			}
		}
		r.wantCounts(t, 101, 101)
		if _, err := r.pump.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		r.wantCounts(t, 102, 101) // nothing was drawn: nothing to grab
		defer r.watch()()
		r.wantCounts(t, 102, 101) // and what was refreshed is not news
	})
}

func TestRefreshIsShared(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		r.mu.Lock()
		r.pollHook = func() error { <-gate; return nil }
		r.mu.Unlock()
		var wg sync.WaitGroup
		ask := func(n int) {
			for range n {
				wg.Go(func() {
					if _, err := r.pump.Refresh(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
		}
		ask(1)
		r.wantCounts(t, 2, 1) // in Poll now: too late to join
		ask(50)
		r.wantCounts(t, 2, 1)
		gate <- struct{}{}
		r.wantCounts(t, 3, 1) // one more for all 50
		close(gate)
		wg.Wait()
		r.wantCounts(t, 3, 1)
	})
}

func TestRefreshGivenUp(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		r.mu.Lock()
		r.pollHook = func() error { <-gate; return nil }
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.pump.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Refresh: %v, want its context's error", err)
		}
		close(gate)
		if _, err := r.pump.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestPumpResize(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		defer r.watch()()
		r.resize(20, 40)
		time.Sleep(time.Second)
		r.buf.Read(func(v frame.View) {
			if v.Width != 20 || v.Height != 40 || v.Stamp.Epoch != 2 {
				t.Errorf("%dx%d in epoch %d, want 20x40 in 2", v.Width, v.Height, v.Stamp.Epoch)
			}
		})
	})
}

// The screen may shrink between the Poll and the Grab, and even grow again.
func TestPumpResizeDuringCapture(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		refused := false
		r.mu.Lock()
		r.grabHook = func() error {
			if refused {
				return nil
			}
			refused = true
			return capture.ErrResized
		}
		r.pix[5*32+5] = 5 // drawn, and then lost with the Poll that failed
		r.mu.Unlock()
		r.draw(1, 1, 1)
		if _, err := r.pump.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.pixel(1, 1) != 1 || r.pixel(5, 5) != 5 || r.buf.Stamp().Epoch != 2 {
			t.Errorf("pixels %d, %d in epoch %d", r.pixel(1, 1), r.pixel(5, 5), r.buf.Stamp().Epoch)
		}
	})
}

func TestPumpCursor(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		defer r.watch()()
		time.Sleep(time.Second)
		r.change(func(st *capture.State) { st.Cursor = frame.Cursor{Serial: 2, Name: "watch", X: 3, Y: 4} })
		synctest.Wait()
		if c := r.cursor(); c.Serial != 2 || c.Name != "watch" || c.X != 3 || c.Y != 4 {
			t.Errorf("cursor %+v", c)
		}

		// The input connection is ahead: the X server still answers with 3, 4.
		time.Sleep(time.Second)
		r.pump.PointerMoved(10, 11)
		synctest.Wait()
		if c := r.cursor(); c.X != 10 || c.Y != 11 {
			t.Errorf("cursor at %d, %d, want where it was moved to", c.X, c.Y)
		}
		// A move during the Poll counts as well.
		r.mu.Lock()
		r.pollHook = func() error { r.pump.PointerMoved(12, 13); return nil }
		r.mu.Unlock()
		refresh(t, r.pump)
		if c := r.cursor(); c.X != 12 || c.Y != 13 {
			t.Errorf("cursor at %d, %d, want where it was moved to", c.X, c.Y)
		}
		// Later the X server has caught up, or a program has moved the pointer.
		r.mu.Lock()
		r.pollHook = nil
		r.state.Cursor.X, r.state.Cursor.Y = 20, 21
		r.mu.Unlock()
		refresh(t, r.pump)
		refresh(t, r.pump)
		if c := r.cursor(); c.X != 20 || c.Y != 21 {
			t.Errorf("cursor at %d, %d, want where the X server says", c.X, c.Y)
		}
	})
}

func TestPumpServerGone(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		close(r.done)
		if err := <-r.result; !errors.Is(err, capture.ErrStopped) {
			t.Errorf("Run: %v, want ErrStopped", err)
		}
		<-r.closed
		if _, err := r.pump.Refresh(t.Context()); !errors.Is(err, capture.ErrStopped) {
			t.Errorf("Refresh: %v, want ErrStopped", err)
		}
	})
}

func TestPumpPollFails(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		broken := errors.New("broken")
		r.mu.Lock()
		r.pollHook = func() error { return broken }
		r.mu.Unlock()
		if _, err := r.pump.Refresh(t.Context()); !errors.Is(err, capture.ErrStopped) {
			t.Errorf("Refresh: %v, want ErrStopped", err)
		}
		if err := <-r.result; !errors.Is(err, capture.ErrStopped) || !errors.Is(err, broken) {
			t.Errorf("Run: %v, want ErrStopped and the reason", err)
		}
	})
}

func TestPumpStop(t *testing.T) {
	pumpTest(t, func(t *testing.T, r *rig) {
		// The X server hangs: only closing the Source ends Poll.
		r.mu.Lock()
		r.pollHook = func() error { <-r.closed; return errors.New("closed") }
		r.mu.Unlock()
		go r.pump.Refresh(context.Background())
		synctest.Wait()
		r.cancel()
		if err := <-r.result; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v, want its context's error", err)
		}
		if _, err := r.pump.Refresh(t.Context()); !errors.Is(err, capture.ErrStopped) {
			t.Errorf("Refresh: %v, want ErrStopped", err)
		}
	})
}
