package capture_test

import (
	"fmt"
	"image"
	"testing"

	"github.com/falleng0d/computer-use-mcp/capture"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// BenchmarkCapture measures what a Pump does per change, without its pace: ask
// for the damage, copy it out of the X server, compare and publish it.
func BenchmarkCapture(b *testing.B) {
	for _, size := range []image.Point{{1280, 800}, {1920, 1080}} {
		for _, damage := range []image.Rectangle{{}, image.Rect(400, 300, 464, 364), {Max: size}} {
			b.Run(fmt.Sprintf("%dx%d/damage=%dx%d", size.X, size.Y, damage.Dx(), damage.Dy()), func(b *testing.B) {
				benchmarkCapture(b, size, damage)
			})
		}
	}
}

func benchmarkCapture(b *testing.B, size image.Point, damage image.Rectangle) {
	s := xvfbtest.Start(b, xvfbtest.Options{Width: size.X, Height: size.Y})
	painter := s.Painter(b)
	src, err := capture.Dial(s.Display, s.Cookie)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	buf := frame.NewBuffer()
	buf.Reset(size.X, size.Y)
	b.ReportAllocs()
	colour := uint32(0)
	for b.Loop() {
		b.StopTimer()
		colour++
		painter.Fill(damage, colour)
		painter.Sync()
		b.StartTimer()

		st, err := src.Poll()
		if err != nil {
			b.Fatal(err)
		}
		if len(st.Damage) == 0 {
			continue
		}
		err = src.Grab(st.Damage, func(pix []uint32, stride int) { buf.Publish(pix, stride, st.Damage) })
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCaptureStatic copies and compares a whole screen on which nothing
// changed.
func BenchmarkCaptureStatic(b *testing.B) {
	for _, size := range []image.Point{{1280, 800}, {1920, 1080}} {
		b.Run(fmt.Sprintf("%dx%d", size.X, size.Y), func(b *testing.B) {
			s := xvfbtest.Start(b, xvfbtest.Options{Width: size.X, Height: size.Y})
			src, err := capture.Dial(s.Display, s.Cookie)
			if err != nil {
				b.Fatal(err)
			}
			defer src.Close()
			if _, err := src.Poll(); err != nil {
				b.Fatal(err)
			}
			buf := frame.NewBuffer()
			buf.Reset(size.X, size.Y)
			screen := []image.Rectangle{{Max: size}}
			b.ReportAllocs()
			for b.Loop() {
				err := src.Grab(screen, func(pix []uint32, stride int) { buf.Publish(pix, stride, screen) })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
