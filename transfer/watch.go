package transfer

import (
	"context"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Watch returns a context that ends, with an [api.Error] of CodeTimeout as its cause,
// when moved is not called for api.TransferStall. moved may be called from any
// goroutine. stop ends the watch and the context.
func Watch(ctx context.Context) (watched context.Context, moved, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(api.TransferStall, func() {
		cancel(api.Errorf(api.CodeTimeout, "Nothing has moved for %v.", api.TransferStall).
			WithFix("Try again. If it stops again, a disk or the computer hangs: look at it with shell."))
	})
	moved = func() { timer.Reset(api.TransferStall) }
	return watched, moved, func() { timer.Stop(); cancel(nil) }
}
