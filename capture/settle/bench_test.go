package settle_test

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/settle"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

var click = settle.Action{Kind: "click"}

// How late a verdict comes on a real X server: the time from the moment that the
// rules allow it (the quiet time after the last drawing) to the return of Watch.
func BenchmarkVerdictLateness(b *testing.B) {
	server := xvfbtest.Start(b, xvfbtest.Options{})
	paint := server.Painter(b)
	buf, refresh := watchScreen(b, server)
	refresh()
	tracker := settle.NewTracker(0)
	var late []time.Duration
	for i := range max(b.N, 20) {
		base := settle.Look(buf, tracker, nil)
		paint.Fill(button, uint32(0x102030*(i%2+1)))
		paint.Sync()
		drawn := time.Now()
		if _, err := settle.Watch(context.Background(), buf, tracker, click, base); err != nil {
			b.Fatal(err)
		}
		late = append(late, time.Since(drawn)-settle.Defaults(click).Quiet)
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms-late-p50")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "ms-late-p99")
}

// What waiting on a still screen costs this process: processor time per second.
func BenchmarkWaitOnStillScreen(b *testing.B) {
	server := xvfbtest.Start(b, xvfbtest.Options{})
	buf, refresh := watchScreen(b, server)
	refresh()
	tracker := settle.NewTracker(0)
	tracker.Pin(pinned(0, time.Second, 0, 0))
	before := processorTime(b)
	start := time.Now()
	for b.Loop() {
		if _, err := settle.Watch(context.Background(), buf, tracker, click, settle.Look(buf, tracker, nil)); err != nil {
			b.Fatal(err)
		}
	}
	used := processorTime(b) - before
	b.ReportMetric(float64(used.Microseconds())/1000/time.Since(start).Seconds(), "cpu-ms/s")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
