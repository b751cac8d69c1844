package display

import (
	"fmt"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// report turns what happened in the screen's group into its state, notes and log. It
// is called from the group's goroutine.
func (s *Screen) report(e supervise.Event) {
	if e.Kind == supervise.Up {
		s.log.Info("screen is up", "display", s.Display())
	} else {
		s.log.Warn("part of the screen stopped", "unit", e.Unit, "err", e.Err)
	}
	opening := !isClosed(s.opened)
	s.noteEvent(e, opening)
	// The screen can be used without a window manager, which is tried again.
	if opening && (e.Kind == supervise.Up || e.Unit == managerUnit) {
		close(s.opened)
	}
}

// noteEvent is report's part that changes the screen's state.
func (s *Screen) noteEvent(e supervise.Event, opening bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == supervise.Up:
		if s.ended[managerUnit] {
			s.note("The screen's window manager stopped and was started again; no program was closed by that.")
		}
		clear(s.ended)
	case e.Kind == supervise.Ended:
		s.ended[e.Unit] = true
	case e.Kind == supervise.GivenUp:
		delete(s.ended, e.Unit)
		s.note(fmt.Sprintf("The screen has no window manager, so windows have no title bars and cannot be moved or resized: %v.", e.Err))
	case e.Unit == managerUnit && opening:
		s.note(fmt.Sprintf("The screen's window manager has not started and is being tried again; until then windows have no title bars: %v.", e.Err))
	}
	if s.conns == nil && e.Err != nil {
		s.err = e.Err
	}
}

// maxNotes is how many notes are kept for a caller that takes none.
const maxNotes = 10

// note adds a note. The caller holds mu.
func (s *Screen) note(sentence string) {
	s.notes = append(s.notes, sentence)
	s.notes = s.notes[max(0, len(s.notes)-maxNotes):]
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TakeNotes returns what happened to the screen since the last call, one sentence for
// each event, for whoever acts on the screen; and while its window manager is gone and no
// event says so, that it is.
func (s *Screen) TakeNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	if s.ended[managerUnit] && len(notes) == 0 { // that it has not started is a note already
		notes = append(notes, "The screen's window manager has stopped and is being started again. Until then windows may be missing here; look again in a moment.")
	}
	return notes
}

// setConnections makes the screen usable. Whoever uses it next is told what came
// back: an X server takes everything else with it, so it gets the only sentence.
func (s *Screen) setConnections(c *connections) {
	defer s.m.cfg.Changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.ended {
		return
	}
	switch {
	case s.ended[serverUnit]:
		s.notes = nil // they are about windows, and a window manager, that are gone
		s.note("The screen's X server stopped and was started again; programs that were open on it are gone.")
	case s.ended[connectionUnit]:
		s.note("The connection to the screen was lost and made again; no program was closed by that.")
	}
	clear(s.ended)
	s.conns = c
	close(s.up)
}

// clearConnections makes the screen unusable because c ended, with c.err.
func (s *Screen) clearConnections(c *connections) {
	defer s.m.cfg.Changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ended = true
	if s.conns == c {
		s.conns, s.up, s.err = nil, make(chan struct{}), c.err
	}
}
