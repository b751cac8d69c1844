package session

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

// RequestHuman asks a person to take over the session's screen, which it opens if there
// is none, and waits for the answer; that nobody answers in time is one, too. Observes
// and acts do not wait for it. progress, which may be nil, is told when the person is
// asked.
func (s *Session) RequestHuman(ctx context.Context, r api.HumanRequest, progress func(api.Progress)) (result api.HumanResult, images []Image, err error) {
	if err := r.Check(); err != nil {
		return result, nil, err
	}
	call, done, err := s.begin(ctx)
	if err != nil {
		return result, nil, err
	}
	defer done()
	var d *Desktop
	if err := s.inTurn(call, func(_ context.Context, opened *Desktop) error {
		d = opened
		return nil
	}); err != nil {
		return result, nil, err
	}
	if progress != nil {
		progress(api.Progress{Message: "waiting for a person"})
	}
	if result.Outcome, err = ask(call, d.Control, strings.TrimSpace(r.Reason), duration(r.TimeoutMS, api.DefaultHumanTimeout)); err != nil {
		return result, nil, explain(call, err)
	}
	err = s.inTurn(call, func(ctx context.Context, d *Desktop) error {
		result.Observation, images, err = s.look(ctx, d, wish{view: s.viewOf(api.ImageOptions{})})
		return err
	})
	return result, images, err
}

// ask returns how a person answered.
func ask(ctx context.Context, lease *control.Lease, reason string, timeout time.Duration) (outcome string, err error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := lease.Ask(limited, reason)
	switch {
	case errors.Is(err, control.ErrAsked):
		return "", api.Errorf(api.CodeBusy, "A person has been asked already and has not answered.").
			WithFix("Wait for the answer to that request.").WithRetry()
	case err != nil && ctx.Err() == nil:
		return api.HumanTimedOut, nil
	case err != nil:
		return "", err
	case answer == control.Declined:
		return api.HumanDeclined, nil
	}
	return api.HumanHandedBack, nil
}
