package settle_test

import (
	"image"
	"testing"
	"testing/synctest"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// bufferPainter publishes straight into a Buffer.
type bufferPainter struct {
	buf    *frame.Buffer
	pix    []uint32
	width  int
	cursor frame.Cursor
}

func (p *bufferPainter) Resize(width, height int) {
	p.width, p.pix = width, make([]uint32, width*height)
	p.buf.Reset(width, height)
}

func (p *bufferPainter) Fill(r image.Rectangle, colour uint32) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			p.pix[y*p.width+x] = colour
		}
	}
	p.buf.Publish(p.pix, p.width, []image.Rectangle{r})
}

func (p *bufferPainter) Pointer(name string) {
	p.cursor.Serial++
	p.cursor.Name = name
	p.buf.SetCursor(p.cursor)
}

func TestSituationsInVirtualTime(t *testing.T) {
	for _, sit := range situations {
		t.Run(sit.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				buf := frame.NewBuffer()
				p := &bufferPainter{buf: buf}
				p.Resize(screen.Dx(), screen.Dy())
				sit.run(&stage{
					t: t, buf: buf, paint: p, refresh: func() {}, slack: 2 * ms,
					tracker: settle.NewTracker(settle.DefaultAutoIgnore),
				})
			})
		})
	}
}
