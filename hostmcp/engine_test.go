package hostmcp

import (
	"strings"
	"testing"
)

// What the engine has to say about the computer reaches the agent, and the engine hears
// when the server ends.
func TestEngineOfAServer(t *testing.T) {
	f := newFakeComputer(t)
	f.notes = []string{"It keeps its ports."}
	t.Run("server", func(t *testing.T) {
		c := connect(t, newServer(f, nil), "", nil)
		text, facts, _ := call(t, c, "start_computer", map[string]any{"title": "notes"})
		if notes, ok := facts["notes"].([]any); !ok || len(notes) != 1 || notes[0] != f.notes[0] || !strings.Contains(text, f.notes[0]) {
			t.Errorf("%v\n%s", facts, text)
		}
		if f.closed.Load() {
			t.Error("closed too early")
		}
	})
	if !f.closed.Load() {
		t.Error("the engine was not closed")
	}
}
