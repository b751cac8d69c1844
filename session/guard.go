package session

import (
	"encoding/json"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
)

// patience is how many identical batches in a row may leave the screen unchanged.
const patience = 3

// guard refuses an agent that repeats itself without effect: the batch after patience
// identical ones that changed nothing. A screen that changed in between, by the batch
// or by itself, starts the count again; a caret that blinks is no change. The zero value
// has seen nothing.
type guard struct {
	batch  string      // the last one
	count  int         // how often in a row it left the screen unchanged
	screen frame.Stamp // after it
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

// check returns the refusal of a batch that is about to run on a screen. Between two
// batches a change as small as a caret is not worth another try; during one it may be the
// effect, so there only known carets are left out.
func (g *guard) check(t *settle.Tracker, v frame.View, batch string) error {
	if batch != g.batch || !settle.Thin(t.Changed(time.Now(), v, g.screen)) {
		g.batch, g.count = batch, 0
	}
	if batch == "" || g.count < patience {
		return nil
	}
	return api.Errorf(api.CodeLoopRefused, "The same batch has run %d times in a row and the screen did not change.", g.count).
		WithFix("Look at the screen and do something else: another place, another key, or wait for the application.")
}

// ran notes that the checked batch has run, with the screen after it and the stamp of
// the one before.
func (g *guard) ran(t *settle.Tracker, v frame.View, before frame.Stamp) {
	g.count++
	if !t.Changed(time.Now(), v, before).Empty() {
		g.count = 0
	}
	g.screen = v.Stamp
}
