package viewer

import (
	"context"
	"io"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// Computer is what the page shows. Its methods are called from many goroutines.
type Computer interface {
	// Sessions lists the live sessions, and the screens of ended ones that are still
	// watched, oldest first.
	Sessions() []Session
	// Wait returns as soon as Sessions returns something else than at version since,
	// with the present version, or with ctx's error. A first call takes 0.
	Wait(ctx context.Context, since uint64) (version uint64, err error)
	// Frame returns the picture of an open screen, or nil.
	Frame(screen int) *frame.Buffer
	// Sit takes a seat at an open screen. peer is the person's address. told is
	// called, from any goroutine, whenever the person has got control or no longer has
	// it, with a sentence for them when it was not their own doing; it returns at
	// once. The error is shown to them.
	Sit(screen int, peer string, told func(mine bool, why string)) (Seat, error)
	// Answer answers the agent's request for a person at a screen.
	Answer(screen int, a Answer)
}

// Seat is one person's place at a screen. It begins locked: its keys, its pointer and
// its clipboard go nowhere until TakeControl. Errors are shown to the person.
type Seat interface {
	// Serve speaks RFB with the page over rwc until either end leaves or ctx ends, and
	// gives up the seat. It closes rwc. It must be called once.
	Serve(ctx context.Context, rwc io.ReadWriteCloser) error
	// TakeControl returns when the person may act; what the agent was doing has
	// stopped by then.
	TakeControl(ctx context.Context) error
	// HandBack gives control back.
	HandBack()
	// ResetKeys releases every key and button, whoever pressed it. Only a person in
	// control may do so.
	ResetKeys(ctx context.Context) error
	// SetClipboard returns when programs on the screen can paste text. Only a person
	// in control may do so.
	SetClipboard(ctx context.Context, text string) error
}

// Session is one line of the page's list.
type Session struct {
	ID        string    `json:"id"` // tells lines apart
	Title     string    `json:"title"`
	Screen    int       `json:"screen"` // 0 while the session has none
	State     State     `json:"state"`
	StartedAt time.Time `json:"started_at"`
	Viewers   int       `json:"viewers"`
	Width     int       `json:"width"` // of the screen, in pixels
	Height    int       `json:"height"`
	// LastAction is what the agent did last, in a word or two; empty when nothing yet.
	LastAction   string    `json:"last_action,omitempty"`
	LastActionAt time.Time `json:"last_action_at,omitzero"`
	Control      Control   `json:"control"`
	// Request is what the agent asks a person for, nil when it does not.
	Request *Request `json:"request,omitempty"`
}

// State is how a session and its screen are.
type State string

// The states.
const (
	Live       State = "live"
	Restarting State = "restarting" // the screen's X server is being started again
	Ended      State = "ended"      // the screen closes when nobody watches it any more
)

// Control says who works a screen.
type Control struct {
	By    string    `json:"by"`             // nobody, agent or human
	Name  string    `json:"name,omitempty"` // of the person, as others see it
	Since time.Time `json:"since,omitzero"`
}

// Request is what an agent asks a person for.
type Request struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Answer is a person's answer to a Request.
type Answer string

// The answers.
const (
	HandedBack Answer = "handed_back"
	Declined   Answer = "declined"
)
