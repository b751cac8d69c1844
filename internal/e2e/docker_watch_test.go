package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// watched expects that a person with the viewer link gets the page and, on it, screen
// 1, and that a VNC program gets the same screen with the link's key as its password.
func (c *dockerComputer) watched(link string) {
	c.t.Helper()
	address, key, ok := strings.Cut(strings.TrimPrefix(link, "http://"), "/#key=")
	if want := fmt.Sprintf("127.0.0.1:%d", c.base); !ok || address != want {
		c.t.Errorf("the viewer link is %q, for %s", link, want)
		return
	}
	if err := c.page(address, key); err != nil {
		c.t.Errorf("viewer page: %v", err)
	}
	conn, err := c.dial(fmt.Sprintf("127.0.0.1:%d", c.base+1))
	if err != nil {
		c.t.Errorf("VNC: %v", err)
		return
	}
	if err := picture(conn, key); err != nil {
		c.t.Errorf("VNC: %v", err)
	}
}

func (c *dockerComputer) dialTCP(_ context.Context, _, address string) (net.Conn, error) {
	return c.dial(address)
}

// load gets the viewer page's document.
func (c *dockerComputer) load(address string) error {
	browser := &http.Client{Transport: &http.Transport{DialContext: c.dialTCP, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	page, err := browser.Get("http://" + address + "/")
	if err != nil {
		return err
	}
	defer page.Body.Close()
	body, err := io.ReadAll(page.Body)
	if err != nil || page.StatusCode != http.StatusOK || !strings.Contains(string(body), "<title>") {
		return fmt.Errorf("%s, %d bytes, %v", page.Status, len(body), err)
	}
	return nil
}

// page loads the viewer page, shows the key and looks at screen 1, as the page's own
// script does.
func (c *dockerComputer) page(address, key string) error {
	if err := c.load(address); err != nil {
		return err
	}
	open := func(path string, protocols ...string) (*websocket.Conn, error) {
		dialer := websocket.Dialer{NetDialContext: c.dialTCP, Subprotocols: protocols, HandshakeTimeout: 10 * time.Second}
		conn, _, err := dialer.Dial("ws://"+address+path, http.Header{"Origin": {"http://" + address}})
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		return conn, conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	}
	live, err := open("/live")
	if err != nil {
		return err
	}
	defer live.Close()
	if err := live.WriteJSON(map[string]string{"type": "hello", "key": key}); err != nil {
		return err
	}
	var welcome struct{ Type, Page string }
	if err := live.ReadJSON(&welcome); err != nil || welcome.Type != "welcome" {
		return fmt.Errorf("the key is answered with %+v, %v", welcome, err)
	}
	screen, err := open("/screens/1", "binary", "page."+welcome.Page)
	if err != nil {
		return err
	}
	return picture(&messages{Conn: screen}, "")
}

// picture gets one whole picture over RFB, checked by a strict client.
func picture(rwc io.ReadWriteCloser, password string) error {
	c := rfbtest.New(rwc)
	defer c.Close()
	if err := c.Handshake(rfbtest.Options{Password: password}); err != nil {
		return err
	}
	if err := c.RequestAll(false); err != nil {
		return err
	}
	for {
		message, err := c.Next()
		if err != nil {
			return err
		}
		if update, ok := message.(*rfbtest.Update); ok && update.Pixels() {
			break
		}
	}
	if c.Width != 1280 || c.Height != 800 {
		return fmt.Errorf("the screen is %d by %d", c.Width, c.Height)
	}
	return nil
}

// messages makes a stream of a WebSocket's binary messages.
type messages struct {
	*websocket.Conn
	current io.Reader
}

func (m *messages) Read(b []byte) (int, error) {
	for {
		if m.current == nil {
			var err error
			if _, m.current, err = m.NextReader(); err != nil {
				return 0, err
			}
		}
		n, err := m.current.Read(b)
		if err == io.EOF {
			m.current = nil
			err = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (m *messages) Write(b []byte) (int, error) {
	return len(b), m.WriteMessage(websocket.BinaryMessage, b)
}
