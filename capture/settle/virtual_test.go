package settle_test

import (
	"context"
	"errors"
	"image"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// bufferPainter publishes straight into a Buffer.
type bufferPainter struct {
	buf    *frame.Buffer
	pix    []uint32
	width  int
	cursor frame.Cursor
}

func (p *bufferPainter) Resize(width, height int) {
	p.width, p.pix = width, make([]uint32, width*height)
	p.buf.Reset(width, height)
}

func (p *bufferPainter) Fill(r image.Rectangle, colour uint32) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			p.pix[y*p.width+x] = colour
		}
	}
	p.buf.Publish(p.pix, p.width, []image.Rectangle{r})
}

func (p *bufferPainter) Pointer(name string) {
	p.cursor.Serial++
	p.cursor.Name = name
	p.buf.SetCursor(p.cursor)
}

// S3-58: every situation, with no X server.
func TestSituationsInVirtualTime(t *testing.T) {
	for _, sit := range situations {
		t.Run(sit.name, func(t *testing.T) { inVirtualTime(t, sit.run) })
	}
}

// inVirtualTime plays on a bare Buffer.
func inVirtualTime(t *testing.T, run func(s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		buf := frame.NewBuffer()
		p := &bufferPainter{buf: buf}
		p.Resize(screen.Dx(), screen.Dy())
		run(&stage{
			t: t, buf: buf, paint: p, refresh: func() {}, slack: 2 * ms,
			tracker: settle.NewTracker(settle.DefaultAutoIgnore),
		})
	})
}

// S3-19: what changed in the middle of a long action is its reaction, and has rested for as
// long as it has.
func TestReactionDuringALongAction(t *testing.T) {
	for _, c := range []struct{ rest, waited time.Duration }{{0, 200 * ms}, {150 * ms, 50 * ms}, {time.Second, 0}} {
		inVirtualTime(t, func(s *stage) {
			base := settle.Look(s.buf, s.tracker, nil)
			time.Sleep(time.Second)
			(&play{stage: s}).fill(button)
			time.Sleep(c.rest)
			v, err := settle.Watch(s.t.Context(), s.buf, s.tracker, settle.Action{Kind: "drag"}, base)
			if err != nil {
				t.Fatal(err)
			}
			s.want(v, settle.Settled, c.waited)
		})
	}
}

// S3-31, S3-32, S3-34 and S3-35: what is learned of a kind is its cap, from timeouts too,
// and nothing else.
func TestLearning(t *testing.T) {
	inVirtualTime(t, func(s *stage) {
		slow := func(p *play) {
			p.after(200 * ms)
			p.fill(button)
			p.after(150 * ms)
			p.fill(button)
		}
		video := func(p *play) { p.every(40*ms, screen) }
		for range 5 {
			s.want(s.act("click", slow), settle.Settled, 550*ms)
		}
		s.want(s.act("click", video), settle.Timeout, 1650*ms)
		s.want(s.act("click", video), settle.Timeout, 4950*ms)
		s.want(s.act("click", func(p *play) { p.fill(button) }), settle.Settled, 200*ms)
		s.want(s.act("scroll", video), settle.Timeout, 8*time.Second)
		// Of many samples one in twenty does not count.
		for range 40 {
			s.act("click", slow)
		}
		s.want(s.act("click", video), settle.Timeout, 1650*ms)
	})
}

// S3-13 and S3-35: pinned values win over the defaults, also over those by kind.
func TestPinnedValues(t *testing.T) {
	inVirtualTime(t, func(s *stage) {
		nothing, echo := func(*play) {}, func(p *play) { p.fill(digit) }
		s.want(s.act("type", nothing), settle.NoReaction, 800*ms)
		s.want(s.act("type", func(p *play) { p.after(700 * ms); p.fill(digit) }), settle.Settled, 820*ms)
		s.want(s.act("move", nothing), settle.NoReaction, 200*ms)
		s.want(s.act("type", echo), settle.Settled, 120*ms)
		s.want(s.perform(settle.Action{Kind: "type", Pictured: true}, echo), settle.Settled, 200*ms)
		s.tracker.Pin(pinned(400*ms, 700*ms, 0, 900*ms))
		s.want(s.act("type", nothing), settle.NoReaction, 700*ms)
		s.want(s.act("move", nothing), settle.NoReaction, 700*ms)
		s.want(s.act("type", echo), settle.Settled, 400*ms)
		s.want(s.act("click", func(p *play) { p.every(80*ms, spinner) }), settle.Residual, 900*ms)
	})
}

// S3-28 and S3-47: a restless region is left out for 30 s unless it is told otherwise, and
// never with 0.
func TestAutoIgnoreTime(t *testing.T) {
	spin := func(p *play) { p.every(80*ms, spinner) }
	inVirtualTime(t, func(s *stage) {
		s.act("click", spin)
		if v := s.act("click", spin); !v.Ignored {
			t.Errorf("%+v", v)
		}
		time.Sleep(29 * time.Second)
		s.want(s.act("click", spin), settle.NoReaction, 300*ms)
		time.Sleep(time.Second)
		s.want(s.act("click", spin), settle.Residual, 1500*ms)
	})
	inVirtualTime(t, func(s *stage) {
		s.tracker = settle.NewTracker(0)
		for range 4 {
			if v := s.act("click", spin); v.Outcome != settle.Residual || v.Ignored {
				t.Errorf("%+v", v)
			}
		}
	})
}

// S3-11: a wait for rest takes in what keeps moving, inside its region or anywhere.
func TestRest(t *testing.T) {
	inVirtualTime(t, func(s *stage) {
		t := s.t
		const quiet = 500 * ms
		moving, stop := image.Rect(0, 0, 64, 64), make(chan struct{})
		go func() {
			for colour := uint32(1); ; colour++ {
				select {
				case <-stop:
					return
				case <-time.After(100 * ms):
					s.paint.Fill(moving, colour)
				}
			}
		}()
		rest := func(c settle.Config, limit time.Duration, ignore ...image.Rectangle) (image.Rectangle, time.Duration, error) {
			c.Quiet = quiet
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			start := time.Now()
			r, err := settle.Rest(ctx, s.buf, c, ignore)
			return r, time.Since(start), err
		}
		all := settle.Config{ActiveCells: settle.ActiveCells}
		if r, waited, err := rest(all, time.Minute); !errors.Is(err, context.DeadlineExceeded) || waited != time.Minute || r != moving {
			t.Errorf("moving: %v after %v, %v", r, waited, err)
		}
		if r, waited, err := rest(all, time.Minute, moving); err != nil || waited != quiet || !r.Empty() {
			t.Errorf("ignored: %v after %v, %v", r, waited, err)
		}
		elsewhere := settle.Config{ActiveCells: settle.ReactCells, Region: image.Rect(64, 0, 128, 128)}
		if r, waited, err := rest(elsewhere, time.Minute); err != nil || waited != quiet || !r.Empty() {
			t.Errorf("elsewhere: %v after %v, %v", r, waited, err)
		}
		time.AfterFunc(2050*ms, func() { close(stop) })
		if r, waited, err := rest(all, time.Minute); err != nil || waited < 2*time.Second+quiet-100*ms || waited > 2050*ms+quiet || r != moving {
			t.Errorf("stopped: %v after %v, %v", r, waited, err)
		}
		time.AfterFunc(100*ms, func() { s.paint.Resize(320, 200) })
		if r, waited, err := rest(all, time.Minute); err != nil || waited != 100*ms+quiet || r != image.Rect(0, 0, 320, 200) {
			t.Errorf("another size: %v after %v, %v", r, waited, err)
		}
	})
}
