package display

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input"
)

// answerTime bounds every method of a Screen, also while it is being started
// again.
const answerTime = 4500 * time.Millisecond

// Ready returns when the screen can be used. It waits for a screen that is being
// started again, for less than 5 seconds, and then returns an [ErrScreenDown].
func (s *Screen) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err := s.ready(ctx)
	return err
}

// ready waits for the connections. At the end of ctx it says why there are none.
func (s *Screen) ready(ctx context.Context) (*connections, error) {
	for {
		s.mu.Lock()
		conns, up := s.conns, s.up
		s.mu.Unlock()
		if conns != nil {
			return conns, nil
		}
		select {
		case <-up:
		case <-s.failed:
			return nil, s.down()
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, s.down()
		}
	}
}

// down returns the error of a screen that is down.
func (s *Screen) down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("screen %d: %w: %w", s.number, ErrScreenDown, s.err)
}

// Clipboard returns the clipboard of the screen's programs. What is said of Input holds
// for it too.
func (s *Screen) Clipboard() (*input.Clipboard, error) {
	s.mu.Lock()
	conns := s.conns
	s.mu.Unlock()
	if conns == nil {
		return nil, s.down()
	}
	return conns.clipboard, nil
}

// Input returns the screen's keyboard and pointer. It does not wait. A
// new X server has a new Device and calls on the old one fail ([x11.ErrClosed]), so
// do not keep it.
func (s *Screen) Input() (*input.Device, error) {
	s.mu.Lock()
	conns := s.conns
	s.mu.Unlock()
	if conns == nil {
		return nil, s.down()
	}
	return conns.device, nil
}

// Refresh brings the Frame up to date with everything that the X server drew up to
// now, including what input sent before has caused it to draw, and returns the
// Stamp.
func (s *Screen) Refresh(ctx context.Context) (frame.Stamp, error) {
	return ask(ctx, s, func(ctx context.Context, c *connections) (frame.Stamp, error) {
		if err := c.device.Sync(); err != nil {
			return frame.Stamp{}, err
		}
		return c.pump.Refresh(ctx)
	})
}

// Windows returns the windows on the screen, the topmost first.
func (s *Screen) Windows(ctx context.Context) ([]x11.Window, error) {
	return ask(ctx, s, func(_ context.Context, c *connections) ([]x11.Window, error) {
		return c.windows.Windows()
	})
}

// focusTime is how long a window has to take the keyboard.
const focusTime = 2 * time.Second

// Activate brings a window to the front and gives it the keyboard. It returns when
// the window has it. The error matches [x11.ErrNoWindow] if there is no such window.
func (s *Screen) Activate(ctx context.Context, id uint32) error {
	_, err := ask(ctx, s, func(ctx context.Context, c *connections) (struct{}, error) {
		short, cancel := context.WithTimeout(ctx, focusTime)
		defer cancel()
		err := c.windows.Activate(short, id)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = fmt.Errorf("activate a window: it did not take the keyboard within %v", focusTime)
		}
		return struct{}{}, err
	})
	return err
}

// ask calls f with the screen's connections and gives up on it after answerTime. If
// the X server goes away under f, f is called again with the next one.
func ask[T any](ctx context.Context, s *Screen, f func(context.Context, *connections) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		conns, err := s.ready(limited)
		if err != nil {
			var none T
			return none, err
		}
		value, err := within(limited, func() (T, error) { return f(limited, conns) })
		switch {
		case ctx.Err() != nil:
			return value, ctx.Err()
		case limited.Err() != nil:
			// It may hang. Connections that cannot be made again get it replaced.
			conns.cancel(errNoAnswer)
			return value, fmt.Errorf("screen %d: %w: %w", s.number, ErrScreenDown, errNoAnswer)
		case !errors.Is(err, x11.ErrClosed) && !errors.Is(err, capture.ErrStopped):
			return value, err
		}
		select {
		case <-conns.done:
		case <-limited.Done():
		}
	}
}

// within calls f, which waits for replies without looking at ctx, and returns
// ctx's error if that ends first. f then ends with the connection at the latest.
func within[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := f()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
