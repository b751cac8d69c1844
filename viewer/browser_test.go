package viewer

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
	"github.com/falleng0d/computer-use-mcp/rfb"
)

// rfbComputer is a fakeComputer whose seats speak real RFB.
type rfbComputer struct {
	*fakeComputer
	mu      sync.Mutex
	screens map[int]*rfb.Screen // guarded by mu
}

func newRFBComputer(sessions ...Session) *rfbComputer {
	c := &rfbComputer{fakeComputer: newFakeComputer(sessions...), screens: make(map[int]*rfb.Screen)}
	c.newSeat = func(s *fakeSeat) Seat {
		seat := &rfbSeat{fakeSeat: s, screen: c.screen(s.screen)}
		return seat
	}
	return c
}

func (c *rfbComputer) screen(number int) *rfb.Screen {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.screens[number] == nil {
		c.screens[number] = rfb.NewScreen(c.frames[number], fmt.Sprintf("screen %d", number))
	}
	return c.screens[number]
}

// rfbSeat is a seat at an rfb.Screen whose input is written down.
type rfbSeat struct {
	*fakeSeat
	screen *rfb.Screen
	conn   *rfb.Conn
}

func (s *rfbSeat) Serve(ctx context.Context, rwc io.ReadWriteCloser) error {
	s.fakeSeat.mu.Lock()
	s.conn = rfb.NewConn(rwc, rfb.Config{Screen: s.screen, NoAuth: true, Input: inputLog{s.typed}})
	s.fakeSeat.mu.Unlock()
	return s.conn.Run(ctx)
}

func (s *rfbSeat) TakeControl(context.Context) error {
	s.conn.SetRole(rfb.Controller)
	s.setMine(true, "")
	return nil
}

func (s *rfbSeat) HandBack() {
	s.conn.SetRole(rfb.Viewer)
	s.setMine(false, "")
}

// inputLog is an rfb.Input that writes down what comes.
type inputLog struct{ typed chan string }

func (i inputLog) put(format string, args ...any) error {
	select {
	case i.typed <- fmt.Sprintf(format, args...):
	default: // a test that does not read
	}
	return nil
}

func (i inputLog) Key(keysym uint32, down bool) error { return i.put("key %#x %v", keysym, down) }
func (i inputLog) Keycode(code byte, down bool) error { return i.put("code %d %v", code, down) }
func (i inputLog) Move(x, y int) error                { return nil }
func (i inputLog) Button(button int, down bool) error { return i.put("button %d %v", button, down) }
func (i inputLog) Release(context.Context) error      { return i.put("released") }

// tab is a page of the viewer in a real browser.
type tab struct {
	*browsertest.Tab
	t *testing.T
}

func startBrowser(t *testing.T) *tab {
	t.Helper()
	xvfbtest.NeedThat(t, New(Config{}).Complete(), "noVNC: run scripts/fetch-novnc")
	return &tab{browsertest.Start(t), t}
}

// visit goes to an address below the server's.
func (b *tab) visit(s served, path string) {
	b.t.Helper()
	b.Open("http://" + s.addr + path)
}
