package viewer

import (
	"os"
	"testing"
)

// axe is the accessibility checker among the development dependencies of web.
func axe(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("web/node_modules/axe-core/axe.min.js")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip("SKIPPED: axe-core is missing: run scripts/fetch-novnc")
	}
	return string(data)
}

func TestAccessibility(t *testing.T) {
	checker := axe(t)
	c := busyComputer()
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey)
	check := func(state string) {
		t.Helper()
		for _, colours := range []string{"light", "dark"} {
			for _, window := range [][2]int64{{360, 740}, {1280, 800}} {
				b.do(scheme(colours), size(window[0], window[1]))
				findings := eval[[]string](b, `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations
					.filter((v) => v.impact === "serious" || v.impact === "critical" || v.impact === "moderate")
					.map((v) => v.id + " (" + v.impact + "): " + v.help + " " + v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")))`)
				for _, f := range findings {
					t.Errorf("%s, %s, %d pixels: %s", state, colours, window[0], f)
				}
			}
		}
	}
	// The page's policy lets no foreign script in, but the debugger's own go through.
	b.do(evaluate(checker))
	b.until("document.querySelectorAll('.shot img:not([hidden])').length >= 1")
	check("grid")
	b.do(evaluate("location.hash = '#screen=3'"))
	b.entered()
	check("locked")
	b.unlock()
	check("unlocked")
	b.do(size(1280, 800))
	b.click("#keys")
	check("menu")
	c.edit(3, func(s *Session) { s.State, s.Request = Ended, nil })
	b.until("document.querySelector('#fate').innerText !== ''")
	c.change(func() { c.sessions = nil })
	b.until("document.querySelector('#lock').disabled")
	check("closed")
	b.do(evaluate("location.hash = ''; localStorage.clear()"))
	b.until("!document.querySelector('#empty').hidden")
	check("empty")
	b.open(s, "/?again")
	b.do(evaluate(checker))
	b.until("document.querySelector('#key').open")
	check("asking for the key")
}
