package viewer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/rfb"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const testKey = "k3yOfHom"

// fakeComputer is a Computer whose sessions a test writes. Every screen has a black
// picture of 640x400 until the test draws on it.
type fakeComputer struct {
	mu       sync.Mutex
	sessions []Session             // guarded by mu
	version  uint64                // guarded by mu
	news     chan struct{}         // closed and replaced at each change; guarded by mu
	frames   map[int]*frame.Buffer // guarded by mu
	answers  []string              // guarded by mu
	seats    []*fakeSeat           // all that were ever taken; guarded by mu
	newSeat  func(*fakeSeat) Seat  // wraps them, may be nil
}

func newFakeComputer(sessions ...Session) *fakeComputer {
	c := &fakeComputer{news: make(chan struct{}), frames: make(map[int]*frame.Buffer)}
	for _, s := range sessions {
		c.open(s)
	}
	return c
}

// open adds a session, with a picture if it has a screen.
func (c *fakeComputer) open(s Session) {
	c.change(func() {
		if s.State == "" {
			s.State = Live
		}
		if s.Control.By == "" {
			s.Control.By = "nobody"
		}
		c.sessions = append(c.sessions, s)
		if s.Screen > 0 {
			if s.Width == 0 {
				c.sessions[len(c.sessions)-1].Width, c.sessions[len(c.sessions)-1].Height = 640, 400
			}
			last := c.sessions[len(c.sessions)-1]
			c.frames[s.Screen] = frame.NewBuffer()
			c.frames[s.Screen].Reset(last.Width, last.Height)
		}
	})
}

func (c *fakeComputer) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.version++
	close(c.news)
	c.news = make(chan struct{})
}

// edit changes the session on a screen.
func (c *fakeComputer) edit(screen int, f func(*Session)) {
	c.change(func() {
		for i := range c.sessions {
			if c.sessions[i].Screen == screen {
				f(&c.sessions[i])
			}
		}
	})
}

func (c *fakeComputer) Sessions() []Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Session(nil), c.sessions...)
}

func (c *fakeComputer) Wait(ctx context.Context, since uint64) (uint64, error) {
	for {
		c.mu.Lock()
		version, news := c.version, c.news
		c.mu.Unlock()
		if version != since || since == 0 {
			return max(version, 1), nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (c *fakeComputer) Frame(screen int) *frame.Buffer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frames[screen]
}

func (c *fakeComputer) Sit(screen int, peer string, told func(bool, string)) (Seat, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frames[screen] == nil {
		return nil, fmt.Errorf("screen %d is not open", screen)
	}
	s := &fakeSeat{screen: screen, frame: c.frames[screen], told: told, typed: make(chan string, 1000), pasted: make(chan string, 10)}
	c.seats = append(c.seats, s)
	if c.newSeat != nil {
		return c.newSeat(s), nil
	}
	return s, nil
}

func (c *fakeComputer) Answer(screen int, a Answer) {
	c.edit(screen, func(s *Session) {
		s.Request = nil
		c.answers = append(c.answers, fmt.Sprintf("%d %s", screen, a))
	})
}

// lastSeat returns the seat taken last, or nil.
func (c *fakeComputer) lastSeat() *fakeSeat {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seats) == 0 {
		return nil
	}
	return c.seats[len(c.seats)-1]
}

// fakeSeat is a Seat that sends back what it receives, and writes down the rest.
type fakeSeat struct {
	screen int
	frame  *frame.Buffer
	told   func(bool, string)
	typed  chan string // what reached the screen
	pasted chan string

	mu   sync.Mutex
	mine bool // guarded by mu
}

func (s *fakeSeat) Serve(ctx context.Context, rwc io.ReadWriteCloser) error {
	defer context.AfterFunc(ctx, func() { rwc.Close() })()
	defer rwc.Close()
	_, err := io.Copy(rwc, rwc)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (s *fakeSeat) setMine(mine bool, why string) {
	s.mu.Lock()
	s.mine = mine
	s.mu.Unlock()
	s.told(mine, why)
}

func (s *fakeSeat) isMine() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mine
}

func (s *fakeSeat) TakeControl(context.Context) error { s.setMine(true, ""); return nil }
func (s *fakeSeat) HandBack()                         { s.setMine(false, "") }
func (s *fakeSeat) ResetKeys(context.Context) error   { s.typed <- "reset"; return nil }

func (s *fakeSeat) SetClipboard(_ context.Context, text string) error {
	if !s.isMine() {
		return errors.New("the screen is locked")
	}
	s.pasted <- text
	return nil
}

// served is a Server that answers on a port of this machine.
type served struct {
	*Server
	addr string // 127.0.0.1:port
	stop func() // may be called before the test ends
}

func serve(t testing.TB, c Computer) served {
	t.Helper()
	return serveAt(t, c, "127.0.0.1:0")
}

func serveAt(t testing.TB, c Computer, addr string) served {
	t.Helper()
	return serveLogged(t, c, addr, slog.New(slog.DiscardHandler))
}

func serveLogged(t testing.TB, c Computer, addr string, log *slog.Logger) served {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{
		Computer: c, Name: "test", Key: testKey, Expiry: time.Minute, Port: l.Addr().(*net.TCPAddr).Port,
		Guard: new(rfb.Guard), Logger: log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return served{s, l.Addr().String(), stop}
}

// dial opens a WebSocket as our own page would, but for the headers given.
func (s served) dial(path string, headers http.Header, protocols ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{"Origin": {"http://" + s.addr}}
	for k, v := range headers {
		h[k] = v
	}
	if h.Get("Origin") == "" {
		h.Del("Origin")
	}
	d := websocket.Dialer{Subprotocols: protocols}
	return d.Dial("ws://"+s.addr+path, h)
}

// openPage opens a channel with the right key and returns the page's id, too.
func (s served) openPage(t testing.TB) (*websocket.Conn, string) {
	t.Helper()
	conn, _, err := s.dial("/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.WriteJSON(map[string]string{"type": "hello", "key": testKey})
	var m message
	if err := conn.ReadJSON(&m); err != nil || m.Type != msgWelcome {
		t.Fatalf("no welcome: %+v, %v", m, err)
	}
	return conn, m.Page
}

// next reads messages until one of a type comes.
func next(t testing.TB, conn *websocket.Conn, kind string) message {
	t.Helper()
	for {
		var m message
		if err := conn.ReadJSON(&m); err != nil {
			t.Fatalf("wait for %q: %v", kind, err)
		}
		if m.Type == kind {
			return m
		}
	}
}

// wantClose reads until the connection ends, which must be with a code and a reason.
func wantClose(t testing.TB, conn *websocket.Conn, code int, reason string) {
	t.Helper()
	for {
		_, _, err := conn.ReadMessage()
		if err == nil {
			continue
		}
		var e *websocket.CloseError
		if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Text, reason) {
			t.Errorf("closed with %v, want code %d and %q", err, code, reason)
		}
		return
	}
}
