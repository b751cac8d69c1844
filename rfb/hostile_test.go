package rfb_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/freeports"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// startServer serves screens over TCP on loopback and returns the address of screen 1.
func startServer(t testing.TB, cfg func(screen int, peer net.Addr) rfb.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s := &rfb.Server{Config: cfg}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve returned %v", err)
		}
	})
	return l.Addr().String()
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// dialClient logs in over TCP.
func dialClient(t testing.TB, addr, password string, list ...int32) *rfbtest.Client {
	t.Helper()
	client := rfbtest.New(dial(t, addr))
	t.Cleanup(func() { client.Close() })
	must(t, client.Handshake(rfbtest.Options{Password: password}))
	if len(list) > 0 {
		must(t, client.SetEncodings(list...))
	}
	return client
}

// Checklist 46: many half-open connections cost little and keep nobody out.
// Each is told of at its end, however early that comes.
func TestChecklist46HalfOpen(t *testing.T) {
	c := newCanvas(20, 20)
	var there atomic.Int32
	t.Cleanup(func() { // after the server's end
		if n := there.Load(); n != 0 {
			t.Errorf("%d connections have no end", n)
		}
	})
	addr := startServer(t, func(int, net.Addr) rfb.Config {
		there.Add(1)
		return rfb.Config{Screen: c.screen, Password: "secret", OnEnd: func() { there.Add(-1) }}
	})
	before := runtime.NumGoroutine()
	var open []net.Conn
	for range 50 {
		open = append(open, dial(t, addr))
	}
	client := dialClient(t, addr, "secret")
	pixels(t, client, false)
	// All but the youngest sixteen of one peer were ended, and the client was not.
	ended := 0
	for _, conn := range open {
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.CopyN(io.Discard, conn, 12); err != nil {
			ended++
			continue
		}
		conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); errors.Is(err, io.EOF) || isReset(err) {
			ended++
		}
	}
	if ended < 30 {
		t.Errorf("only %d of 50 were ended", ended)
	}
	if n := runtime.NumGoroutine() - before; n > 30 {
		t.Errorf("%d goroutines for 50 half-open connections", n)
	}
	pixels(t, client, false)
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// Checklist 49 and 50: a reset in the middle of an update, and a viewer that closes
// its half, end one connection.
func TestChecklist49And50RudeEnds(t *testing.T) {
	c := newCanvas(500, 500)
	c.paint(c.bounds(), noise(1))
	in := newInput()
	addr := startServer(t, func(int, net.Addr) rfb.Config {
		return rfb.Config{Screen: c.screen, Password: "secret", Input: in, Role: rfb.Controller}
	})
	other := dialClient(t, addr, "secret", rfbtest.Raw)
	for _, end := range []func(*net.TCPConn){
		func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		func(c *net.TCPConn) { c.CloseWrite() },
	} {
		conn := dial(t, addr).(*net.TCPConn)
		client := rfbtest.New(conn)
		must(t, client.Handshake(rfbtest.Options{Password: "secret"}))
		must(t, client.Key('a', true))
		must(t, client.RequestAll(false))
		io.CopyN(io.Discard, conn, 1000)
		end(conn)
		in.want(t, keyed{'a', true}, released{})
	}
	c.sync(t, other)
}

// Checklist 15 (trap), 51: one viewer that does not read holds up nobody and is let go
// at its deadline.
func TestChecklist51Stall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(400, 300)
		_, stalled := func() (*rfbtest.Client, *running) {
			client, conn := connectConn(t, rfb.Config{Screen: c.screen, Role: rfb.Controller}, rfbtest.Raw)
			must(t, client.RequestAll(false)) // and never reads
			return client, conn
		}()
		good := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ZRLE)
		pixels(t, good, false)
		began := time.Now()
		for i := range 100 {
			c.paint(image.Rect(0, 0, 100, 100), noise(uint64(i)))
			c.screen.SetClipboard(fmt.Sprint("text ", i))
			c.screen.Bell()
			pixels(t, good, true)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the stalled viewer held up the other by %v", took)
		}
		<-stalled.ended
		if took := time.Since(began); took > 40*time.Second || stalled.err != rfb.ErrTimeout {
			t.Errorf("%v after %v", stalled.err, took)
		}
		c.sync(t, good)
	})
}

// Checklist 51: a viewer may stall anywhere in an update and go on.
func TestChecklist51SlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(400, 300)
		c.paint(c.bounds(), noise(1))
		near, _ := serveConn(t, rfb.Config{Screen: c.screen, NoAuth: true})
		client := rfbtest.New(slowly{near})
		must(t, client.Handshake(rfbtest.Options{}))
		c.sync(t, client)
	})
}

// slowly reads 1 KiB and then pauses.
type slowly struct{ net.Conn }

func (s slowly) Read(b []byte) (int, error) {
	time.Sleep(300 * time.Millisecond)
	return s.Conn.Read(b[:min(len(b), 1024)])
}

// Trap 16: a slow viewer takes bigger steps, and its memory stays the same.
func TestSlowViewerTakesBiggerSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(100, 80)
		near, _ := serveConn(t, rfb.Config{Screen: c.screen, NoAuth: true})
		client := rfbtest.New(slowly{near})
		must(t, client.Handshake(rfbtest.Options{}))
		must(t, client.SetEncodings(rfbtest.Raw))
		stop := make(chan struct{})
		drawn := make(chan int)
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					drawn <- i
					return
				case <-time.After(time.Second / 60):
					c.paint(c.bounds(), noise(uint64(i)))
				}
			}
		}()
		for i := range 3 {
			pixels(t, client, i > 0)
		}
		close(stop)
		if n := <-drawn; n < 300 {
			t.Errorf("only %d pictures were drawn in the meantime", n)
		}
		c.sync(t, client)
	})
}

// A viewer that asks without listening to the answers is stopped, not remembered.
func TestQuestionsWithoutListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(20, 20)
		client, conn := connectConn(t, rfb.Config{Screen: c.screen}, rfbtest.FenceSupport)
		sent := 0
		for client.Fence(rfbtest.FenceRequest, make([]byte, 64)) == nil {
			sent++
		}
		<-conn.ended
		if conn.err != rfb.ErrTimeout || sent > 5000 {
			t.Errorf("%d fences, then %v", sent, conn.err)
		}
	})
}

// Checklist 52: viewers of all formats and speeds, at once, all exact in the end.
func TestChecklist52ManyViewers(t *testing.T) {
	c := newCanvas(160, 100)
	addr := startServer(t, func(int, net.Addr) rfb.Config { return rfb.Config{Screen: c.screen, Password: "secret"} })
	var formats []string
	for name := range rfbtest.Formats {
		formats = append(formats, name)
	}
	slices.Sort(formats)
	stop := make(chan struct{})
	var drawing, viewing sync.WaitGroup
	drawing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				switch {
				case i%7 == 0:
					c.scroll(8)
				case i%50 == 0:
					c.paint(c.bounds(), photo)
				default:
					c.paint(image.Rect(i%100, i%80, i%100+60, i%80+20), noise(uint64(i)))
				}
			}
		}
	})
	var clients []*rfbtest.Client
	for i := range 20 {
		list := []int32{rfbtest.CopyRect, losslessEncodings[i%5], rfbtest.LastRect}
		if i%2 == 0 {
			list = append(list, rfbtest.FenceSupport, rfbtest.ContinuousUpdates)
		}
		client := dialClient(t, addr, "secret", list...)
		must(t, client.SetFormat(rfbtest.Formats[formats[i/2%len(formats)]]))
		clients = append(clients, client)
		viewing.Go(func() {
			for n := range 15 {
				pixels(t, client, n > 0)
			}
		})
	}
	viewing.Wait()
	close(stop)
	drawing.Wait()
	for _, client := range clients {
		c.sync(t, client)
	}
}

// Encoding for a second viewer with the same settings costs next to nothing.
func TestEncodedOnce(t *testing.T) {
	c := newCanvas(320, 240)
	list := []int32{rfbtest.ZRLE, rfbtest.LastRect}
	var clients []*rfbtest.Client
	for range 4 {
		client := connect(t, rfb.Config{Screen: c.screen}, list...)
		pixels(t, client, false)
		clients = append(clients, client)
	}
	for i := range 5 {
		c.paint(c.bounds(), photoAt(i))
		for _, client := range clients {
			pixels(t, client, true)
			c.same(t, client)
		}
	}
	infos := c.screen.Viewers()
	first := infos[0].Encoding
	for _, info := range infos[1:] {
		if info.Encoding > 2*first {
			t.Errorf("viewer %d spent %v encoding, the first %v", info.ID, info.Encoding, first)
		}
	}
}

func photoAt(shift int) func(x, y int) uint32 {
	return func(x, y int) uint32 { return photo(x+shift*3, y) }
}

// Checklist 53: nothing is left of viewers that have gone.
func TestChecklist53ComeAndGo(t *testing.T) {
	c := newCanvas(64, 64)
	addr := startServer(t, func(int, net.Addr) rfb.Config { return rfb.Config{Screen: c.screen, Password: "secret"} })
	visit := func() {
		conn, err := net.Dial("tcp", addr)
		must(t, err)
		client := rfbtest.New(conn)
		defer client.Close()
		must(t, client.Handshake(rfbtest.Options{Password: "secret"}))
		must(t, client.SetEncodings(rfbtest.ZRLE))
		pixels(t, client, false)
	}
	visit()
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	before := runtime.NumGoroutine()
	for range rounds {
		visit()
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before+2 || len(c.screen.Viewers()) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after, %d viewers", before, runtime.NumGoroutine(), len(c.screen.Viewers()))
		}
		runtime.Gosched()
	}
}

// A server has a port for each screen, and says so when one is taken.
func TestListen(t *testing.T) {
	base := freeports.Row(t, 4)
	var asked atomic.Int32
	c := newCanvas(20, 20)
	s := &rfb.Server{Config: func(screen int, peer net.Addr) rfb.Config {
		asked.Add(1)
		if screen != 2 {
			return rfb.Config{Screen: c.screen, Refuse: fmt.Errorf("screen %d is not open", screen)}
		}
		return rfb.Config{Screen: c.screen, Password: "secret"}
	}}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	listeners, err := rfb.Listen("127.0.0.1", base, 3)
	must(t, err)
	go func() { served <- s.Serve(ctx, listeners...) }()
	client := rfbtest.New(dial(t, fmt.Sprintf("127.0.0.1:%d", base+3)))
	err = client.Handshake(rfbtest.Options{Password: "secret"})
	if refused := (*rfbtest.Refused)(nil); !errors.As(err, &refused) || refused.Reason != "screen 3 is not open" {
		t.Errorf("screen 3: %v", err)
	}
	client.Close()
	pixels(t, dialClient(t, fmt.Sprintf("127.0.0.1:%d", base+2), "secret"), false)
	if _, err := rfb.Listen("127.0.0.1", base, 3); err == nil {
		t.Error("the ports were opened twice")
	}
	cancel()
	if err := <-served; err != context.Canceled {
		t.Errorf("ended with %v", err)
	}
}
