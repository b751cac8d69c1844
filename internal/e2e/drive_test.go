package e2e

import (
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// S0-1, S0-71, S0-72: the whole path: start, see, type, see the result, end.
func TestAgentSeesAndDrives(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("first steps")
	first := s.observe()
	if first.image == nil || first.image.Bounds() != image.Rect(0, 0, 1280, 800) {
		t.Fatalf("first image: %v", first.text)
	}
	s.terminal()
	s.run(c, "echo 'Grüße, мир, 世界' > seen")
	if got, err := os.ReadFile(filepath.Join(c.home, "seen")); string(got) != "Grüße, мир, 世界\n" {
		t.Errorf("the file holds %q (%v)", got, err)
	}
	again := s.call("computer_observe", map[string]any{"session": s.id})
	same := s.call("computer_observe", map[string]any{"session": s.id})
	if state := same.fields["image"].(map[string]any)["state"]; same.image != nil && state != "unchanged" {
		t.Logf("first look: %s", again.text)
		t.Errorf("an unchanged screen was sent again: %s", same.text)
	}
	s.end()
	s.refused("session_ended", "computer_observe", map[string]any{"session": s.id})
	if n := len(c.info().Screens); n != 0 {
		t.Errorf("%d screens are open after the end", n)
	}
}

// S0-11, S0-66: two servers on one computer, two sessions each: every session has its own screen,
// and 200 interleaved calls have no effect on another's.
func TestSessionsDoNotTouchEachOther(t *testing.T) {
	c := newComputer(t)
	var sessions []*session
	for range 2 {
		a := c.agent()
		for range 2 {
			sessions = append(sessions, a.start(fmt.Sprintf("session %d", len(sessions))))
		}
	}
	for _, s := range sessions {
		s.observe()
	}
	screens := map[string]int{}
	for _, screen := range c.info().Screens {
		screens[screen.Session] = screen.Number
	}
	if len(screens) != len(sessions) {
		t.Fatalf("screens by session: %v", screens)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var calls sync.WaitGroup
	for i, s := range sessions {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		calls.Go(func() {
			for range 50 {
				x, y := r.IntN(1280), r.IntN(800)
				var got answer
				if r.IntN(2) == 0 {
					got = s.act(map[string]any{"kind": "move", "x": x, "y": y})
				} else {
					s.act(map[string]any{"kind": "move", "x": x, "y": y, "settle": "off"})
					got = s.observe()
				}
				cursor := got.fields["cursor"].(map[string]any)
				if int(cursor["x"].(float64)) != x || int(cursor["y"].(float64)) != y {
					t.Errorf("session %d: the pointer is at %v, moved to %d,%d", i, cursor, x, y)
				}
				if got.image != nil && got.image.Bounds() != image.Rect(0, 0, 1280, 800) {
					t.Errorf("session %d: image of %v", i, got.image.Bounds())
				}
			}
		})
	}
	calls.Wait()
}

func TestRefusals(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	unknown := "0123456789abcdef0123456789abcdef"
	a.refused("bad_request", "start_computer", map[string]any{})
	a.refused("bad_request", "start_computer", map[string]any{"title": "x", "colour": "red"})
	s := a.start("refusals")
	a.refused("unknown_session", "computer_observe", map[string]any{"session": unknown})
	a.refused("bad_request", "computer_observe", map[string]any{"session": "nonsense"})
	for _, bad := range []map[string]any{
		{"kind": "click", "x": 1280, "y": 0},
		{"kind": "click"},
		{"kind": "dance"},
		{"kind": "type", "text": "bell \a"},
		{"kind": "key", "key": "no such key"},
		{"kind": "scroll", "direction": "sideways"},
		{"kind": "click", "x": 1, "y": 1, "txt": "typo"},
	} {
		r := a.refused("bad_request", "computer_act", map[string]any{"session": s.id, "actions": []any{
			map[string]any{"kind": "move", "x": 5, "y": 5}, bad,
		}})
		if r.Fix == "" {
			t.Errorf("%v: %q has no fix", bad, r.Message)
		}
	}
	got := s.observe()
	if cursor := got.fields["cursor"].(map[string]any); cursor["x"].(float64) == 5 {
		t.Error("a refused batch has moved the pointer")
	}
	// Numbers and booleans may come as text.
	s.call("computer_act", map[string]any{"session": s.id, "observe": "false", "actions": []any{
		map[string]any{"kind": "move", "x": "50", "y": "60"},
	}})
}
