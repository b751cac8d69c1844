package rfb

import (
	"net"
	"sync"
	"time"
)

// Guard slows down who guesses passwords. It counts wrong passwords of each peer
// and delays only the answer to the next wrong one: a connection is never refused
// and a right password never waits, so nobody can lock out a neighbour behind the
// same address. A success clears the count. The zero value is ready, and all
// connections of a computer should share one. A nil Guard delays each answer by
// the same short time.
type Guard struct {
	mu    sync.Mutex
	peers map[string]offender // guarded by mu
}

type offender struct {
	wrong int
	last  time.Time
}

const (
	minWrongDelay = 200 * time.Millisecond
	maxWrongDelay = 15 * time.Second
	guardForgets  = 10 * time.Minute
	guardPeers    = 1024 // remembered at most
)

// Right notes a right password of a peer, an address with or without its port.
func (g *Guard) Right(peer string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.peers, host(peer))
}

// Wrong notes a wrong password of a peer and returns how long its answer has to wait.
func (g *Guard) Wrong(peer string) time.Duration {
	if g == nil {
		return minWrongDelay
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.forget(now)
	if g.peers == nil {
		g.peers = make(map[string]offender)
	}
	o := g.peers[host(peer)]
	o.wrong, o.last = o.wrong+1, now
	g.peers[host(peer)] = o
	// Past ten doublings the limit has long been reached.
	return min(minWrongDelay<<min(o.wrong-1, 10), maxWrongDelay)
}

// forget drops old entries, and the oldest one of a full table. The caller holds mu.
func (g *Guard) forget(now time.Time) {
	oldest, found := "", now
	for peer, o := range g.peers {
		if now.Sub(o.last) > guardForgets {
			delete(g.peers, peer)
		} else if !o.last.After(found) {
			oldest, found = peer, o.last
		}
	}
	if len(g.peers) >= guardPeers {
		delete(g.peers, oldest)
	}
}

// host returns the address without its port: one peer, however many connections.
func host(addr string) string {
	if h, _, err := net.SplitHostPort(addr); err == nil {
		return h
	}
	return addr
}
