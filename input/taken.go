package input

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/x11"
)

const (
	// takenTimeout bounds the wait for a program to take its keys.
	takenTimeout = 5 * time.Second
	// unknownWait is how long a program of which nothing can be learnt is given.
	unknownWait = 500 * time.Millisecond
	// lookAgain is the time between two looks at a program that cannot answer.
	lookAgain = 2 * time.Millisecond
)

var errNotTaken = errors.New("the focused window took no keys for 5 s")

// waitTaken returns when the focused program has taken all keys so far, the last of
// which was struck at last. It asks the program, or sees it fall asleep, or at least
// gives it time.
func (d *Device) waitTaken(ctx context.Context, last time.Time) error {
	ctx, cancel := context.WithTimeoutCause(ctx, takenTimeout, errNotTaken)
	defer cancel()
	var f *x11.Focus
	pid := 0
	err := d.step(func() (err error) {
		if f, err = d.conn.Focus(); f != nil && !f.CanAnswer() {
			pid, err = f.PID()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case f == nil:
		return nil
	case f.CanAnswer():
		return f.Ping(ctx)
	}
	return d.waitAsleep(ctx, pid, last.Add(unknownWait))
}

// waitAsleep returns when a process has slept during a whole round trip of the X
// server: then it waits for events and has none, nor an answer of the X server, to wait for. Of a process that cannot be looked at it
// returns at unknown.
func (d *Device) waitAsleep(ctx context.Context, pid int, unknown time.Time) error {
	var before rest
	for {
		if err := d.Sync(); err != nil {
			return err
		}
		now, ok := restOf(pid)
		pause := lookAgain
		if !ok {
			pause = time.Until(unknown)
		} else if now.asleep && now == before {
			return nil
		}
		before = now
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !ok {
			return nil
		}
	}
}

// rest tells whether a process sleeps, and if it is still the same sleep.
type rest struct {
	asleep bool // all of its threads
	wakes  int  // how often they have been switched to
}

// restOf looks at a process, false if it cannot.
func restOf(pid int) (r rest, ok bool) {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "status"))
	if err != nil || len(threads) == 0 {
		return rest{}, false
	}
	r.asleep = true
	counts := 0
	for _, path := range threads {
		status, err := os.ReadFile(path)
		if err != nil {
			return rest{}, false
		}
		for line := range strings.Lines(string(status)) {
			key, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			switch key {
			case "State":
				r.asleep = r.asleep && strings.HasPrefix(value, "S")
			case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
				n, err := strconv.Atoi(value)
				if err != nil {
					return rest{}, false
				}
				r.wakes += n
				counts++
			}
		}
	}
	return r, counts == 2*len(threads)
}
