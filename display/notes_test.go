package display

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// What an agent has not read yet about an X server is of no use once that is gone: "no
// program was closed" beside "programs are gone" would leave it to guess.
func TestNotesOfAnXServerGoWithIt(t *testing.T) {
	m := New(Config{})
	s := newScreen(m, 1, 640, 480, nil)
	close(s.opened)
	s.setConnections(&connections{})
	died := errors.New("killed")
	event := func(kind supervise.EventKind, unit string) {
		s.report(supervise.Event{Kind: kind, Unit: unit, Err: died})
	}

	event(supervise.Ended, managerUnit)
	event(supervise.Up, "")
	event(supervise.Ended, serverUnit)
	s.clearConnections(s.conns)
	s.setConnections(&connections{})
	event(supervise.Up, "")
	wantNotes(t, s, "X server stopped")

	// What happens to the new one is told with it.
	event(supervise.Ended, serverUnit)
	s.clearConnections(s.conns)
	s.setConnections(&connections{})
	event(supervise.Ended, managerUnit)
	event(supervise.Up, "")
	wantNotes(t, s, "X server stopped", "window manager stopped")
}

// Whoever looks while the window manager is gone is told, each time until it is back.
func TestNotesWhileTheWindowManagerIsGone(t *testing.T) {
	s := newScreen(New(Config{}), 1, 640, 480, nil)
	close(s.opened)
	s.setConnections(&connections{})
	wantNotes(t, s)
	s.report(supervise.Event{Kind: supervise.Ended, Unit: managerUnit, Err: errors.New("killed")})
	wantNotes(t, s, "windows may be missing")
	wantNotes(t, s, "windows may be missing")
	s.report(supervise.Event{Kind: supervise.Up})
	wantNotes(t, s, "was started again")
	wantNotes(t, s)
}

// wantNotes takes the screen's notes and compares each with a part of it.
func wantNotes(t *testing.T, s *Screen, parts ...string) {
	t.Helper()
	if notes := s.TakeNotes(); !slices.EqualFunc(notes, parts, strings.Contains) {
		t.Errorf("notes %q, want %q", notes, parts)
	}
}
