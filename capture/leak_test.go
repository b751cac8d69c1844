package capture_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// held returns what this process holds: open files, shared memory, goroutines.
func held(t *testing.T) (files, segments, goroutines int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if strings.Fields(line)[4] == fmt.Sprint(os.Getpid()) { // cpid
			segments++
		}
	}
	return len(fds), segments, runtime.NumGoroutine()
}

func TestOpenAndCloseLeavesNothing(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 320, Height: 200})
	buf := frame.NewBuffer()
	cycle := func() {
		_, stop := runPump(t, s, buf)
		stop()
	}
	cycle()
	files, _, goroutines := held(t)
	for range 100 {
		cycle()
	}
	// xgb's goroutines and the server's half of the segments end a moment later.
	var f, segments, g int
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if f, segments, g = held(t); f <= files && segments == 0 && g <= goroutines {
			return
		}
	}
	pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	t.Errorf("%d files, %d segments and %d goroutines; before %d, 0 and %d", f, segments, g, files, goroutines)
}

// Sixteen screens with a Pump and a watcher each, and nothing to see.
func TestIdleScreensCostNothing(t *testing.T) {
	for range 16 {
		s := xvfbtest.Start(t, xvfbtest.Options{})
		_, buf := startPump(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		go func() {
			var stamp frame.Stamp
			for ctx.Err() == nil {
				stamp, _ = buf.Wait(ctx, stamp)
			}
		}()
	}
	runtime.GC()
	before := processorTime(t)
	const rest = 2 * time.Second
	time.Sleep(rest)
	used := processorTime(t) - before
	t.Logf("16 idle screens used %v of processor time in %v", used, rest)
	if used > rest/200 {
		t.Errorf("that is more than half a percent")
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
