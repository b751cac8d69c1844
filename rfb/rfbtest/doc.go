// Package rfbtest is a VNC client that forgives nothing: it decodes all that a
// server may send (RFC 6143 and the community's extensions) and reports whatever
// departs from the protocol, or was never asked for, as a [Slip] with its place in
// the stream. It is for tests of servers.
//
// Reading (Handshake, Next) belongs to one goroutine. The methods that send may be
// called from another.
package rfbtest

import "fmt"

// Slip is a server's breach of the protocol.
type Slip struct {
	Offset int64  // bytes of the server's stream before what is wrong
	In     string // what was being read: "version", "Tight rectangle 10,0 8x8", ...
	What   string
}

func (s *Slip) Error() string {
	return fmt.Sprintf("protocol slip at byte %d in %s: %s", s.Offset, s.In, s.What)
}
