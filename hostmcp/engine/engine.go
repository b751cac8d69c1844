// Package engine says where a computer lives and how its daemon is reached. An
// engine finds or starts the computer; from the [Endpoint] on, every engine is used
// through the same HTTP client.
package engine

import (
	"context"
	"io"
	"net"

	"github.com/falleng0d/computer-use-mcp/api/client"
)

// Engine runs one computer of one name. Its methods may be called concurrently,
// also by several processes.
type Engine interface {
	// Name is the value of COMPUTER_USE_ENGINE that chooses this engine.
	Name() string

	// Ensure finds the running computer or starts it, and returns once its daemon
	// answers. It is idempotent, and cheap when the computer runs. It calls progress,
	// which must not block, with short sentences for the user. Failures are of type
	// [api.Error].
	Ensure(ctx context.Context, progress func(message string)) (*Endpoint, error)

	// Status looks without changing anything. A computer that does not run is a
	// Status, not an error.
	Status(ctx context.Context) (*Status, error)

	// Diagnose checks what a computer needs on this machine, in the order in which a
	// person would mend it, without changing anything. What cannot be checked because
	// of a check that failed is left out.
	Diagnose(ctx context.Context) []Check

	// Log writes the last lines of the log of the computer's daemon to w, 0 or more, and
	// with follow what is added to it, until ctx ends or there is nothing more to come. The
	// log holds no key and no token.
	Log(ctx context.Context, w io.Writer, lines int, follow bool) error

	// Close ends what this process does for people who watch the computer, which goes on
	// without it. Nothing may be called afterwards.
	Close()
}

// Endpoint is how the daemon of a running computer is reached.
type Endpoint struct {
	BaseURL string // of the API, "http://127.0.0.1:7070"
	Token   string // bearer token of every route but health

	// Dial opens connections to the API; nil means a plain TCP dial.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// ComputerID and HomeID are the identity that calls expect; see api.HeaderComputer.
	ComputerID, HomeID string

	// Viewer is the base URL of the viewer page without a key, empty when none is served.
	Viewer string

	// Notes are sentences about this computer that agent and user should know, such as a
	// setting that it does not follow.
	Notes []string
}

// Client returns a new client of the daemon.
func (e *Endpoint) Client() *client.Client {
	return &client.Client{BaseURL: e.BaseURL, Token: e.Token, Dial: e.Dial, Computer: e.ComputerID, Home: e.HomeID}
}

// State of a computer.
type State string

// The states.
const (
	StateStopped      State = "stopped"
	StateRunning      State = "running"
	StateUnresponsive State = "unresponsive" // its processes live, its daemon does not answer
)

// Status describes a computer for `info` and for error messages.
type Status struct {
	State    State
	Endpoint *Endpoint // nil unless running

	// PID is the daemon's process id on this machine, 0 when unknown or on another machine.
	PID int
	// HostPID translates a process id of the computer to one of this machine. It
	// returns 0 for a process that is not visible here.
	HostPID func(pid int) int

	// Details are lines for a person, in order: the state folder, the sandbox, ...
	Details []Detail
}

// Detail is one named fact of a Status.
type Detail struct {
	Name  string
	Value string
}
