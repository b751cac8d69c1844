package daemon

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

// filesOf returns what does calls on files: this program again, as the programs' user.
func filesOf(o Options) files.Runner {
	// Not its path: the file may have been replaced by another version by now.
	return files.Runner{Command: []string{"/proc/self/exe", filesCommand}, Home: o.HomeDir, User: o.ProgramUser, Env: environ(o)}
}

// on makes a route's handler of a session's method that takes and returns JSON.
func on[R, A any](do func(*session.Session, context.Context, R) (A, error)) func(*Daemon, *call) (any, error) {
	return func(d *Daemon, c *call) (any, error) {
		var r R
		if err := c.decodeUpTo(bodyLimit(r), &r); err != nil {
			return nil, err
		}
		s, err := d.cfg.Table.Get(c.r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		return do(s, c.r.Context(), r)
	}
}

// bodyLimit returns how many bytes a request may have.
func bodyLimit(r any) int64 {
	switch r.(type) {
	case api.WriteFileRequest, api.EditFileRequest:
		return api.MaxFileBody
	}
	return api.MaxRequestBody
}

func (d *Daemon) readFile(c *call) (any, error) {
	var r api.ReadFileRequest
	s, err := d.session(c, &r)
	if err != nil {
		return nil, err
	}
	result, images, err := s.ReadFile(c.r.Context(), r)
	c.images = images
	return result, err
}
