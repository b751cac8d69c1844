package daemon

import (
	"context"
	"io"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

// filesCommand is the argument that makes this program one that ServeFiles.
const filesCommand = "files"

// ServesFiles reports whether a program was started to serve one call on files, and
// not as a computer.
func ServesFiles(args []string) bool { return len(args) == 1 && args[0] == filesCommand }

// ServeFiles does one call on files as the user of this process, see package files.
func ServeFiles(stdin io.Reader, stdout io.Writer) error { return files.Serve(stdin, stdout) }

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
