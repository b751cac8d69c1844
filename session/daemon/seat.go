package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/falleng0d/computer-use-mcp/input"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/session"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

// withInput is what people need of a screen beyond what its session does: the input
// device of its present X server.
type withInput interface{ Input() (*input.Device, error) }

// isDown reports whether a desktop's X server is gone and being started again.
func isDown(d *session.Desktop) bool {
	screen, ok := d.Screen.(withInput)
	if !ok {
		return false
	}
	_, err := screen.Input()
	return err != nil
}

// What people are told.
const (
	whyReplaced = "Somebody else took control. This screen is locked again."
	whyExpired  = "Nothing came from you for a while. This screen is locked again, and the agent may go on."
)

var (
	errLocked      = errors.New("the screen is locked")
	errNoClipboard = errors.New("this screen has no clipboard now")
	errClosed      = errors.New("the screen was closed")
)

// seat is a page's place at a desktop. It is a viewer.Seat.
type seat struct {
	desktop *session.Desktop
	board   *board
	peer    string
	log     *slog.Logger
	leave   func() // gives up the place
	told    func(mine bool, why string)

	// The connection asks for grant while it holds its own lock, and mu is held while
	// that lock is waited for.
	grant atomic.Pointer[control.Grant] // the last one; nil before the first

	mu   sync.Mutex
	conn *rfb.Conn // set by Serve; guarded by mu
	mine bool      // what the person was told; guarded by mu
}

// Serve shows the screen until the person leaves, ctx ends or the screen is closed.
func (s *seat) Serve(ctx context.Context, rwc io.ReadWriteCloser) error {
	defer s.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.desktop.Done():
			cancel(errClosed)
		case <-ctx.Done():
		}
	}()
	conn := rfb.NewConn(rwc, rfb.Config{
		Screen: s.board.screen, NoAuth: true, Peer: s.peer, Log: s.log,
		Input: &hands{desktop: s.desktop, acts: s.acts},
	})
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	s.tell("") // control may have come before the connection
	err := conn.Run(ctx)
	if grant := s.grant.Load(); grant != nil {
		grant.Leave()
	}
	return err
}

// TakeControl takes control from the agent, or from another person.
func (s *seat) TakeControl(context.Context) error {
	if grant := s.grant.Load(); grant == nil || !grant.Holds() {
		s.grant.Store(s.desktop.Control.Take(control.Person{Name: "A page", Lost: s.lost}))
		s.tell("")
	}
	return nil
}

// HandBack gives control back.
func (s *seat) HandBack() {
	if grant := s.grant.Load(); grant != nil {
		grant.HandBack()
		s.tell("")
	}
}

func (s *seat) lost(l control.Loss) {
	if l == control.Expired {
		s.tell(whyExpired)
	} else {
		s.tell(whyReplaced)
	}
}

// tell makes the connection and the person agree with the lease. It is called after
// every change, in whatever order, and looks at the lease itself.
func (s *seat) tell(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	grant := s.grant.Load()
	mine := s.conn != nil && grant != nil && grant.Holds()
	if mine == s.mine {
		return
	}
	s.mine = mine
	role := rfb.Viewer
	if mine {
		role = rfb.Controller
	}
	s.conn.SetRole(role)
	s.told(mine, why)
}

// acts reports whether the person may press a key or use the pointer.
func (s *seat) acts() bool {
	grant := s.grant.Load()
	return grant != nil && grant.Acts()
}

// ResetKeys releases what the person holds, by locking and unlocking the connection.
func (s *seat) ResetKeys(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mine {
		return errLocked
	}
	s.conn.SetRole(rfb.Viewer)
	s.conn.SetRole(rfb.Controller)
	return nil
}

// SetClipboard puts text on the screen's clipboard.
func (s *seat) SetClipboard(_ context.Context, text string) error {
	if !s.acts() {
		return errLocked
	}
	return setClipboard(s.desktop, text)
}

func setClipboard(d *session.Desktop, text string) error {
	clip, err := d.Screen.Clipboard()
	if err != nil {
		return errNoClipboard
	}
	return clip.Set(text)
}
