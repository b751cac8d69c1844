package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/rfb/vncauth"
)

// watchTimeout is how long one look as a viewer may take.
const watchTimeout = 10 * time.Second

// watch looks at the screen as people do: on the page, and with a VNC program.
func (x *examination) watch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	link, err := url.Parse(x.viewer)
	if err != nil || link.Host == "" {
		x.judge("page", ill("start_computer named the viewer link %q, which is none.", x.viewer), "")
		return
	}
	fragment, _ := url.ParseQuery(link.Fragment) // a key that is not there is a wrong one
	key := fragment.Get("key")
	x.judge("page", openPage(ctx, link, key), "http://%s/ answers, and takes the key of the viewer link", link.Host)

	screens := x.screens(ctx)
	i := slices.IndexFunc(screens, func(s api.Screen) bool { return s.Session == x.sessions[0] })
	if i < 0 {
		x.judge("vnc", ill("The screen of the session is not among those that the computer lists."), "")
		return
	}
	port := screens[i].VNCPort
	if port == 0 {
		x.pass("vnc", "no port is open: COMPUTER_USE_NATIVE_VIEWERS is off")
		return
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	words, err := openVNC(ctx, address, key)
	if err != nil {
		err = ill("A VNC program at %s would fail: %v.", address, err)
	}
	x.judge("vnc", err, "%s greets with RFB 3.8, takes the key as password, and shows %s", address, words)
}

// openPage gets the page and says hello on its channel, as its script does.
func openPage(ctx context.Context, link *url.URL, key string) error {
	page := "http://" + link.Host + "/"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	fix := "When another program has this port, set COMPUTER_USE_PORT_BASE to the first of 17 free ports and stop the computer; a proxy must leave 127.0.0.1 alone."
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r) // through no proxy
	if err != nil {
		return api.Errorf(api.CodeInternal, "The page %s does not answer: %v.", page, err).WithFix("%s", fix)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return api.Errorf(api.CodeInternal, "The page %s answers %s.", page, answer.Status).WithFix("%s", fix)
	}
	conn, answer, err := new(websocket.Dialer).DialContext(ctx, "ws://"+link.Host+"/live", http.Header{"Origin": {"http://" + link.Host}})
	if err != nil {
		return ill("The page's channel does not open: %v.", err)
	}
	answer.Body.Close()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var welcome struct{ Type string }
	if err = conn.WriteJSON(map[string]string{"type": "hello", "key": key}); err == nil {
		err = conn.ReadJSON(&welcome)
	}
	if err == nil && welcome.Type != "welcome" {
		err = fmt.Errorf("it answers %q", welcome.Type)
	}
	if err != nil {
		return ill("The page does not take the key of the viewer link: %v.", err)
	}
	return nil
}

// openVNC goes through the handshake of RFC 6143 section 7.1 to 7.3 with VNC
// authentication, and returns what the server says of its screen.
func openVNC(ctx context.Context, address, password string) (words string, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	const version = "RFB 003.008\n"
	greeting := make([]byte, len(version))
	if _, err := io.ReadFull(conn, greeting); err != nil {
		return "", fmt.Errorf("read the greeting: %w", err)
	}
	if string(greeting) != version {
		return "", fmt.Errorf("it greets with %q", greeting)
	}
	if _, err := io.WriteString(conn, version); err != nil {
		return "", err
	}
	if err := authenticate(conn, password); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte{1}); err != nil { // ClientInit: leave others connected
		return "", err
	}
	init := make([]byte, 24) // ServerInit up to the name
	if _, err := io.ReadFull(conn, init); err != nil {
		return "", fmt.Errorf("read what it shows: %w", err)
	}
	return fmt.Sprintf("%dx%d pixels", binary.BigEndian.Uint16(init), binary.BigEndian.Uint16(init[2:])), nil
}

// authenticate chooses VNC authentication (RFC 6143 section 7.2.2).
func authenticate(conn io.ReadWriter, password string) error {
	const vncAuthentication = 2
	count := make([]byte, 1)
	if _, err := io.ReadFull(conn, count); err != nil {
		return fmt.Errorf("read its security types: %w", err)
	}
	types := make([]byte, count[0])
	if _, err := io.ReadFull(conn, types); err != nil {
		return fmt.Errorf("read its security types: %w", err)
	}
	if !slices.Contains(types, vncAuthentication) {
		return fmt.Errorf("it offers the security types %v and not %d", types, vncAuthentication)
	}
	if _, err := conn.Write([]byte{vncAuthentication}); err != nil {
		return err
	}
	var challenge [vncauth.ChallengeSize]byte
	if _, err := io.ReadFull(conn, challenge[:]); err != nil {
		return fmt.Errorf("read its challenge: %w", err)
	}
	answer := vncauth.Answer(password, challenge)
	if _, err := conn.Write(answer[:]); err != nil {
		return err
	}
	result := make([]byte, 4)
	if _, err := io.ReadFull(conn, result); err != nil {
		return fmt.Errorf("read its verdict: %w", err)
	}
	if binary.BigEndian.Uint32(result) != 0 {
		return fmt.Errorf("it refuses the key")
	}
	return nil
}
