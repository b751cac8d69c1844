package e2e

import (
	"testing"
	"time"
)

// A start_computer while the computer runs, as every further session begins: the engine
// is asked for the container, and the daemon for a session. Goal: 150 ms.
func BenchmarkDockerWarmStart(b *testing.B) {
	c := newDockerComputer(b)
	a := c.agent()
	a.start("keeps the computer up")
	var took []time.Duration
	for range max(b.N, 5) {
		begin := time.Now()
		s := a.start("warm")
		took = append(took, time.Since(begin))
		s.end()
	}
	b.ReportMetric(ms(median(took)), "ms-to-session")
}

// From a stopped container to the session's first picture. Goal: 3 s.
func BenchmarkDockerStoppedToFirstImage(b *testing.B) {
	c := newDockerComputer(b)
	a := c.agent()
	a.start("makes the computer")
	var took []time.Duration
	for range max(b.N, 3) {
		docker(b, "stop", c.name)
		begin := time.Now()
		a.start("after the stop").observe()
		took = append(took, time.Since(begin))
	}
	b.ReportMetric(ms(median(took)), "ms-to-first-image")
}
