package capture_test

import (
	"context"
	"errors"
	"image"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// startPump captures a server until the test ends, and returns after the first
// picture.
func startPump(t testing.TB, s *xvfbtest.Server) (*capture.Pump, *frame.Buffer) {
	t.Helper()
	buf := frame.NewBuffer()
	pump, stop := runPump(t, s, buf)
	t.Cleanup(func() { stop() })
	return pump, buf
}

// runPump starts a Pump; stop ends it and returns Run's error.
func runPump(t testing.TB, s *xvfbtest.Server, buf *frame.Buffer) (pump *capture.Pump, stop func() error) {
	t.Helper()
	src, err := capture.Dial(s.Display, s.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	pump = capture.NewPump(src, buf)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- pump.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-result
	})
	refresh(t, pump)
	return pump, stop
}

func refresh(t testing.TB, p *capture.Pump) frame.Stamp {
	t.Helper()
	stamp, err := p.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stamp
}

// pixels returns a copy of the Buffer's part r.
func pixels(buf *frame.Buffer, r image.Rectangle) []uint32 {
	pix := make([]uint32, r.Dx()*r.Dy())
	buf.Read(func(v frame.View) { v.Copy(pix, r.Dx(), r) })
	return pix
}

func TestKnownDrawing(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 321, Height: 203})
	p := s.Painter(t)
	pump, buf := startPump(t, s)

	p.Fill(image.Rect(10, 20, 40, 50), 0xff8001)
	p.Fill(image.Rect(320, 202, 321, 203), 0x0000ff)
	p.Sync()
	stamp := refresh(t, pump)
	if want := (frame.Stamp{Epoch: 1, Gen: 1, Cursor: stamp.Cursor}); stamp != want {
		t.Errorf("stamp %+v, want %+v", stamp, want)
	}
	buf.Read(func(v frame.View) {
		at := func(x, y int) uint32 { return v.Pix[y*v.Width+x] }
		if at(10, 20) != 0xff8001 || at(39, 49) != 0xff8001 || at(40, 49) != 0 || at(39, 50) != 0 || at(320, 202) != 0xff {
			t.Error("the pixels are not what was painted")
		}
		var changed frame.CellSet
		v.Changed(frame.Stamp{Epoch: 1}, &changed)
		if changed.Count() != 4*5+1 { // x 8..40, y 16..56; and the corner
			t.Errorf("%d cells changed, want 21", changed.Count())
		}
	})

	p.Fill(image.Rect(10, 20, 40, 50), 0xff8001)
	p.Sync()
	if again := refresh(t, pump); again != stamp {
		t.Errorf("painting the same again made stamp %+v of %+v", again, stamp)
	}
}

// Nothing of a storm of drawing may be lost, whether the pump keeps up or not.
func TestStorm(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 640, Height: 480})
	pump, buf := startPump(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var watchers sync.WaitGroup
	watchers.Go(func() {
		var stamp frame.Stamp
		for ctx.Err() == nil {
			stamp, _ = buf.Wait(ctx, stamp)
		}
	})

	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	var painters sync.WaitGroup
	for i := range 3 {
		p := s.Painter(t)
		rnd := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		painters.Go(func() {
			for n := range 15000 {
				x, y := rnd.IntN(640), rnd.IntN(480)
				p.Fill(image.Rect(x, y, x+1+rnd.IntN(60), y+1+rnd.IntN(60)), rnd.Uint32()&0xffffff)
				if n%50 == 0 {
					p.Sync()
				}
			}
			p.Sync()
		})
	}
	painters.Wait()
	stamp := refresh(t, pump)
	if want := s.Painter(t).Pixels(image.Rect(0, 0, 640, 480)); !slices.Equal(pixels(buf, image.Rect(0, 0, 640, 480)), want) {
		t.Error("the Buffer is not the screen")
	}
	t.Logf("%d generations", stamp.Gen)
	cancel()
	watchers.Wait()
}

func TestRefreshManyAtOnce(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{})
	pump, buf := startPump(t, s)
	var wg sync.WaitGroup
	for i := range 50 {
		r := image.Rect(0, 0, 8, 8).Add(image.Pt(8*i, 8*i))
		p := s.Painter(t)
		wg.Go(func() {
			for n := range 20 {
				colour := uint32(n<<16 | i)
				p.Fill(r, colour)
				p.Sync()
				if _, err := pump.Refresh(t.Context()); err != nil {
					t.Error(err)
					return
				}
				if got := pixels(buf, r)[63]; got != colour {
					t.Errorf("after Refresh the pixel is %06x, not %06x", got, colour)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestServerDiesAndComesBack(t *testing.T) {
	buf := frame.NewBuffer()
	for epoch := uint64(1); epoch <= 2; epoch++ {
		s := xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 48})
		pump, stop := runPump(t, s, buf)
		if got := buf.Stamp().Epoch; got != epoch {
			t.Errorf("epoch %d, want %d", got, epoch)
		}
		waited := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := buf.Wait(ctx, buf.Stamp())
			waited <- err
		}()
		s.Kill()
		if _, err := pump.Refresh(t.Context()); !errors.Is(err, capture.ErrStopped) {
			t.Errorf("Refresh: %v, want ErrStopped", err)
		}
		if err := stop(); !errors.Is(err, capture.ErrStopped) && !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v, want ErrStopped", err)
		}
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("Wait: %v, want to go on waiting", err)
		}
	}
}

// A server that hangs must hold up neither Refresh nor the end of Run.
func TestServerHangs(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 48})
	pump, stop := runPump(t, s, frame.NewBuffer())
	if err := syscall.Kill(s.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := pump.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Refresh: %v, want its context's error", err)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v, want its context's error", err)
	}
}

// A program may change the screen's size; xrandr does it as one would.
func TestResize(t *testing.T) {
	xvfbtest.Need(t, "xrandr")
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 320, Height: 240})
	pump, buf := startPump(t, s)
	for _, args := range [][]string{
		{"--newmode", "small", "0", "160", "0", "0", "160", "120", "0", "0", "120"},
		{"--addmode", "screen", "small"},
		{"--output", "screen", "--mode", "small"},
	} {
		if out, err := s.Command("xrandr", args...).CombinedOutput(); err != nil {
			t.Fatalf("xrandr %v: %v: %s", args, err, out)
		}
	}
	p := s.Painter(t)
	p.Fill(image.Rect(100, 100, 300, 300), 0x123456)
	p.Sync()
	stamp := refresh(t, pump)
	if screen := image.Rect(0, 0, 160, 120); p.Bounds() != screen || stamp.Epoch != 2 || !slices.Equal(pixels(buf, screen), p.Pixels(screen)) {
		t.Errorf("epoch %d is not the screen of %v", stamp.Epoch, p.Bounds())
	}
}
