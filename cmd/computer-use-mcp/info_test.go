package main

import (
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// A session is named once: by its screen, or alone while it has none.
func TestInfoNamesEverySession(t *testing.T) {
	var out strings.Builder
	writeInfo(&out, &infoReport{
		State:    engine.StateRunning,
		Screens:  []api.Screen{{Number: 1, Session: "a", Title: "with a screen"}},
		Sessions: []api.Session{{ID: "a", Title: "with a screen", Screen: 1}, {ID: "b", Title: "just started"}},
	}, nil)
	for _, title := range []string{"with a screen", "just started"} {
		if n := strings.Count(out.String(), title); n != 1 {
			t.Errorf("%q stands there %d times:\n%s", title, n, out.String())
		}
	}
}
