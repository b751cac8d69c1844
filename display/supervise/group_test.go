package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bench is a set of fake units that note what happens to them, under virtual
// time.
type bench struct {
	mu    sync.Mutex
	log   []string // guarded by mu
	start time.Time
	live  map[string]*fake                     // guarded by mu; the latest incarnation of each
	fail  map[string][]error                   // guarded by mu; errors for the coming starts
	hook  map[string]func(ctx context.Context) // called inside Start
}

type fake struct {
	b    *bench
	name string
	once sync.Once
	done chan struct{}
	err  error
}

func newBench() *bench {
	return &bench{
		start: time.Now(), live: map[string]*fake{}, fail: map[string][]error{},
		hook: map[string]func(context.Context){},
	}
}

func (b *bench) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := time.Since(b.start).Milliseconds()
	b.log = append(b.log, fmt.Sprintf("%d ", at)+fmt.Sprintf(format, args...))
}

// take returns what happened since the last call.
func (b *bench) take() []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	log := b.log
	b.log = nil
	return log
}

func (b *bench) unit(name string) Unit {
	return Unit{Name: name, Start: func(ctx context.Context) (Running, error) {
		if hook := b.hook[name]; hook != nil {
			hook(ctx)
		}
		b.mu.Lock()
		if errs := b.fail[name]; len(errs) > 0 {
			b.fail[name] = errs[1:]
			b.mu.Unlock()
			b.note("no %s", name)
			return nil, errs[0]
		}
		f := &fake{b: b, name: name, done: make(chan struct{})}
		b.live[name] = f
		b.mu.Unlock()
		if ctx.Err() != nil {
			b.note("canceled %s", name)
			return nil, ctx.Err()
		}
		b.note("start %s", name)
		return f, nil
	}}
}

func (f *fake) Done() <-chan struct{} { return f.done }
func (f *fake) Err() error            { return f.err }
func (f *fake) Stop() {
	f.b.note("stop %s", f.name)
	f.once.Do(func() { close(f.done) })
}

// die ends the latest incarnation of a unit by itself.
func (b *bench) die(name string) {
	b.mu.Lock()
	f := b.live[name]
	b.mu.Unlock()
	f.err = errors.New(name + " died")
	f.once.Do(func() { close(f.done) })
}

// run runs a group of the units and returns a function that ends it.
func (b *bench) run(units ...Unit) (stop func() error) {
	g := &Group{Units: units, Policy: DefaultPolicy, Report: func(e Event) {
		b.note("event %d %s", e.Kind, e.Unit)
	}}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- g.Run(ctx) }()
	return func() error { cancel(); return <-result }
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%q\nwant\n\t%q", got, want)
	}
}

func TestGroupStartsInOrderAndStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		stop := b.run(b.unit("a"), b.unit("b"), b.unit("c"))
		want(t, b.take(), "0 start a", "0 start b", "0 start c", "0 event 0 ")
		if err := stop(); err != nil {
			t.Error(err)
		}
		want(t, b.take(), "0 stop c", "0 stop b", "0 stop a")
	})
}

func TestGroupRestartsWhatStoodOnTheUnitThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		stop := b.run(b.unit("a"), b.unit("b"), b.unit("c"))
		b.take()
		time.Sleep(time.Minute)
		b.die("b")
		want(t, b.take(), "60000 stop c", "60000 stop b", "60000 event 1 b",
			"60000 start b", "60000 start c", "60000 event 0 ")
		stop()
	})
}

func TestGroupIgnoresTheExitOfAnOlderIncarnation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		stop := b.run(b.unit("a"), b.unit("b"))
		b.take()
		time.Sleep(time.Minute)
		// Both end at once, as when an X server takes its window manager along.
		b.die("a")
		b.die("b")
		synctest.Wait()
		time.Sleep(time.Minute)
		log := b.take()
		if n := count(log, "start a"); n != 1 {
			t.Errorf("a was started %d times again: %q", n, log)
		}
		if log[len(log)-1] != "60000 event 0 " {
			t.Errorf("the last event is not that all is up: %q", log)
		}
		stop()
	})
}

// count returns how often something happened, at whatever time.
func count(log []string, what string) (n int) {
	for _, line := range log {
		if strings.HasSuffix(line, " "+what) {
			n++
		}
	}
	return n
}

func TestGroupBacksOffAndFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		boom := errors.New("boom")
		b.fail["a"] = slices.Repeat([]error{boom}, 10)
		stop := b.run(b.unit("a"), b.unit("b"))
		time.Sleep(time.Minute)
		want(t, b.take(), "0 no a", "0 event 2 a", "0 no a", "0 event 2 a", "200 no a", "200 event 2 a",
			"600 no a", "600 event 2 a", "1400 no a", "1400 event 2 a", "3000 no a")
		if err := stop(); !errors.Is(err, boom) {
			t.Errorf("error %v, want the last failure", err)
		}
	})
}

func TestGroupCountsAgainAfterAStableRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		stop := b.run(b.unit("a"))
		for range 3 * DefaultPolicy.Tries {
			time.Sleep(DefaultPolicy.Stable)
			b.die("a")
			synctest.Wait()
		}
		b.take()
		for range DefaultPolicy.Tries {
			b.die("a")
			time.Sleep(DefaultPolicy.Stable - time.Millisecond)
		}
		if err := stop(); err == nil {
			t.Errorf("the group still runs a unit that never stays up: %q", b.take())
		}
	})
}

func TestGroupGoesOnWithoutAnOptionalUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		wm := b.unit("wm")
		wm.Optional = true
		b.fail["wm"] = []error{fmt.Errorf("start wm: %w", ErrNoProgram)}
		stop := b.run(b.unit("a"), wm)
		want(t, b.take(), "0 start a", "0 no wm", "0 event 3 wm", "0 event 0 ")
		// A new base gives it another chance.
		b.die("a")
		want(t, b.take(), "0 stop a", "0 event 1 a", "0 start a", "0 start wm", "0 event 0 ")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestGroupInterruptsAStartWhoseBaseEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		first := true
		b.hook["b"] = func(ctx context.Context) {
			if first {
				first = false
				<-ctx.Done() // a unit that is never ready
			}
		}
		stop := b.run(b.unit("a"), b.unit("b"))
		b.take()
		b.die("a")
		want(t, b.take(), "0 canceled b", "0 stop a", "0 event 1 a", "0 start a", "0 start b", "0 event 0 ")
		stop()
	})
}

func TestGroupStopsDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.fail["b"] = slices.Repeat([]error{errors.New("boom")}, 3)
		stop := b.run(b.unit("a"), b.unit("b"))
		time.Sleep(300 * time.Millisecond)
		b.take()
		if err := stop(); err != nil {
			t.Error(err)
		}
		want(t, b.take(), "300 stop a")
	})
}

func TestGroupReplacesTheBaseOfAUnitThatCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		boom := errors.New("boom")
		b.fail["b"] = slices.Repeat([]error{boom}, DefaultPolicy.Tries)
		stop := b.run(b.unit("a"), b.unit("b"))
		time.Sleep(time.Minute)
		log := b.take()
		if n := count(log, "start a"); n != 2 {
			t.Errorf("a was started %d times: %q", n, log)
		}
		want(t, log[len(log)-5:], "3000 stop a", "3000 event 1 a", "3000 start a", "3000 start b", "3000 event 0 ")
		b.take()
		if err := stop(); err != nil {
			t.Error(err)
		}

		// When that does not help either the group ends.
		b.fail["b"] = slices.Repeat([]error{boom}, 1000)
		stop = b.run(b.unit("a"), b.unit("b"))
		time.Sleep(time.Hour)
		if n := count(b.take(), "start a"); n != DefaultPolicy.Tries {
			t.Errorf("a was started %d times", n)
		}
		if err := stop(); !errors.Is(err, boom) {
			t.Error(err)
		}
	})
}
