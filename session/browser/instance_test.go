package browser

import (
	"slices"
	"testing"
)

// S0-200: Chromium's own sandbox is off where another one is around it, and only there.
func TestOwnSandbox(t *testing.T) {
	for _, own := range []bool{false, true} {
		cfg := quietConfig(t)
		cfg.OwnSandbox = own
		i := &instance{browser: &Browser{all: New(cfg)}}
		if off := slices.Contains(i.argv(), "--no-sandbox"); off == own {
			t.Errorf("own sandbox %v: %q", own, i.argv())
		}
	}
}
