package e2e

import (
	"fmt"
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

// The viewer page over a new connection, by a published port and through the Docker API.
func BenchmarkDockerPage(b *testing.B) {
	for _, publish := range []string{"on", "off"} {
		b.Run("publish="+publish, func(b *testing.B) {
			c := newDockerComputer(b, "COMPUTER_USE_PUBLISH="+publish)
			c.agent().start("has a page")
			var took []time.Duration
			for range max(b.N, 10) {
				begin := time.Now()
				if err := c.load(fmt.Sprintf("127.0.0.1:%d", c.base)); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			b.ReportMetric(ms(median(took)), "ms-to-page")
		})
	}
}
