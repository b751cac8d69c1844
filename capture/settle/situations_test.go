package settle_test

import (
	"context"
	"image"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
)

// A situation is one thing that screens do after an action. The same table runs in
// virtual time on a bare Buffer and in real time on an X server.
type situation struct {
	name string
	kind string
	run  func(s *stage)
}

// A painter changes the screen, as the application would.
type painter interface {
	Fill(r image.Rectangle, colour uint32)
	Resize(width, height int)
	Pointer(name string) // gives the pointer a new picture of that name
}

const ms = time.Millisecond

// The screen of every situation.
var screen = image.Rect(0, 0, 640, 480)

var (
	button  = image.Rect(40, 40, 120, 72)
	caret   = image.Rect(301, 200, 303, 216)
	spinner = image.Rect(560, 40, 600, 80)
	clock   = image.Rect(560, 440, 632, 464)
	digit   = image.Rect(200, 40, 208, 56)
	field   = image.Rect(200, 200, 400, 232)
)

// stage is where a situation is played: it owns the screen, the tracker and the
// application's script.
type stage struct {
	t       *testing.T
	buf     *frame.Buffer
	paint   painter
	tracker *settle.Tracker
	refresh func()        // brings what was painted into buf while nobody waits
	slack   time.Duration // how late a verdict may come on this stage
	colour  uint32
}

// act performs an action whose application follows the script, and returns the verdict.
// Each line of the script waits and then paints.
func (s *stage) act(kind string, script func(p *play)) settle.Verdict {
	s.t.Helper()
	return s.perform(settle.Action{Kind: kind}, script)
}

// actThenType is act for an action that is followed by keys.
func (s *stage) actThenType(kind string, script func(p *play)) settle.Verdict {
	s.t.Helper()
	return s.perform(settle.Action{Kind: kind, ThenKeys: true}, script)
}

func (s *stage) perform(a settle.Action, script func(p *play)) settle.Verdict {
	s.t.Helper()
	base := settle.Look(s.buf, s.tracker, nil)
	stop := s.start(script)
	v, err := settle.Watch(context.Background(), s.buf, s.tracker, a, base)
	stop()
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// start plays a script until stop is called.
func (s *stage) start(script func(p *play)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		script(&play{stage: s, ctx: ctx})
	}()
	return func() {
		cancel()
		<-done
	}
}

// play is the application side of one action.
type play struct {
	*stage
	ctx context.Context
}

// after waits and reports whether the play goes on.
func (p *play) after(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.ctx.Done():
		return false
	}
}

// fill paints a colour that was not there before.
func (p *play) fill(r image.Rectangle) {
	p.colour = (p.colour + 0x203f17) & 0xffffff
	p.paint.Fill(r, p.colour)
}

// every paints r again and again until the wait ends.
func (p *play) every(d time.Duration, r image.Rectangle) {
	for p.after(d) {
		p.fill(r)
	}
}

// want checks a verdict: its outcome, and that it came at the moment the rules
// allow, no earlier and no later than the stage's slack.
func (s *stage) want(v settle.Verdict, o settle.Outcome, at time.Duration) {
	s.t.Helper()
	if v.Outcome != o || v.Waited < at-2*ms || v.Waited > at+s.slack {
		s.t.Errorf("verdict %s after %v (reacted %v, region %v), want %s after %v", v.Outcome, v.Waited, v.Reacted, v.Region, o, at)
	}
}

func pinned(quiet, react, maxWait, bail time.Duration) settle.Pinned {
	var p settle.Pinned
	for _, f := range []struct {
		to **time.Duration
		d  time.Duration
	}{{&p.Quiet, quiet}, {&p.React, react}, {&p.MaxWait, maxWait}, {&p.ResidualBail, bail}} {
		if f.d > 0 {
			*f.to = &f.d
		}
	}
	return p
}

var situations = []situation{
	// S3-18: what the action did at once is seen against the picture before it.
	{"fast reaction before the first look", "click", func(s *stage) {
		base := settle.Look(s.buf, s.tracker, nil)
		(&play{stage: s}).fill(button)
		v, err := settle.Watch(context.Background(), s.buf, s.tracker, settle.Action{Kind: "click"}, base)
		if err != nil {
			s.t.Fatal(err)
		}
		s.want(v, settle.Settled, 200*ms)
	}},
	// S3-22: any change, then rest.
	{"slow reaction", "click", func(s *stage) {
		v := s.act("click", func(p *play) {
			if p.after(200 * ms) {
				p.fill(button)
			}
		})
		s.want(v, settle.Settled, 400*ms)
	}},
	{"two-phase interface", "click", func(s *stage) {
		v := s.act("click", func(p *play) {
			p.after(30 * ms)
			p.fill(button)
			p.after(100 * ms)
			p.fill(screen)
		})
		s.want(v, settle.Settled, 330*ms)
		if v.Region != screen {
			s.t.Errorf("region %v, want all that changed", v.Region)
		}
	}},
	{"no reaction", "click", func(s *stage) {
		v := s.act("click", func(*play) {})
		s.want(v, settle.NoReaction, 300*ms)
		if v.Reacted {
			s.t.Error("reacted")
		}
	}},
	{"caret blink", "click", func(s *stage) {
		stop := s.start(func(p *play) { p.every(530*ms, caret) })
		defer stop()
		nothing := func(*play) {}
		// It blinks between the actions, and then it is known.
		for range 4 {
			s.act("click", nothing)
			time.Sleep(600 * ms)
			s.refresh()
		}
		for range 4 {
			s.want(s.act("click", nothing), settle.NoReaction, 300*ms)
		}
	}},
	{"a digit that changes with every click is no caret", "click", func(s *stage) {
		for range 6 {
			v := s.act("click", func(p *play) { p.fill(digit) })
			s.want(v, settle.Settled, 200*ms)
			time.Sleep(400 * ms)
			s.refresh()
		}
	}},
	// S3-26: the moving part is given up long before the cap, by its rectangle.
	{"confined spinner", "click", func(s *stage) {
		v := s.act("click", func(p *play) { p.every(80*ms, spinner) })
		s.want(v, settle.Residual, 1500*ms)
		if !v.Region.In(spinner.Inset(-frame.CellSize)) || v.Ignored {
			s.t.Errorf("region %v (ignored %v), want %v", v.Region, v.Ignored, spinner)
		}
	}},
	// S3-27, S3-28 and S3-14: two bails in a row, the end of the time, and what forgets them.
	{"spinner, auto-ignore, expiry", "click", func(s *stage) {
		s.tracker = settle.NewTracker(3 * time.Second)
		spin := func(p *play) { p.every(80*ms, spinner) }
		s.want(s.act("click", spin), settle.Residual, 1500*ms)
		second := s.act("click", spin)
		s.want(second, settle.Residual, 1500*ms)
		if !second.Ignored {
			s.t.Error("not ignored after two bails")
		}
		s.want(s.act("click", spin), settle.NoReaction, 300*ms)
		v := s.act("click", func(p *play) {
			p.fill(button)
			spin(p)
		})
		s.want(v, settle.Settled, 200*ms)
		time.Sleep(3 * time.Second)
		third := s.act("click", spin)
		s.want(third, settle.Residual, 1500*ms)
		if !third.Ignored {
			s.t.Error("still moving after the expiry, but not ignored again at once")
		}
		s.tracker.Ignore(nil)
		s.want(s.act("click", spin), settle.Residual, 1500*ms)
	}},
	// S3-29: the cap, and where spread motion is.
	{"full-screen video", "click", func(s *stage) {
		v := s.act("click", func(p *play) { p.every(40*ms, screen) })
		s.want(v, settle.Timeout, 8*time.Second)
	}},
	{"resize during the wait", "click", func(s *stage) {
		v := s.act("click", func(p *play) {
			p.after(50 * ms)
			p.paint.Resize(800, 600)
		})
		s.want(v, settle.Settled, 250*ms)
		if v.Region != image.Rect(0, 0, 800, 600) {
			s.t.Errorf("region %v, want the new screen", v.Region)
		}
	}},
	{"busy, then paint", "click", func(s *stage) {
		v := s.act("click", func(p *play) {
			p.paint.Pointer("watch")
			p.after(2 * time.Second)
			p.fill(screen)
			p.paint.Pointer("left_ptr")
		})
		s.want(v, settle.Settled, 2200*ms)
	}},
	{"animated pointer without a name, then paint", "click", func(s *stage) {
		v := s.act("click", func(p *play) {
			for range 40 {
				p.after(50 * ms)
				p.paint.Pointer("")
			}
			p.fill(screen)
		})
		s.want(v, settle.Settled, 2200*ms)
	}},
	{"a field for the keys 700 ms after the button", "click", func(s *stage) {
		v := s.actThenType("click", func(p *play) {
			p.fill(button)
			p.after(700 * ms)
			p.fill(field)
		})
		s.want(v, settle.Settled, time.Second)
		v = s.actThenType("click", func(p *play) {
			p.after(700 * ms)
			p.fill(field)
		})
		s.want(v, settle.Settled, time.Second)
		s.want(s.actThenType("click", func(*play) {}), settle.NoReaction, time.Second)
	}},
	{"a click on text, then keys", "click", func(s *stage) {
		v := s.actThenType("click", func(p *play) {
			p.paint.Pointer("text")
			p.fill(field)
		})
		s.want(v, settle.Settled, 200*ms)
	}},
	{"type echo", "type", func(s *stage) {
		v := s.act("type", func(p *play) {
			p.after(20 * ms)
			p.fill(image.Rect(96, 96, 112, 112)) // one glyph: 4 cells
		})
		s.want(v, settle.Settled, 140*ms)
	}},
	{"scroll", "scroll", func(s *stage) {
		v := s.act("scroll", func(p *play) {
			for range 5 {
				p.after(30 * ms)
				p.fill(image.Rect(0, 40, 640, 440))
			}
		})
		s.want(v, settle.Settled, 300*ms)
	}},
	{"timeout with spread motion", "click", func(s *stage) {
		s.tracker.Pin(pinned(0, 0, 2*time.Second, 0))
		corners := []image.Rectangle{spinner, image.Rect(8, 400, 48, 440)}
		v := s.act("click", func(p *play) {
			for i := 0; p.after(60 * ms); i++ {
				p.fill(corners[i%2])
			}
		})
		s.want(v, settle.Timeout, 2*time.Second)
		if v.Region.Dx() < 500 || v.Region.Dy() < 350 {
			s.t.Errorf("region %v does not span the motion", v.Region)
		}
	}},
	// S3-33
	{"pinned values against learning", "click", func(s *stage) {
		quick := func(p *play) { p.fill(button) }
		for range 5 {
			s.act("click", quick)
		}
		s.tracker.Pin(pinned(0, 0, 3*time.Second, 0))
		v := s.act("click", func(p *play) { p.every(40*ms, screen) })
		s.want(v, settle.Timeout, 3*time.Second)
	}},
	{"learned cap", "click", func(s *stage) {
		for range 5 {
			s.act("click", func(p *play) { p.fill(button) })
		}
		v := s.act("click", func(p *play) { p.every(40*ms, screen) })
		s.want(v, settle.Timeout, time.Second) // 3 x 200 ms is under the least cap
	}},
	{"ignored clock", "click", func(s *stage) {
		s.tracker.Ignore([]image.Rectangle{clock})
		v := s.act("click", func(p *play) { p.every(100*ms, clock) })
		s.want(v, settle.NoReaction, 300*ms)
		s.tracker.Ignore(nil)
		v = s.act("click", func(p *play) { p.every(100*ms, clock) })
		s.want(v, settle.Residual, 1500*ms)
	}},
}
