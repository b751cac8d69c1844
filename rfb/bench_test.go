package rfb

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"io"
	"testing"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// asker is a viewer that asks for an update when it is told to, and takes no time to
// read it.
type asker struct {
	said  *bytes.Reader
	ask   chan []byte
	taken chan int
}

func (a *asker) Read(p []byte) (int, error) {
	if a.said.Len() == 0 {
		more, ok := <-a.ask
		if !ok {
			return 0, io.EOF
		}
		a.said.Reset(more)
	}
	return a.said.Read(p)
}

func (a *asker) Write(p []byte) (int, error) {
	if p[0] == msgUpdate && len(p) > 4 { // and not the SecurityResult
		a.taken <- len(p)
	}
	return len(p), nil
}

func (a *asker) Close() error { return nil }

// BenchmarkUpdate measures all that one change costs one or ten viewers: capture
// excepted, from the publication to the last byte.
func BenchmarkUpdate(b *testing.B) {
	const w, h = 1280, 800
	pix := make([]uint32, w*h)
	type change func(i int) image.Rectangle
	kinds := map[string]change{
		"typing": func(i int) image.Rectangle { // a character of two colours
			r := image.Rect(i%150*8, i/150%45*16, 0, 0)
			r.Max = r.Min.Add(image.Pt(8, 16))
			fill(pix, w, r, func(x, y int) uint32 { return uint32(x*y+i) % 3 / 2 * 0xffffff })
			return r
		},
		"window": func(i int) image.Rectangle { // 400x300 in 40 colours
			r := image.Rect(100, 100, 500, 400)
			fill(pix, w, r, func(x, y int) uint32 { return uint32((x/5+y/3+i)%40) * 0x040506 })
			return r
		},
	}
	for name, change := range kinds {
		for _, viewers := range []int{1, 10} {
			for _, e := range []int32{7, 16} {
				b.Run(fmt.Sprintf("%s/%v/%d viewers", name, map[int32]string{7: "Tight", 16: "ZRLE"}[e], viewers), func(b *testing.B) {
					buffer := frame.NewBuffer()
					buffer.Reset(w, h)
					screen := NewScreen(buffer, "bench")
					var askers []*asker
					done := make(chan struct{})
					for range viewers {
						hello := versionLine + "\x01\x01" + encodings(1, e, -254)
						a := &asker{bytes.NewReader([]byte(hello)), make(chan []byte), make(chan int)}
						askers = append(askers, a)
						go func() {
							NewConn(a, Config{Screen: screen, NoAuth: true}).Run(context.Background())
							done <- struct{}{}
						}()
					}
					request := []byte("\x03\x01" + be16(0, 0, w, h))
					round := func(ask []byte) (n int) {
						for _, a := range askers {
							a.ask <- ask
						}
						for _, a := range askers {
							n += <-a.taken
						}
						return n
					}
					round([]byte("\x03\x00" + be16(0, 0, w, h)))
					b.ReportAllocs()
					sent := 0
					for i := 0; b.Loop(); i++ {
						r := change(i)
						buffer.Publish(pix, w, []image.Rectangle{r})
						sent += round(request)
					}
					b.ReportMetric(float64(sent)/float64(b.N)/float64(viewers), "wire-B/op")
					for _, a := range askers {
						close(a.ask)
						<-done
					}
				})
			}
		}
	}
}

func fill(pix []uint32, stride int, r image.Rectangle, f func(x, y int) uint32) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			pix[y*stride+x] = f(x, y)
		}
	}
}
