package settle_test

import (
	"context"
	"fmt"
	"image"
	"sync"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// xPainter is an X program that draws on the screen.
type xPainter struct {
	*xvfbtest.Painter
	t      *testing.T
	server *xvfbtest.Server
}

func (p *xPainter) Fill(r image.Rectangle, colour uint32) {
	p.Painter.Fill(r, colour)
	p.Sync()
}

func (p *xPainter) Pointer(name string) { p.SetCursor(name) }

func (p *xPainter) Resize(width, height int) {
	mode := fmt.Sprintf("%dx%d-test", width, height)
	w, h := fmt.Sprint(width), fmt.Sprint(height)
	for _, args := range [][]string{
		{"--newmode", mode, "0", w, "0", "0", w, h, "0", "0", h},
		{"--addmode", "screen", mode},
		{"--output", "screen", "--mode", mode},
	} {
		if out, err := p.server.Command("xrandr", args...).CombinedOutput(); err != nil {
			p.t.Errorf("xrandr %v: %v\n%s", args, err, out)
		}
	}
}

// The same situations as in virtual time, drawn by an X program and captured.
func TestSituationsOnXvfb(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it takes 30 s of real time, and -short asks for less")
	}
	xvfbtest.Need(t, "xrandr")
	for _, sit := range situations {
		t.Run(sit.name, func(t *testing.T) {
			t.Parallel()
			// Xvfb can shrink its screen, and grow it only up to its first size.
			server := xvfbtest.Start(t, xvfbtest.Options{Width: 800, Height: 600})
			paint := &xPainter{Painter: server.Painter(t), t: t, server: server}
			paint.Resize(screen.Dx(), screen.Dy())
			buf, refresh := watchScreen(t, server)
			refresh()
			sit.run(&stage{
				t: t, buf: buf, paint: paint, refresh: refresh, slack: 400 * ms,
				tracker: settle.NewTracker(settle.DefaultAutoIgnore),
			})
		})
	}
}

// watchScreen captures a server's screen into a Buffer until the test ends.
func watchScreen(t testing.TB, server *xvfbtest.Server) (buf *frame.Buffer, refresh func()) {
	src, err := capture.Dial(server.Display, server.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	buf = frame.NewBuffer()
	pump := capture.NewPump(src, buf)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { pump.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return buf, func() {
		t.Helper()
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		if _, err := pump.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
