package client

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// releaseTimeout is how long a server process may take to end its sessions when it
// exits.
const releaseTimeout = 3 * time.Second

// ErrMoved as the cause of a context's end tells [Heart.Run] that the computer is no longer
// where its client looks for it. Another program may be there by now.
var ErrMoved = errors.New("the computer is somewhere else")

// Heart keeps the sessions of one server process alive.
type Heart struct {
	Client *Client
	Owner  string        // 32 lower-case hex digits, see api.NewID
	Every  time.Duration // api.HeartbeatEvery when 0
	Logger *slog.Logger  // nil is silence
}

// Run sends a heartbeat at once and then after each interval until ctx ends. Then it
// ends the owner's sessions, for which it takes at most 3 seconds, unless the cause is
// [ErrMoved]. A heartbeat that fails is logged and tried again at the next beat.
func (h *Heart) Run(ctx context.Context) error {
	every := h.Every
	if every == 0 {
		every = api.HeartbeatEvery
	}
	log := h.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		beat, cancel := context.WithTimeout(ctx, every)
		_, err := h.Client.Heartbeat(beat, h.Owner)
		cancel()
		if err != nil && ctx.Err() == nil {
			log.Warn("heartbeat", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), ErrMoved) {
				return nil
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
			defer cancel()
			_, err := h.Client.Release(last, h.Owner)
			return err
		}
	}
}
