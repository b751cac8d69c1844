package main

import (
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// S0-39, S0-43, and a session is named once: by its screen, or alone while it has none.
func TestInfo(t *testing.T) {
	var out strings.Builder
	writeInfo(&out, &infoReport{
		Version:  "v1.2.3",
		State:    engine.StateRunning,
		Viewer:   "http://127.0.0.1:20900/#key=abcdefgh",
		Screens:  []api.Screen{{Number: 1, Session: "a", Title: "with a screen"}},
		Sessions: []api.Session{{ID: "a", Title: "with a screen", Screen: 1}, {ID: "b", Title: "just started"}},
	}, nil)
	for _, once := range []string{"v1.2.3", "http://127.0.0.1:20900/#key=abcdefgh", "with a screen", "just started"} {
		if n := strings.Count(out.String(), once); n != 1 {
			t.Errorf("%q stands there %d times:\n%s", once, n, out.String())
		}
	}
}
