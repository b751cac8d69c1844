//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// followEvery is how often a log that is followed is looked at.
const followEvery = 200 * time.Millisecond

// Log implements [engine.Engine]. The log is that of the last run; one that is followed
// goes on with the next run.
func (e *Engine) Log(ctx context.Context, w io.Writer, lines int, follow bool) error {
	f, err := os.Open(e.state.log())
	if errors.Is(err, fs.ErrNotExist) {
		return api.Errorf(api.CodeNotFound, "There is no log %s: the local computer %q has never run.", e.state.log(), e.cfg.Name).
			WithFix("Start it, for instance with `computer-use-mcp try`.")
	}
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	if err := skipToLast(f, lines); err != nil {
		return err
	}
	for {
		if _, err := io.Copy(w, f); err != nil || !follow {
			return err
		}
		if engine.Sleep(ctx, followEvery) != nil {
			return nil
		}
		if err := rewound(f); err != nil {
			return err
		}
		if next, err := e.state.nextLog(f); err == nil && next != nil {
			_, err = io.Copy(w, f) // what came after the look
			f.Close()
			f = next
			if err != nil {
				return err
			}
		}
	}
}

// rewound goes to the beginning of a log that the daemon has begun anew since it was read,
// because it had become too long.
func rewound(f *os.File) error {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < at {
		_, err = f.Seek(0, io.SeekStart)
	}
	return err
}

// nextLog opens the log of a later run than f's, nil when there is none.
func (d stateDir) nextLog(f *os.File) (*os.File, error) {
	old, err := f.Stat()
	if err != nil {
		return nil, err
	}
	now, err := os.Stat(d.log())
	if err != nil || os.SameFile(old, now) {
		return nil, err
	}
	return os.Open(d.log())
}

// skipToLast seeks to the beginning of the last lines of f.
func skipToLast(f *os.File, lines int) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return err
	}
	block := make([]byte, 64<<10)
	for below := end; below > 0; {
		at := max(0, below-int64(len(block)))
		part := block[:below-at]
		if _, err := f.ReadAt(part, at); err != nil {
			return err
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if at+int64(i) == end-1 {
				continue // it ends the last line
			}
			if lines--; lines <= 0 {
				_, err := f.Seek(at+int64(i)+1, io.SeekStart)
				return err
			}
		}
		below = at
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}
