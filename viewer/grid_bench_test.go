package viewer

import (
	"context"
	"fmt"
	"image"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// busy plays the pump of a screen on which everything changes all the time: it publishes
// a picture whenever somebody waits for one.
func busy(ctx context.Context, b *frame.Buffer, pictures [2][]uint32) {
	const width, height = 1280, 800
	for n := 0; ; n = 1 - n {
		for b.Waiters() == 0 {
			select {
			case <-b.Wanted():
			case <-ctx.Done():
				return
			}
		}
		b.Publish(pictures[n], width, []image.Rectangle{image.Rect(0, 0, width, height)})
		select {
		case <-time.After(time.Second / 60):
		case <-ctx.Done():
			return
		}
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// What a grid of sixteen busy screens costs in all but the grabbing of their pixels:
// %core is of one core. Each turn is a second.
func BenchmarkGridOfSixteen(b *testing.B) {
	c := newFakeComputer()
	var screens []int
	for n := 1; n <= 16; n++ {
		c.open(Session{ID: fmt.Sprint(n), Screen: n, Width: 1280, Height: 800})
		screens = append(screens, n)
	}
	s := serve(b, c)
	channel, _ := s.openPage(b)
	var pictures [2][]uint32
	for n := range pictures {
		pictures[n] = make([]uint32, 1280*800)
		for i := range pictures[n] {
			pictures[n][i] = uint32(i+n) * 0x10307 & 0xffffff
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, n := range screens {
		running.Go(func() { busy(ctx, c.Frame(n), pictures) })
	}
	got, bytes := 0, 0
	channel.WriteJSON(command{Type: cmdThumbnails, Screens: screens, Width: 320})
	before := cpuTime()
	start := time.Now()
	for b.Loop() {
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			kind, data, err := channel.ReadMessage()
			if err != nil {
				b.Fatal(err)
			}
			if kind == websocket.BinaryMessage {
				got++
				bytes += len(data)
			}
		}
	}
	took := time.Since(start)
	b.ReportMetric(100*float64(cpuTime()-before)/float64(took), "%core")
	b.ReportMetric(float64(got)/took.Seconds(), "pictures/s")
	b.ReportMetric(float64(bytes)/took.Seconds()/1000, "kB/s")
	stop()
	running.Wait()
}
