package supervise

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Unit is one link of a [Group]'s chain: a child process, or a connection and
// the goroutine that serves it.
type Unit struct {
	Name string
	// Start starts one incarnation of the unit and returns when it is ready to be
	// used. It is called again after the unit, or one before it, has ended. ctx
	// ends when the incarnation is to end or has.
	Start func(ctx context.Context) (Running, error)
	// Optional lets the group go on without the unit when it has used up its
	// tries. Otherwise the unit before it is then replaced as well.
	Optional bool
}

// Running is one incarnation of a unit. [*Process] is one.
type Running interface {
	Done() <-chan struct{} // closed when it has ended, for whatever reason
	Err() error            // why it ended, once Done is closed
	Stop()                 // ends it and returns when it has ended
}

// Policy says how often a unit is tried again. Ends and failed starts count
// alike; the count starts again after a run of at least Stable.
type Policy struct {
	Tries  int           // failures in a row that are too many
	First  time.Duration // pause before the second try in a row; the first is immediate
	Max    time.Duration // the pause doubles up to this
	Stable time.Duration
}

// DefaultPolicy gives a unit about 6 seconds to come back.
var DefaultPolicy = Policy{Tries: 6, First: 200 * time.Millisecond, Max: 5 * time.Second, Stable: 10 * time.Second}

// pause returns how long to wait before the next try after so many failures.
func (p Policy) pause(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	d := p.First
	for range failures - 2 {
		d = min(2*d, p.Max)
	}
	return d
}

// EventKind says what happened in a group.
type EventKind int

const (
	// Up: every unit runs or was given up. Unit and Err are empty.
	Up EventKind = iota
	// Ended: a unit ended by itself; the ones after it are being stopped.
	Ended
	// Failed: a unit did not start and will be tried again.
	Failed
	// GivenUp: an optional unit used up its tries; the group goes on without it.
	GivenUp
)

// Event is one thing that happened in a group.
type Event struct {
	Kind EventKind
	Unit string
	Err  error // why
}

// Group keeps a chain of units running. Each unit stands on the ones before it:
// when one ends, the ones after it are stopped, last first, and then it and they
// are started again in order.
type Group struct {
	Units  []Unit
	Policy Policy
	// Report, if set, is told about events, in order and from Run's goroutine.
	Report func(Event)

	links []link // Run's own, one for each unit
}

// link is a unit's place in the chain.
type link struct {
	running     Running // nil while the unit is down or given up
	incarnation int     // counts starts; an exit of another incarnation is old news
	since       time.Time
	failures    int // in a row
	givenUp     bool

	// alive ends when this incarnation, or a unit before it, ends.
	alive  context.Context
	cancel context.CancelFunc
}

// exit says that an incarnation of a unit has ended.
type exit struct {
	unit, incarnation int
}

// Run starts the units and keeps them running until ctx ends, which is no
// error, or until the first unit has used up its tries. All units are stopped, last
// first, when it returns. Call it once.
func (g *Group) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.links = make([]link, len(g.Units))
	defer g.stopFrom(0)
	exits := make(chan exit)
	up := false
	for {
		next := g.firstDown()
		if next == len(g.Units) && !up {
			up = true
			g.report(Up, "", nil)
		}
		// The timer belongs to this turn of the loop, so a late one cannot act on
		// a newer run. Nothing is started on a unit that has just ended: its exit
		// is on the way.
		var retry <-chan time.Time
		if next < len(g.Units) && g.base(ctx, next).Err() == nil {
			up = false
			retry = time.After(g.Policy.pause(g.links[next].failures))
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case e := <-exits:
			err = g.ended(e)
		case <-retry:
			err = g.start(ctx, next, exits)
		}
		if err != nil {
			return err
		}
	}
}

// firstDown returns the index of the first unit that should be running and is
// not, or len(g.Units).
func (g *Group) firstDown() int {
	for i := range g.links {
		if l := &g.links[i]; l.running == nil && !l.givenUp {
			return i
		}
	}
	return len(g.links)
}

// base returns the context of what unit i stands on.
func (g *Group) base(ctx context.Context, i int) context.Context {
	for i--; i >= 0; i-- {
		if g.links[i].running != nil {
			return g.links[i].alive
		}
	}
	return ctx
}

// start starts unit i. A failure is counted; it is an error only if the group
// cannot go on.
func (g *Group) start(ctx context.Context, i int, exits chan<- exit) error {
	base := g.base(ctx, i)
	alive, cancel := context.WithCancel(base)
	running, err := g.Units[i].Start(alive)
	if err != nil {
		cancel()
		if base.Err() != nil {
			return nil // the fault of what it stands on
		}
		return g.failed(i, Failed, err)
	}
	l := &g.links[i]
	l.running, l.alive, l.cancel = running, alive, cancel
	l.incarnation++
	l.since = time.Now()
	e := exit{unit: i, incarnation: l.incarnation}
	go func() {
		<-running.Done()
		cancel()
		select {
		case exits <- e:
		case <-ctx.Done():
		}
	}()
	return nil
}

// ended handles the end of a unit that nobody asked for.
func (g *Group) ended(e exit) error {
	l := &g.links[e.unit]
	if l.running == nil || l.incarnation != e.incarnation {
		return nil // stopped on purpose
	}
	err := l.running.Err()
	g.take(e.unit)
	return g.failed(e.unit, Ended, err)
}

// take stops unit i, if it still runs, and what stands on it.
func (g *Group) take(i int) {
	g.stopFrom(i)
	if time.Since(g.links[i].since) >= g.Policy.Stable {
		g.links[i].failures = 0
	}
	// The failures of the units after it may have been its own fault.
	for j := i + 1; j < len(g.links); j++ {
		g.links[j].failures, g.links[j].givenUp = 0, false
	}
}

// failed counts a failure of unit i. After too many an optional unit is given up.
// Any other may suffer from what it stands on, a server that hangs for example, so
// that counts as failed too and is replaced.
func (g *Group) failed(i int, kind EventKind, err error) error {
	l := &g.links[i]
	l.failures++
	name := g.Units[i].Name
	// A program that is not there will not be there the next time either.
	hopeless := errors.Is(err, ErrNoProgram)
	if l.failures < g.Policy.Tries && !hopeless {
		g.report(kind, name, err)
		return nil
	}
	if g.Units[i].Optional {
		l.givenUp = true
		g.report(GivenUp, name, err)
		return nil
	}
	err = fmt.Errorf("%s does not stay up after %d tries: %w", name, l.failures, err)
	if i == 0 || hopeless {
		return err
	}
	g.take(i - 1)
	return g.failed(i-1, Ended, err)
}

// stopFrom stops what runs of the units from i on, last first.
func (g *Group) stopFrom(i int) {
	for j := len(g.links) - 1; j >= i; j-- {
		l := &g.links[j]
		if l.running == nil {
			continue
		}
		l.running.Stop()
		l.cancel()
		l.running = nil
	}
}

func (g *Group) report(kind EventKind, unit string, err error) {
	if g.Report != nil {
		g.Report(Event{Kind: kind, Unit: unit, Err: err})
	}
}
