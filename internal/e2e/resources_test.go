package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// usage is what a computer holds of things that must not grow.
type usage struct {
	descriptors int // of the daemon
	threads     int
	segments    int // of shared memory, on the machine
	processes   int // in the daemon's session of processes, zombies included
}

func (c *computer) usage() usage {
	pid := c.info().Daemon.PID
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	shm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/root/proc/sysvipc/shm", pid))
	procs, _ := os.ReadDir(fmt.Sprintf("/proc/%d/root/proc", pid))
	n := 0
	for _, p := range procs {
		if p.Name()[0] >= '0' && p.Name()[0] <= '9' {
			n++
		}
	}
	return usage{len(fds), len(tasks), strings.Count(string(shm), "\n"), n}
}

// 100 sessions open and close a screen; afterwards everything is as before.
func TestScreensLeaveNothing(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	cycle := func(n int) {
		var busy sync.WaitGroup
		for range 4 {
			busy.Go(func() {
				for range n / 4 {
					s := a.start("cycle")
					s.observe()
					s.end()
				}
			})
		}
		busy.Wait()
	}
	cycle(8) // what is made once is made now
	before := c.usage()
	cycle(100)
	var after usage
	a.eventually("as few descriptors, segments and processes as before", func() bool {
		after = c.usage()
		return after.descriptors <= before.descriptors && after.segments <= before.segments && after.processes <= before.processes
	})
	t.Logf("before %+v, after %+v", before, after)
}

func TestFiftyObservesAtOnce(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("popular")
	s.observe()
	var busy sync.WaitGroup
	for range 50 {
		busy.Go(func() {
			if got := s.observe(); got.image == nil {
				t.Errorf("no image: %s", got.text)
			}
		})
	}
	busy.Wait()
	s.observe()
}

// S0-69, S0-147: 16 screens, a clear refusal of the 17th, and a place when one ends.
func TestSixteenScreens(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	var opening sync.WaitGroup
	sessions := make([]*session, 16)
	for i := range sessions {
		opening.Go(func() {
			sessions[i] = a.start(fmt.Sprintf("screen %d", i))
			sessions[i].observe()
		})
	}
	opening.Wait()
	numbers := map[int]bool{}
	for _, s := range c.info().Screens {
		numbers[s.Number] = true
	}
	if len(numbers) != 16 || !numbers[1] || !numbers[16] {
		t.Errorf("screens %v", numbers)
	}
	extra := a.start("one too many")
	a.refused("no_free_screen", "computer_observe", map[string]any{"session": extra.id})

	sessions[3].end()
	extra.observe()
}
