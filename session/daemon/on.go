package daemon

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session"
)

// handler does the work of a route. What it returns is encoded as the route's answer.
type handler = func(*daemon, *call) (result any, err error)

// on makes a route's handler of a session's method that takes and returns JSON.
func on[R, A any](do func(*session.Session, context.Context, R) (A, error)) handler {
	return inSession(func(s *session.Session, c *call, r R) (A, []session.Image, error) {
		result, err := do(s, c.r.Context(), r)
		return result, nil, err
	})
}

// onImages is on for a method that returns images too.
func onImages[R, A any](do func(*session.Session, context.Context, R) (A, []session.Image, error)) handler {
	return inSession(func(s *session.Session, c *call, r R) (A, []session.Image, error) {
		return do(s, c.r.Context(), r)
	})
}

// onProgress is onImages for a method that tells how far it is.
func onProgress[R, A any](do func(*session.Session, context.Context, R, func(api.Progress)) (A, []session.Image, error)) handler {
	return inSession(func(s *session.Session, c *call, r R) (A, []session.Image, error) {
		return do(s, c.r.Context(), r, c.progress)
	})
}

func inSession[R, A any](do func(*session.Session, *call, R) (A, []session.Image, error)) handler {
	return func(d *daemon, c *call) (any, error) {
		var r R
		s, err := d.session(c, &r)
		if err != nil {
			return nil, err
		}
		result, images, err := do(s, c, r)
		c.images = images
		return result, err
	}
}

// session returns the session that the path names, after decoding the body into v.
func (d *daemon) session(c *call, v any) (*session.Session, error) {
	if err := c.decode(v); err != nil {
		return nil, err
	}
	return d.cfg.Table.Get(c.r.PathValue("id"))
}
