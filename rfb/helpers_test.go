package rfb_test

import (
	"context"
	"image"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// canvas is a screen without an X server: tests draw on it and publish.
type canvas struct {
	*frame.Buffer
	screen        *rfb.Screen
	width, height int
	pix           []uint32
}

func newCanvas(width, height int) *canvas {
	c := &canvas{Buffer: frame.NewBuffer()}
	c.resize(width, height)
	c.screen = rfb.NewScreen(c.Buffer, "test")
	return c
}

func (c *canvas) resize(width, height int) {
	c.width, c.height = width, height
	c.pix = make([]uint32, width*height)
	c.Reset(width, height)
}

func (c *canvas) bounds() image.Rectangle { return image.Rect(0, 0, c.width, c.height) }

// paint sets the pixels of r to f of their place and publishes them.
func (c *canvas) paint(r image.Rectangle, f func(x, y int) uint32) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c.pix[y*c.width+x] = f(x, y) & 0xffffff
		}
	}
	c.Publish(c.pix, c.width, []image.Rectangle{r})
}

// Pictures of different kinds.
func flat(v uint32) func(x, y int) uint32 { return func(int, int) uint32 { return v } }

func gradient(x, y int) uint32 { return uint32(x&0xff)<<16 | uint32(y&0xff)<<8 | uint32((x+y)&0xff) }

func noise(seed uint64) func(x, y int) uint32 {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(int, int) uint32 { return r.Uint32() }
}

// colours makes a picture of n colours in small patches.
func colours(n int) func(x, y int) uint32 {
	return func(x, y int) uint32 {
		i := uint32((x/3*7 + y/2*13) % n)
		return i * 0x010305 * 37 & 0xffffff
	}
}

// text looks like lines of writing: dark marks on white.
func text(x, y int) uint32 {
	if y%16 < 11 && (x*x/5+x*y*3+y*7)%11 < 4 {
		return 0x202020
	}
	return 0xffffff
}

// serve runs a connection for the test's duration and returns its other end.
func serve(t testing.TB, cfg rfb.Config) net.Conn {
	t.Helper()
	near, _ := serveConn(t, cfg)
	return near
}

// running is a connection and, when it has ended, the error of its Run.
type running struct {
	*rfb.Conn
	stop  context.CancelFunc
	ended chan struct{}
	err   error
}

func serveConn(t testing.TB, cfg rfb.Config) (net.Conn, *running) {
	t.Helper()
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Conn: rfb.NewConn(far, cfg), stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.err = r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		near.Close()
		<-r.ended
	})
	return near, r
}

// connect logs in and lists encodings.
func connect(t testing.TB, cfg rfb.Config, list ...int32) *rfbtest.Client {
	t.Helper()
	c, _ := connectConn(t, cfg, list...)
	return c
}

func connectConn(t testing.TB, cfg rfb.Config, list ...int32) (*rfbtest.Client, *running) {
	t.Helper()
	cfg.NoAuth = cfg.Password == ""
	near, r := serveConn(t, cfg)
	c := rfbtest.New(near)
	t.Cleanup(func() { c.Close() })
	must(t, c.Handshake(rfbtest.Options{Password: cfg.Password}))
	if len(list) > 0 {
		must(t, c.SetEncodings(list...))
	}
	return c, r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// next reads messages until one is of type M.
func next[M any](t testing.TB, c *rfbtest.Client) M {
	t.Helper()
	for {
		msg, err := c.Next()
		must(t, err)
		if m, ok := msg.(M); ok {
			return m
		}
	}
}

// pixels asks for updates until one carries pixels, beginning with a full request
// when incremental is false.
func pixels(t testing.TB, c *rfbtest.Client, incremental bool) *rfbtest.Update {
	t.Helper()
	for {
		must(t, c.RequestAll(incremental))
		if u := next[*rfbtest.Update](t, c); u.Pixels() {
			return u
		}
		incremental = true
	}
}

// sync asks for updates until the client's picture is the canvas's.
func (c *canvas) sync(t testing.TB, client *rfbtest.Client) {
	t.Helper()
	incremental := false
	for range 100 {
		pixels(t, client, incremental)
		incremental = true
		if c.differ(client).Empty() {
			return
		}
	}
	t.Fatalf("after 100 updates the picture differs in %v", c.differ(client))
}

// differ returns the bounds of the pixels that are not what the format makes of
// the canvas.
func (c *canvas) differ(client *rfbtest.Client) image.Rectangle {
	var box image.Rectangle
	for y := range c.height {
		for x := range c.width {
			want, got := c.pix[y*c.width+x], client.Pix[y*c.width+x]
			if client.Format.TrueColour {
				want = client.Format.Value(want)
			} else {
				want, got = cube(want), client.RGB(x, y)
			}
			if got != want {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return box
}

// cube is the nearest colour of a cube of six shades of each part.
func cube(v uint32) uint32 {
	part := func(v uint32) uint32 { return (v&0xff*5 + 127) / 255 * 0x33 }
	return part(v>>16)<<16 | part(v>>8)<<8 | part(v)
}

// same fails when the client's picture is not the canvas's.
func (c *canvas) same(t testing.TB, client *rfbtest.Client) {
	t.Helper()
	if d := c.differ(client); !d.Empty() {
		t.Fatalf("the picture differs in %v", d)
	}
}

// input records what a viewer did.
type input struct {
	mu     sync.Mutex
	events []any
	heard  chan struct{}
}

type (
	keyed struct {
		keysym uint32
		down   bool
	}
	coded struct {
		code byte
		down bool
	}
	moved   struct{ x, y int }
	clicked struct {
		button int
		down   bool
	}
	released struct{}
)

func newInput() *input { return &input{heard: make(chan struct{}, 1000)} }

func (i *input) add(e any) error {
	i.mu.Lock()
	i.events = append(i.events, e)
	i.mu.Unlock()
	i.heard <- struct{}{}
	return nil
}

func (i *input) Key(keysym uint32, down bool) error { return i.add(keyed{keysym, down}) }
func (i *input) Keycode(code byte, down bool) error { return i.add(coded{code, down}) }
func (i *input) Move(x, y int) error                { return i.add(moved{x, y}) }
func (i *input) Button(button int, down bool) error { return i.add(clicked{button, down}) }
func (i *input) Release(context.Context) error      { return i.add(released{}) }

// got waits for the next n events and returns them.
func (i *input) got(t testing.TB, n int) []any {
	t.Helper()
	for range n {
		select {
		case <-i.heard:
		case <-time.After(10 * time.Second):
			t.Fatalf("only these events came: %v", i.all())
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	events := i.events
	i.events = nil
	return events
}

func (i *input) all() []any {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]any(nil), i.events...)
}
