package session

import (
	"context"
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
)

// Configure pins settling values for the session and returns what is in force. It does
// not wait for observes and acts: a batch that is running takes the new values from its
// next step on.
func (s *Session) Configure(ctx context.Context, r api.ConfigureRequest) (*api.Settle, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	_, done, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s.tracker.Pin(settle.Pinned{
		Quiet: milliseconds(r.QuietMS), React: milliseconds(r.ReactMS),
		MaxWait: milliseconds(r.MaxWaitMS), ResidualBail: milliseconds(r.ResidualBailMS),
	})
	if r.IgnoreRegions != nil {
		rects := make([]image.Rectangle, 0, len(*r.IgnoreRegions))
		for _, region := range *r.IgnoreRegions {
			rects = append(rects, rectangle(region))
		}
		s.tracker.Ignore(rects)
	}
	return s.settleState(), nil
}

func milliseconds(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := duration(ms, 0)
	return &d
}

// settleState returns the settling values in force.
func (s *Session) settleState() *api.Settle {
	state := s.tracker.State(time.Now())
	out := &api.Settle{
		QuietMS: state.Config.Quiet.Milliseconds(), ReactMS: state.Config.React.Milliseconds(),
		MaxWaitMS: state.Config.MaxWait.Milliseconds(), ResidualBailMS: state.Config.ResidualBail.Milliseconds(),
		Pinned: []string{}, IgnoreRegions: regions(state.Ignore), AutoIgnored: regions(state.AutoIgnored),
	}
	for _, p := range []struct {
		name  string
		value *time.Duration
	}{
		{"quiet_ms", state.Pinned.Quiet},
		{"react_ms", state.Pinned.React},
		{"max_wait_ms", state.Pinned.MaxWait},
		{"residual_bail_ms", state.Pinned.ResidualBail},
	} {
		if p.value != nil {
			out.Pinned = append(out.Pinned, p.name)
		}
	}
	if len(state.Ignore) > 0 {
		out.Pinned = append(out.Pinned, "ignore_regions")
	}
	return out
}
