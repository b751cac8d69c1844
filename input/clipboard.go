package input

import (
	"context"
	"fmt"
	"strings"

	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// MaxClipboard is the most bytes of text that a Clipboard takes and gives.
const MaxClipboard = 10 << 20

// Clipboard is the text that programs of one screen copy and paste. Typing
// never touches it. It is safe for concurrent use.
type Clipboard struct {
	conn      *x11.Conn
	selection *x11.Selection
}

// NewClipboard returns the clipboard of an X server: "CLIPBOARD", or "PRIMARY" for
// the text that was marked last. conn may serve both, but is not a Device's, and stays the
// caller's to close.
func NewClipboard(conn *x11.Conn, name string) (*Clipboard, error) {
	var s *x11.Selection
	err := step(conn, func() (err error) {
		s, err = conn.Selection(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the clipboard: %w", err)
	}
	return &Clipboard{conn, s}, nil
}

// Run hands out the text that was Set to programs that paste. It returns when ctx ends
// or the X server is gone (x11.ErrClosed), and is called once.
func (c *Clipboard) Run(ctx context.Context) error { return c.selection.Run(ctx) }

// Get returns the text, "" when there is none. The program that copied it is
// given a few seconds. x11.ErrNoText and x11.ErrTooLarge can be matched.
func (c *Clipboard) Get(ctx context.Context) (string, error) {
	// An X server that hangs is found out first; then the time is the other program's.
	if err := step(c.conn, c.conn.Sync); err != nil {
		return "", fmt.Errorf("read the clipboard: %w", err)
	}
	text, err := c.selection.Get(ctx, MaxClipboard)
	if err != nil {
		return "", fmt.Errorf("read the clipboard: %w", err)
	}
	return strings.ToValidUTF8(text, "\ufffd"), nil
}

// Set puts a text in, which programs get while Run runs. A text above
// MaxClipboard bytes is refused with x11.ErrTooLarge.
func (c *Clipboard) Set(text string) error {
	err := x11.ErrTooLarge
	if len(text) <= MaxClipboard {
		err = step(c.conn, func() error { return c.selection.Set(text) })
	}
	if err != nil {
		return fmt.Errorf("set the clipboard: %w", err)
	}
	return nil
}

// Wait returns when the clipboard has changed since the change numbered seen, with the
// number of the latest one. 0 is before all changes. Set counts as a change too.
func (c *Clipboard) Wait(ctx context.Context, seen uint64) (uint64, error) {
	for {
		serial, next := c.selection.Changed()
		if serial != seen {
			return serial, nil
		}
		select {
		case <-next:
		case <-c.conn.Done():
			return seen, x11.ErrClosed
		case <-ctx.Done():
			return seen, context.Cause(ctx)
		}
	}
}
