package x11

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func dialTest(t testing.TB, s *xvfbtest.Server) *Conn {
	t.Helper()
	c, err := Dial(s.Display, s.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func watchTest(t testing.TB, s *xvfbtest.Server) *Watch {
	t.Helper()
	w, err := DialWatch(s.Display, s.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func TestDial(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 640, Height: 480})
	c := dialTest(t, s)
	if w, h := c.Size(); w != 640 || h != 480 {
		t.Errorf("Size() = %d, %d, want 640, 480", w, h)
	}
	if err := c.Sync(); err != nil {
		t.Error(err)
	}
	a, err := c.atom("WM_NAME")
	if err != nil || a != 39 {
		t.Errorf("atom(WM_NAME) = %d, %v, want 39", a, err)
	}
	c.Close()
	c.Close()
	if err := c.Sync(); !errors.Is(err, ErrClosed) {
		t.Errorf("Sync on a closed connection: %v, want ErrClosed", err)
	}
}

// A server that asks for a cookie must not be reached without it, whatever the
// environment's authority file says.
func TestDialRefused(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64})
	t.Setenv("XAUTHORITY", s.Xauthority)
	for name, c := range map[string]struct {
		display string
		cookie  []byte
	}{
		"wrong cookie": {s.Display, make([]byte, 16)},
		"no cookie":    {s.Display, nil},
		"short cookie": {s.Display, s.Cookie[:8]},
		"no display":   {"", s.Cookie},
		"host":         {"localhost" + s.Display, s.Cookie},
		"no server":    {":65000", s.Cookie},
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := Dial(c.display, c.cookie); err == nil {
				c.Close()
				t.Error("connected")
			}
			if w, err := DialWatch(c.display, c.cookie); err == nil {
				w.Close()
				t.Error("watches")
			}
		})
	}
}

// The race detector watches this: xgb registers extensions without a lock.
func TestDialManyAtOnce(t *testing.T) {
	servers := []*xvfbtest.Server{
		xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64}),
		xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64}),
		xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64}),
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			s := servers[i%len(servers)]
			c, err := Dial(s.Display, s.Cookie)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if err := c.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestServerDies(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64})
	c, w := dialTest(t, s), watchTest(t, s)
	s.Kill()
	<-c.Done()
	<-w.Done()
	if err := c.Sync(); !errors.Is(err, ErrClosed) {
		t.Errorf("Sync after the server died: %v, want ErrClosed", err)
	}
	if _, err := w.Take(); !errors.Is(err, ErrClosed) {
		t.Errorf("Take after the server died: %v, want ErrClosed", err)
	}
}

func TestCloseWhileServerHangs(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64})
	c, w := dialTest(t, s), watchTest(t, s)
	server, _ := os.FindProcess(s.PID)
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() { got <- c.Sync() }()
	time.AfterFunc(10*time.Millisecond, c.Close)
	if err := <-got; !errors.Is(err, ErrClosed) {
		t.Errorf("Sync with a hanging server: %v, want ErrClosed", err)
	}
	go func() {
		_, err := w.Take()
		got <- err
	}()
	time.AfterFunc(10*time.Millisecond, w.Close)
	if err := <-got; !errors.Is(err, ErrClosed) {
		t.Errorf("Take with a hanging server: %v, want ErrClosed", err)
	}
}
