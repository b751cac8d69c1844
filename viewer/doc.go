// Package viewer serves the page on which people watch every screen and take over: the
// static page with noVNC in it, and two kinds of WebSocket.
//
//   - /live is a page's channel. The page shows the key in its first message and then
//     gets the list of sessions whenever it changes, small pictures of the screens it
//     asks for, and answers. See message.
//   - /screens/{number} carries RFB for the screen that the page has entered. It names
//     its page in a subprotocol, so that both have one fate and one right to act.
//
// What is behind the page is the daemon's business: the package knows it as a
// [Computer] and as the [Seat] that a page takes at a screen. Whether a person may act
// is decided there, never in the page.
//
// Every page in the world can send requests to a loopback port, so each request must
// name a loopback host with our port, may not come from another page, and reaches
// nothing but static files without the key.
package viewer
