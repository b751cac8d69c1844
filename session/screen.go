package session

import (
	"context"
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/input"
)

// Screen is what a session needs of an open screen. display.Screen is one but for
// NewHolder; session/daemon closes that gap. All methods may be called from any
// goroutine.
type Screen interface {
	Number() int        // 1 to 16
	Display() string    // ":5"
	Xauthority() string // path of the authority file
	XvfbPID() int

	Frame() *frame.Buffer
	// Refresh returns once the frame holds everything that the X server had drawn
	// after the input that was sent before the call.
	Refresh(ctx context.Context) (frame.Stamp, error)

	Windows(ctx context.Context) ([]x11.Window, error)
	Activate(ctx context.Context, id uint32) error
	NewHolder(ctx context.Context) (Holder, error)
	// Clipboard is that of the screen's present X server.
	Clipboard() (*input.Clipboard, error)

	// Env is the environment of programs on the screen, User who they run as; nil is the
	// user of this process.
	Env() []string
	User() *display.Credential
	// TakeNotes returns what the agent should be told about the screen, once.
	TakeNotes() []string
	Close(ctx context.Context) error
}

// Holder works the keyboard and the pointer and remembers what it pressed.
// input.Holder is one.
type Holder interface {
	Move(x, y int) error
	Button(button int, down bool) error // 1 left, 2 middle, 3 right, 8 back, 9 forward
	// Press, Click and Drag wait where they would make a double click of two clicks.
	// Apart waits for that beforehand.
	Apart(ctx context.Context, button int, place *image.Point) error
	Press(ctx context.Context, button int) error
	Key(keysym uint32, down bool) error
	Click(ctx context.Context, button, times int) error
	Scroll(direction input.Direction, steps int) error
	Drag(ctx context.Context, button int, from, to image.Point, d time.Duration) error
	// Chord holds the key for hold or until ctx ends, which is no error.
	Chord(ctx context.Context, c input.Chord, hold time.Duration) error
	Type(ctx context.Context, text string) error
	// Release lets go of what is pressed still. It may be called more than once.
	Release(ctx context.Context) error
}

// size returns the screen's size in pixels.
func size(s Screen) (width, height int) {
	s.Frame().Read(func(v frame.View) { width, height = v.Width, v.Height })
	return width, height
}
