package session

import (
	"encoding/json"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// patience is how many identical batches in a row may leave the screen unchanged.
const patience = 3

// guard refuses an agent that repeats itself without effect: the batch after patience
// identical ones that changed nothing. A screen that changed in between, by the batch
// or by itself, starts the count again. The zero value has seen nothing.
type guard struct {
	batch  string      // the batch that was repeated
	count  int         // how often in a row it left the screen unchanged
	screen frame.Stamp // after the last batch
}

// batchKey names a batch for the guard, empty for one that it does not watch: typing and
// focusing are never pointless, and waiting alone harms nobody.
func batchKey(actions []api.Action) string {
	acts := false
	for _, a := range actions {
		switch a.Kind {
		case api.KindType, api.KindFocus:
			return ""
		case api.KindWait:
		default:
			acts = true
		}
	}
	if !acts {
		return ""
	}
	key, _ := json.Marshal(actions) // of strings and numbers, cannot fail
	return string(key)
}

// check returns the refusal of a batch that is about to run on a screen.
func (g *guard) check(batch string, now frame.Stamp) error {
	if batch == "" || batch != g.batch || g.count < patience || !samePixels(g.screen, now) {
		return nil
	}
	return api.Errorf(api.CodeLoopRefused, "The same batch has run %d times in a row and the screen did not change.", g.count).
		WithFix("Look at the screen and do something else: another place, another key, or wait for the application.")
}

// ran notes that a batch has run, with the screen before and after it.
func (g *guard) ran(batch string, before, after frame.Stamp) {
	switch {
	case batch == "" || !samePixels(before, after):
		g.batch, g.count = "", 0
	case batch == g.batch && samePixels(g.screen, before):
		g.count++
	default:
		g.batch, g.count = batch, 1
	}
	g.screen = after
}

// samePixels reports whether two stamps are of the same picture; the pointer does not
// count.
func samePixels(a, b frame.Stamp) bool { return a.Epoch == b.Epoch && a.Gen == b.Gen }
