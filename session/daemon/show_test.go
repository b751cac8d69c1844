package daemon

import (
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// S0-225: whoever asks how a session's screen can be seen learns it when the screen
// opens, and not before.
func TestShow(t *testing.T) {
	h := newHarness(t)
	var asked []int
	h.daemon.cfg.Show = func(screen int) bool {
		asked = append(asked, screen)
		return true
	}
	type answer struct {
		api.ShowResult
		err error
	}
	show := func(id string, page bool) chan answer {
		c := make(chan answer, 1)
		go func() {
			r, err := h.Show(t.Context(), id, api.ShowRequest{Page: page})
			c <- answer{r, err}
		}()
		return c
	}
	id := h.start(t)
	shown := show(id, true)
	if _, _, err := h.Observe(t.Context(), id, api.ObserveRequest{}); err != nil {
		t.Fatal(err)
	}
	want := api.ShowResult{Screen: 1, Viewer: "http://127.0.0.1:20900/#key=abcdefgh&screen=1", VNCPort: 20901, Shown: true}
	if got := <-shown; got.err != nil || got.ShowResult != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(asked) != 1 || asked[0] != 1 {
		t.Errorf("pages were sent to %v", asked)
	}
	// For a VNC program no page is moved.
	want.Shown = false
	if got := <-show(id, false); got.err != nil || got.ShowResult != want || len(asked) != 1 {
		t.Errorf("%+v, want %+v", got, want)
	}

	// A session that ends without a screen ends the question.
	other := h.start(t)
	shown = show(other, true)
	if _, err := h.End(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if got := <-shown; code(got.err) != api.CodeSessionEnded {
		t.Errorf("%+v", got)
	}
}
