package engine

import (
	"context"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Sleep waits for d. When ctx ends before, it returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Unavailable returns the error of an engine that cannot be used, of
// CodeEngineUnavailable.
func Unavailable(format string, args ...any) *api.Error {
	return api.Errorf(api.CodeEngineUnavailable, format, args...)
}
