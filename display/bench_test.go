package display

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// BenchmarkOpen measures how long opening, the first picture and closing take.
func BenchmarkOpen(b *testing.B) {
	m := newManager(b)
	var opening, picture, closing time.Duration
	for b.Loop() {
		began := time.Now()
		s, err := m.Open(b.Context(), 1280, 800)
		if err != nil {
			b.Fatal(err)
		}
		opened := time.Now()
		pixel(b, s, 0, 0)
		pictured := time.Now()
		if err := s.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		opening += opened.Sub(began)
		picture += pictured.Sub(opened)
		closing += time.Since(pictured)
	}
	for name, d := range map[string]time.Duration{"open": opening, "picture": picture, "close": closing} {
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), "ms-"+name)
	}
}

// BenchmarkIdle reports the processor time that this process, without its
// children, uses in ten seconds with 16 open screens.
func BenchmarkIdle(b *testing.B) {
	m := newManager(b)
	for range Screens {
		s, err := m.Open(b.Context(), 1280, 800)
		if err != nil {
			b.Fatal(err)
		}
		waitManager(b, s)
		pixel(b, s, 0, 0)
	}
	for b.Loop() {
		before := cpuTime(b)
		time.Sleep(10 * time.Second) // the thing measured, not a wait for something
		b.ReportMetric((cpuTime(b) - before).Seconds(), "cpu-s/10s")
	}
}

// cpuTime returns the processor time of this process.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWindows lists four windows.
func BenchmarkWindows(b *testing.B) {
	m := newManager(b)
	s, err := m.Open(b.Context(), 1280, 800)
	if err != nil {
		b.Fatal(err)
	}
	for _, title := range []string{"one", "two", "three", "four"} {
		xterm(b, s, title, os.DevNull)
		waitWindow(b, s, title, true)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Windows(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
