package hostmcp

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
)

// peer is an MCP client, or several that the protocol does not tell apart. The
// sessions that it starts are its own and end when it leaves.
//
// Over stdio the peer is the one client. Over HTTP each client that says initialize is
// a peer of its own, with an id, until it says goodbye, loses its stream of events and
// does not come back, or is silent for too long. Since 2026-07-28 clients do none of
// that, so those are one peer together, which leaves with the server; a session that
// none of them uses ends by itself.
type peer struct {
	owner string // names the peer to the daemon

	// calls ends when its handlers must stop; hearts, later, when its sessions end.
	calls, hearts context.Context
	endCalls      context.CancelCauseFunc
	endHearts     context.CancelFunc

	computer  *client.Client          // where its heart beats, nil when it has none; guarded by Server.mu
	moveHeart context.CancelCauseFunc // ends that heart alone; guarded by Server.mu
	open      int                     // HTTP requests, streams of events among them; guarded by Server.mu
	lost      bool                    // a stream has ended since the last request; guarded by Server.mu
	absent    *time.Timer             // runs while it is lost and nothing is open, else nil; guarded by Server.mu
}

// Causes of calls that end early.
var (
	errExit = errors.New("the server is closing")
	errLeft = errors.New("the client has ended its connection")
)

// peerOf returns the peer of a connection.
func (s *Server) peerOf(session *mcp.ServerSession) *peer {
	id := session.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.peers[id]; p != nil {
		return p
	}
	p := &peer{owner: api.NewID()}
	p.calls, p.endCalls = context.WithCancelCause(s.calls)
	p.hearts, p.endHearts = context.WithCancel(s.hearts)
	s.peers[id] = p
	if id == "" {
		return p
	}
	s.running.Go(func() {
		_ = session.Wait() // why it ended makes no difference
		p.endCalls(errLeft)
		p.endHearts()
		s.mu.Lock()
		defer s.mu.Unlock()
		p.isHere()
		delete(s.peers, id)
	})
	return p
}

// isHere stops the clock of a peer's absence. The caller holds Server.mu.
func (p *peer) isHere() {
	if p.absent != nil {
		p.absent.Stop()
		p.absent = nil
	}
}

// request notes a request of the peer with an id, and its end when done is called.
//
// A client that has a stream of events open shows by it that it is there. When the
// stream ends, it opens another one or makes a request; for one that does neither for a
// while, gone is called. One that never opens a stream may be silent.
func (s *Server) request(id string, isStream bool, gone func()) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[id]
	if p == nil {
		return func() {}
	}
	p.open++
	p.lost = false
	p.isHere()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.open--
		p.lost = p.lost || isStream
		if p.open == 0 && p.lost && p.calls.Err() == nil {
			p.absent = time.AfterFunc(s.absence, gone)
		}
	}
}

// leave cancels what a peer's calls do, before the SDK waits for their ends.
func (s *Server) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.peers[id]; p != nil && id != "" {
		p.endCalls(errLeft)
	}
}

// keepAlive makes the computer keep the peer's sessions until it leaves.
func (s *Server) keepAlive(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat(p)
}

// beat has the peer's heart beat at the computer that was found last. Where it beat before
// nobody is sent the token any more. The caller holds Server.mu.
func (s *Server) beat(p *peer) {
	if p.computer == s.computer {
		return
	}
	if p.computer != nil {
		p.moveHeart(client.ErrMoved)
	}
	ctx, move := context.WithCancelCause(p.hearts)
	p.computer, p.moveHeart = s.computer, move
	heart := &client.Heart{Client: s.computer, Owner: p.owner, Logger: s.log}
	s.running.Go(func() {
		if err := heart.Run(ctx); err != nil {
			s.log.Debug("end sessions", "error", err)
		}
	})
}
