package shell

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRun measures a call beside plain bash, by turns, because the machine's load
// changes both.
func BenchmarkRun(b *testing.B) {
	for name, cgroups := range map[string]bool{"marks": false, "cgroups": true} {
		b.Run(name, func(b *testing.B) {
			bench := newBench(b, cgroups)
			var ours, plain []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				ours = append(ours, timed(func() { bench.run("true") }))
				plain = append(plain, timed(func() {
					cmd := exec.Command(bashPath, "-lc", prologue+"true")
					cmd.Env, cmd.Dir = bench.all.cfg.Env, bench.home
					cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
					if _, err := cmd.Output(); err != nil {
						b.Fatal(err)
					}
				}))
			}
			b.ReportMetric(median(ours), "p50-ms")
			b.ReportMetric(median(plain), "plain-ms")
			b.ReportMetric(median(ours)-median(plain), "overhead-ms")
		})
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// median returns the median in milliseconds.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Microseconds()) / 1000
}

// BenchmarkMarked measures one look at all processes.
func BenchmarkMarked(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		marked("COMPUTER_USE_CALL=none", 0, nil, unseen)
	}
	b.ReportMetric(float64(len(slices.Collect(numbers()))), "processes")
}
