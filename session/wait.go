package session

import (
	"context"
	"errors"
	"image"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

const (
	// waitQuiet is how long a screen must rest for a wait: longer than after an action,
	// because what a wait is called for comes in steps.
	waitQuiet = 500 * time.Millisecond
	// poll is how often conditions are looked at that nothing announces, filePoll that of
	// a file, for which each look is a process.
	poll     = 100 * time.Millisecond
	filePoll = 5 * poll
)

// Wait waits for a condition and answers with the screen. It takes its turn like an
// observe. That the condition is not met in time is an answer, not an error.
func (s *Session) Wait(ctx context.Context, r api.WaitRequest) (result api.WaitResult, images []Image, err error) {
	if err := r.Check(); err != nil {
		return result, nil, err
	}
	timeout := api.DefaultWaitTimeout
	if r.TimeoutMS != nil {
		timeout = time.Duration(*r.TimeoutMS) * time.Millisecond
	}
	err = s.inTurn(ctx, func(ctx context.Context, d *Desktop) error {
		if err := checkRegion(d.Screen, r.Region); err != nil {
			return err
		}
		if _, err := d.Screen.Refresh(ctx); err != nil {
			return err
		}
		start := time.Now()
		limited, cancel := context.WithTimeout(ctx, timeout)
		where, err := s.await(ctx, limited, d, r)
		cancel()
		if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return err
		}
		result.Met = err == nil
		result.WaitedMS = time.Since(start).Milliseconds()
		result.Region = region(where)
		result.Observation, images, err = s.look(ctx, d, wish{view: s.viewOf(api.ImageOptions{})})
		if !result.Met && (r.For == api.WaitWindow || r.For == api.WaitFile || r.For == api.WaitPort) {
			if note := s.work.lost(); note != "" {
				result.Notes = append(result.Notes, note)
			}
		}
		return err
	})
	return result, images, err
}

// await returns nil when the condition is met, and an error when limited, the call's ctx
// with the time to wait, ends before. What can be seen at once is looked at with ctx, so
// that the answer is true without any time as well. where is the part of the screen that
// changed, or still moves.
func (s *Session) await(ctx, limited context.Context, d *Desktop, r api.WaitRequest) (where image.Rectangle, err error) {
	switch r.For {
	case api.WaitChange:
		return awaitChange(limited, d.Screen.Frame(), r.Region)
	case api.WaitWindow:
		return where, awaitWindow(ctx, limited, d.Screen, r.Title)
	case api.WaitFile:
		folder := s.work.folder()
		return where, every(limited, filePoll, func() (there bool, err error) {
			_, err = s.table.cfg.Files.Call(ctx, files.Exists, folder, r, &there)
			return there, err
		})
	case api.WaitPort:
		address := net.JoinHostPort("localhost", strconv.Itoa(r.Port))
		dialer := net.Dialer{Timeout: time.Second} // a full backlog does not answer
		return where, every(limited, poll, func() (bool, error) {
			conn, err := dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				return false, nil
			}
			return true, conn.Close()
		})
	}
	return s.awaitStill(limited, d.Screen.Frame(), r.Region)
}

// every asks met now, after each interval and when ctx ends, until it is true or fails.
func every(ctx context.Context, interval time.Duration, met func() (bool, error)) error {
	for {
		last := ctx.Err()
		if ok, err := met(); ok || err != nil {
			return err
		}
		if last != nil {
			return last
		}
		_ = sleep(ctx, interval) // met is asked once more when that was ctx's end
	}
}

// awaitChange returns when a pixel inside the region changes, with the part that did.
func awaitChange(ctx context.Context, buf *frame.Buffer, where *api.Region) (changed image.Rectangle, err error) {
	start := buf.Stamp()
	for since := start; changed.Empty(); {
		if since, err = buf.Wait(ctx, since); err != nil {
			return changed, err
		}
		buf.Read(func(v frame.View) {
			var cells frame.CellSet
			v.Changed(start, &cells)
			if where != nil {
				cells.KeepRect(rectangle(*where))
			}
			changed = cells.Bounds()
		})
	}
	return changed, nil
}

// awaitStill returns when the region rests, with the part that changed before; when ctx
// ends, with the part that still moves. Unlike the wait after an action it leaves out only
// what the agent has asked for.
func (s *Session) awaitStill(ctx context.Context, buf *frame.Buffer, where *api.Region) (image.Rectangle, error) {
	state := s.tracker.State(time.Now())
	rules := settle.Config{Quiet: max(waitQuiet, state.Config.Quiet), ActiveCells: settle.ActiveCells}
	if where != nil { // what is small may be the very thing that is waited for
		rules.Region, rules.ActiveCells = rectangle(*where), settle.ReactCells
	}
	return settle.Rest(ctx, buf, rules, state.Ignore)
}

// awaitWindow returns when a window's title holds the given text, in any case.
func awaitWindow(ctx, limited context.Context, screen Screen, title string) error {
	for {
		stamp := screen.Frame().Stamp()
		windows, err := screen.Windows(ctx)
		if err != nil {
			return err
		}
		for _, w := range windows {
			if containsFold(w.Title, title) {
				return nil
			}
		}
		// Most windows announce themselves by changing the screen; one that opens
		// minimised or behind others does not.
		if err := changeOr(limited, screen.Frame(), stamp, 5*poll); err != nil {
			return err
		}
	}
}

// changeOr returns at the next change of the screen after since, or after d.
func changeOr(ctx context.Context, buf *frame.Buffer, since frame.Stamp, d time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	buf.Wait(limited, since)
	return ctx.Err()
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}
