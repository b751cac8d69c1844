package session

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
)

// The table of values in docs/settling.md is what the code says. S3-63: it has the limits.
func TestSettlingDoc(t *testing.T) {
	doc, err := os.ReadFile("../docs/settling.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		name     string
		of       func(settle.Config) time.Duration
		min, max time.Duration
	}{
		{"quiet_ms", func(c settle.Config) time.Duration { return c.Quiet }, api.MinQuiet, api.MaxQuiet},
		{"react_ms", func(c settle.Config) time.Duration { return c.React }, api.MinReact, api.MaxReact},
		{"max_wait_ms", func(c settle.Config) time.Duration { return c.MaxWait }, api.MinSettle, api.MaxSettle},
		{"residual_bail_ms", func(c settle.Config) time.Duration { return c.ResidualBail }, api.MinResidualBail, api.MaxResidualBail},
	} {
		common := v.of(settle.Defaults(settle.Action{}))
		var kinds []string
		for _, kind := range api.Kinds {
			if d := v.of(settle.Defaults(settle.Action{Kind: kind})); d != common {
				kinds = append(kinds, fmt.Sprintf("%s %d", kind, d.Milliseconds()))
			}
		}
		// The order of the kinds does not matter.
		row := fmt.Sprintf("| `%s` | %d |", v.name, common.Milliseconds())
		line := ""
		for l := range strings.Lines(string(doc)) {
			if strings.HasPrefix(l, row) {
				line = l
			}
		}
		for _, want := range append(kinds, fmt.Sprintf("| %d to %d |", v.min.Milliseconds(), v.max.Milliseconds())) {
			if !strings.Contains(line, want) {
				t.Errorf("the row %q... does not say %q: %q", row, want, line)
			}
		}
	}
	_, limits, _ := strings.Cut(string(doc), "## Limits")
	for _, limit := range []string{
		"change is not success", "caret may count", "thinking from done", "video and a progress bar look alike", "not by application",
	} {
		if !strings.Contains(limits, limit) {
			t.Errorf("no limit says %q", limit)
		}
	}
}
