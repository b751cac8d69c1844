package daemon

import (
	"context"
	"errors"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/session"
)

// screen makes a session.Screen of a display.Screen.
type screen struct {
	*display.Screen
}

// NewHolder returns a holder on the keyboard and pointer of the screen's present X
// server.
func (s screen) NewHolder(ctx context.Context) (session.Holder, error) {
	if err := s.Ready(ctx); err != nil {
		return nil, err
	}
	device, err := s.Input()
	if err != nil {
		return nil, err
	}
	return device.NewHolder(), nil
}

// openOn returns what opens screens for sessions.
func openOn(m *display.Manager) func(ctx context.Context, width, height int) (session.Screen, error) {
	return func(ctx context.Context, width, height int) (session.Screen, error) {
		s, err := m.Open(ctx, width, height)
		if errors.Is(err, display.ErrNoFreeScreen) {
			return nil, api.Errorf(api.CodeNoFreeScreen, "All %d screens are in use.", display.Screens).
				WithFix("End a session that is no longer needed with end_session, or close the viewers of ended ones.").WithRetry()
		}
		if err != nil {
			return nil, err
		}
		return screen{s}, nil
	}
}
