package session

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// focusScreen returns a screen without windows.
func focusScreen(t *testing.T) *fakeScreen {
	t.Helper()
	table, _ := newTable(t)
	opened, err := table.cfg.Open(t.Context(), 640, 480)
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*fakeScreen)
}

// A program that has ended well shows no window any more, unless it has handed over to an
// instance that was running and takes a moment.
func TestFocusDoesNotWaitForAProgramThatHasEnded(t *testing.T) {
	for name, shows := range map[string]bool{"one for a terminal": false, "a launcher": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				screen := focusScreen(t)
				run := &program{name: "program", done: make(chan struct{}), state: "exit status 0"}
				run.output.data = []byte("usage: program FILE")
				time.AfterFunc(time.Second, func() { close(run.done) })
				if shows {
					time.AfterFunc(3*time.Second, func() {
						screen.mu.Lock()
						defer screen.mu.Unlock()
						screen.windows = append(screen.windows, x11.Window{ID: 7, Title: "it"})
					})
				}
				start := time.Now()
				err := focusNew(t.Context(), screen, nil, "program", run)
				if took := time.Since(start); took > time.Second+handOverTime+2*poll {
					t.Errorf("it took %v", took)
				}
				if shows {
					if err != nil || !strings.Contains(strings.Join(screen.events, " "), "activate 7") {
						t.Errorf("%v, %v", err, screen.events)
					}
					return
				}
				if e := api.AsError(err); e.Code != api.CodeNotFound || !strings.Contains(e.Message, "usage: program FILE") || !strings.Contains(e.Fix, "shell") {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A program whose window cannot have the keyboard, because a dialog of it has come up
// meanwhile, is at the front with its dialog.
func TestFocusGoesToADialogThatTookTheKeyboard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := focusScreen(t)
		screen.windows = []x11.Window{{ID: 7, Title: "main"}}
		screen.fail = errors.New("it did not take the keyboard")
		screen.onInput = func(string) { screen.windows = []x11.Window{{ID: 8, Title: "dialog"}, {ID: 7, Title: "main"}} }
		run := &program{name: "program", done: make(chan struct{})}
		if err := focusNew(t.Context(), screen, nil, "program", run); err != nil || !slices.Equal(screen.events, []string{"activate 7", "activate 8"}) {
			t.Errorf("%v, %v", err, screen.events)
		}
		screen.onInput = func(string) {
			screen.mu.Lock()
			defer screen.mu.Unlock()
			screen.fail = errors.New("it never does")
		}
		screen.onInput("")
		screen.windows = []x11.Window{{ID: 9, Title: "neither"}}
		if err := focusNew(t.Context(), screen, nil, "program", run); err == nil || err.Error() != "it never does" {
			t.Errorf("a window that never takes the keyboard: %v", err)
		}
	})
}

// Issue 9, item 2: an office suite shows an empty window before the document.
func TestOpeningWaitsForTheTitle(t *testing.T) {
	for name, c := range map[string]struct {
		then      x11.Window // what the new window becomes after a second
		takes     time.Duration
		activated bool
	}{
		"named":       {x11.Window{ID: 7, Title: "talk.odp — Impress", Focused: true}, time.Second, false},
		"behind":      {x11.Window{ID: 7, Title: "talk.odp — Impress"}, time.Second, true},
		"never named": {x11.Window{ID: 7, Title: "Impress", Focused: true}, titleTime, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				screen := focusScreen(t)
				// Another window names the file already.
				before := []x11.Window{{ID: 6, Title: "talk.odp — Files"}}
				screen.windows = append([]x11.Window{{ID: 7, Title: "Office", Focused: true}}, before...)
				time.AfterFunc(time.Second, func() {
					screen.mu.Lock()
					defer screen.mu.Unlock()
					screen.windows = append([]x11.Window{c.then}, before...)
				})
				start := time.Now()
				err := awaitTitle(t.Context(), screen, before, "talk.odp")
				if took := time.Since(start); err != nil || took < c.takes || took > c.takes+2*poll || slices.Contains(screen.events, "activate 7") != c.activated {
					t.Errorf("%v after %v: %v", err, took, screen.events)
				}
			})
		})
	}
}

// A window that does not take the keyboard fails a launch with that, not with the end of
// the launch.
func TestLaunchSaysWhyItFailed(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		screen.windows = []x11.Window{{ID: 7, Class: "Editor"}}
		screen.fail = errors.New("it did not take the keyboard")
		_, _, err := s.LaunchApp(t.Context(), api.LaunchAppRequest{Application: "editor"})
		if e := wantCode(t, err, api.CodeScreenFailed); !strings.Contains(e.Message, "it did not take the keyboard") {
			t.Errorf("%v", e)
		}
	})
}
