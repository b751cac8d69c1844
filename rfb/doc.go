// Package rfb serves screens to VNC viewers: the server side of the remote
// framebuffer protocol (RFC 6143 and the community's registry of extensions), versions
// 3.3, 3.7 and 3.8.
//
// A [Screen] is what viewers look at: a [frame.Buffer] with a name, keyboard lights
// and a clipboard. A [Conn] is one viewer of it:
//
//	screen := rfb.NewScreen(buffer, "my screen")
//	conn := rfb.NewConn(netConn, rfb.Config{Screen: screen, Password: "secret"})
//	err := conn.Run(ctx)
//
// Run needs a reliable stream of bytes and nothing else of it: TCP, net.Pipe or a
// WebSocket. [Server] accepts TCP connections for any number of screens.
//
// # Reading and writing
//
// A Conn has two goroutines. The reader takes the viewer's messages, one at a time,
// notes what the viewer wants and wakes the writer. The writer owns the picture that
// the viewer has: what it was sent last, what it still has to get, which parts JPEG
// blurred. It sends one update at a time and only when the viewer has asked for one.
// There is no queue of frames. A Conn keeps the [frame.Stamp] that it sent last, so
// a slow viewer takes bigger steps, costs no memory, and holds up nobody else.
//
// An update that nobody has asked for is not even captured: the writer enters
// [frame.Buffer.Wait] only while a request is open.
//
// # Encoding once
//
// The Screen keeps one copy of the picture for all viewers, plans each step from one
// picture to the next once, and encodes each rectangle once for all viewers with
// equal settings (package [encode]).
//
// # Who may do what
//
// A Conn is a [Viewer] or a [Controller], and its owner may change that at any
// moment. Keys, buttons and clipboard text of a Viewer go nowhere. Config.OnInput
// lets the owner make a Viewer a Controller at its first key or button.
package rfb
