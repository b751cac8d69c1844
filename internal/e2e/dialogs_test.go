package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// Issue 9, items 1 and 6: page_text speaks of the page that is in front when that cannot be
// read, and says what is to be done: a dialog in front of a popup that could be read, the
// question whether to leave, a page whose process was killed.
func TestPageThatCannotBeRead(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	site := http.NewServeMux()
	site.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>Asks</title><body tabindex=0>the page<script>
			document.onkeydown = (e) => {
				if (e.key === "o") open("/popup", "", "width=300,height=200,noopener");
				if (e.key === "a") alert("Sure?");
				if (e.key === "u") onbeforeunload = (e) => e.preventDefault();
			};
		</script>`)
	})
	site.HandleFunc("GET /popup", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<!doctype html>the popup") })
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	c := newComputer(t)
	s := c.agent().start("asked")
	act := func(actions ...map[string]any) {
		t.Helper()
		s.on("computer_act", map[string]any{"stop_on_no_reaction": "never", "actions": actions})
	}
	key := func(key string, modifiers ...string) map[string]any {
		return map[string]any{"kind": "key", "key": key, "modifiers": append([]string{}, modifiers...)}
	}
	says := func(part string) {
		t.Helper()
		s.eventually("page_text says "+part, func() bool {
			got, err := s.try("page_text", map[string]any{"session": s.id})
			return strings.Contains(got.text+fmt.Sprint(err), part)
		})
	}

	s.shows(server.URL)
	act(key("o"))
	says("the popup")
	act(map[string]any{"kind": "click", "x": 800, "y": 700}, key("a"))
	says(`held up by its alert dialog, which says "Sure?"`)
	act(key("t", "ctrl"))
	says("New Tab")
	act(key("w", "ctrl"))
	says("held up by its alert")
	act(key("Enter"))
	says("the page")

	act(key("u"), key("F5"))
	says("asks whether to leave or reload the page")
	act(key("Escape"))
	says("the page")
	act(key("F5"))
	says("asks whether to leave")
	act(key("Enter"))
	says("the page")

	act(key("w", "ctrl")) // a renderer of its own is what the next page has
	s.shows(server.URL)
	for _, pids := range c.browsers() {
		for _, pid := range pids {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(line), "--type=renderer") {
				kill(t, pid)
			}
		}
	}
	says("has crashed")
	if text := s.observe().text; !strings.Contains(text, "A page of the browser crashed: "+server.URL) {
		t.Error(text)
	}
	act(key("F5"))
	says("the page")
}
