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
	// answerTimeout bounds the wait for a program that answers.
	answerTimeout = 5 * time.Second
	// unknownWait is how long a program is given of which nothing can be learnt: it
	// does not answer, and is always busy or cannot be looked at.
	unknownWait = time.Second
	// lookAgain is the time between two looks at a program that does not answer.
	lookAgain = 2 * time.Millisecond
)

var errNoAnswer = errors.New("the focused window did not answer for 5 s")

// waitTaken returns when the focused program has taken all keys so far, the last of
// which was struck at last. It asks the program, or sees it asleep, or at least gives
// it time.
func (d *Device) waitTaken(ctx context.Context, last time.Time) error {
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
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
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
// server, or else at a given time. A program that sleeps waits for events and has none
// before it: had it waited for a reply, that would have woken it.
func (d *Device) waitAsleep(ctx context.Context, pid int, otherwise time.Time) error {
	var before rest
	for time.Now().Before(otherwise) {
		if err := d.Sync(); err != nil {
			return err
		}
		now := restOf(pid)
		if now.asleep && now == before {
			return nil
		}
		before = now
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// rest tells whether a process sleeps, and if it is still the same sleep.
type rest struct {
	asleep bool // all of its threads
	wakes  int  // how often they have been switched to
}

// restOf looks at a process. One that cannot be looked at is not known to sleep.
func restOf(pid int) rest {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "status"))
	if err != nil || len(threads) == 0 {
		return rest{}
	}
	r, counts := rest{asleep: true}, 0
	for _, path := range threads {
		status, err := os.ReadFile(path)
		if err != nil {
			return rest{}
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
					return rest{}
				}
				r.wakes += n
				counts++
			}
		}
	}
	if counts != 2*len(threads) {
		return rest{}
	}
	return r
}
