package viewer

import (
	"os"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// axe is the accessibility checker among the development dependencies of web.
func axe(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("web/node_modules/axe-core/axe.min.js")
	xvfbtest.NeedThat(t, err == nil, "axe-core (scripts/install test)")
	return string(data)
}

func TestAccessibility(t *testing.T) {
	checker := axe(t)
	c := busyComputer()
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey)
	check := func(state string) {
		t.Helper()
		for _, colours := range []string{"light", "dark"} {
			for _, window := range [][2]int64{{360, 740}, {1280, 800}} {
				b.Colours(colours)
				b.Resize(window[0], window[1])
				findings := browsertest.Eval[[]string](b.Tab, `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations
					.filter((v) => v.impact === "serious" || v.impact === "critical" || v.impact === "moderate")
					.map((v) => v.id + " (" + v.impact + "): " + v.help + " " + v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")))`)
				for _, f := range findings {
					t.Errorf("%s, %s, %d pixels: %s", state, colours, window[0], f)
				}
			}
		}
	}
	// The page's policy lets no foreign script in, but the debugger's own go through.
	b.Run(checker)
	b.Until("document.querySelectorAll('.shot img:not([hidden])').length >= 1")
	check("grid")
	b.Run("location.hash = '#screen=3'")
	b.entered()
	check("locked")
	b.unlock()
	check("unlocked")
	b.Resize(1280, 800)
	b.Click("#keys")
	check("menu")
	c.edit(3, func(s *Session) { s.State, s.Request = Ended, nil })
	b.Until("document.querySelector('#fate').innerText !== ''")
	c.change(func() { c.sessions = nil })
	b.Until("document.querySelector('#lock').disabled")
	check("closed")
	b.Run("location.hash = ''; localStorage.clear()")
	b.Until("!document.querySelector('#empty').hidden")
	check("empty")
	b.visit(s, "/?again")
	b.Run(checker)
	b.Until("document.querySelector('#key').open")
	check("asking for the key")
}
