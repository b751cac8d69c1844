package session

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// A program that has ended well shows no window any more, unless it has handed over to an
// instance that was running and takes a moment.
func TestFocusDoesNotWaitForAProgramThatHasEnded(t *testing.T) {
	for name, shows := range map[string]bool{"one for a terminal": false, "a launcher": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, _ := newTable(t)
				opened, err := table.cfg.Open(t.Context(), 640, 480)
				if err != nil {
					t.Fatal(err)
				}
				screen := opened.(*fakeScreen)
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
				err = focusNew(t.Context(), screen, nil, "program", run)
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
