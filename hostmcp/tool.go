package hostmcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
)

// Tool is one row of the table of tools. To add a tool is to add a row: its schema,
// the checks of its arguments, errors, progress, order and the size of its result
// are the same for all.
type Tool struct {
	Name        string
	Title       string // for people
	Description string // for a model
	Fields      []Field

	// Hints for clients that ask a person before they call a tool.
	ReadOnly, Destructive, Idempotent, OpenWorld bool

	// Ordered tools of one session run one after another in the order in which the
	// calls arrived.
	Ordered bool
	// NoSession tools take no session id.
	NoSession bool

	Run Handler
}

// Handler does the work of a tool. Its arguments are checked and the session id has
// the right form. A returned error reaches the model with a code, see [api.AsError].
type Handler func(ctx context.Context, c *Call) (*Reply, error)

// Call is one call of a tool.
type Call struct {
	Tool    Tool
	Session string // empty for NoSession tools
	Args    []byte // a JSON object of the tool's fields

	// Computer is the client of the computer that the session is on; nil for
	// NoSession tools.
	Computer *client.Client

	server   *Server
	peer     *peer
	progress func(message string)
}

// Progress tells the person what the call is doing. It may be called at any time
// from one goroutine and does not block.
func (c *Call) Progress(message string) { c.progress(message) }

// with makes a Handler of a function that takes its arguments as a struct. The JSON
// names of A are the names of the tool's fields. Requests of package api check more than
// a Field can say; what they refuse does not reach the computer.
func with[A any](run func(ctx context.Context, c *Call, args A) (*Reply, error)) Handler {
	return func(ctx context.Context, c *Call) (*Reply, error) {
		var args A
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return nil, err
		}
		if r, ok := any(args).(interface{ Check() error }); ok {
			if err := r.Check(); err != nil {
				return nil, err
			}
		}
		return run(ctx, c, args)
	}
}

// sessionField is the first field of every tool that works in a session.
var sessionField = Field{
	Name: "session", Kind: String, Required: true,
	Doc: "What start_computer returned.",
}

// AllFields returns the tool's fields with the session.
func (t Tool) AllFields() []Field {
	if t.NoSession {
		return t.Fields
	}
	return append([]Field{sessionField}, t.Fields...)
}

// Tools returns the table of tools.
func Tools() []Tool {
	return slices.Concat(sessionTools(), screenTools(), waitTools(), shellTools(), fileTools(), appTools(), pageTools())
}

// checkSession refuses what cannot be a session id before anything is called.
func checkSession(id string) error {
	if api.ValidID(id) {
		return nil
	}
	return api.Errorf(api.CodeBadRequest, "The session %.60q is not a session id, which is 32 lower-case hex digits.", id).
		WithFix("Pass the session that start_computer returned, or call start_computer for a new one.")
}
