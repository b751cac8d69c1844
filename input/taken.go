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
// which was struck at last. It asks the program, or sees it asleep, or at least gives
// it time.
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
		return d.waitAnswer(ctx, f)
	}
	return d.waitAsleep(ctx, pid, last.Add(unknownWait))
}

// waitAnswer asks a program and returns when it has answered.
func (d *Device) waitAnswer(ctx context.Context, f *x11.Focus) error {
	var answered <-chan struct{}
	var end func()
	err := d.step(func() (err error) {
		answered, end, err = f.Ping()
		return err
	})
	if err != nil {
		return err
	}
	defer end()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.conn.Done():
		return x11.ErrClosed
	}
}

// waitAsleep returns when a process has slept during a whole round trip of the X
// server. Then it waits for events and has none before it; had it waited for a reply,
// that would have woken it. After a process that cannot be looked at it returns at
// otherwise.
func (d *Device) waitAsleep(ctx context.Context, pid int, otherwise time.Time) error {
	var before rest
	for {
		if err := d.Sync(); err != nil {
			return err
		}
		now, known := restOf(pid)
		if known && now.asleep && now == before {
			return nil
		}
		before = now
		pause := lookAgain
		if !known {
			pause = time.Until(otherwise)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !known {
			return nil
		}
	}
}

// rest tells whether a process sleeps, and if it is still the same sleep.
type rest struct {
	asleep bool // all of its threads
	wakes  int  // how often they have been switched to
}

// restOf looks at a process. It reports false when there is none such.
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
