// Package control decides who works the keyboard and the pointer of a screen: the
// agent or one person. A [Lease] is the whole of it for one screen. It holds no input
// device and no connection; whoever acts asks it first and is told when it is over.
//
// A person always wins. Taking control cancels the agent's batch, waits until that has
// let go of what it pressed, and refuses further batches until the person hands back,
// leaves or does nothing for [Expiry]. Of two people the later one has control and the
// earlier one is told. What the agent did before is not undone.
//
// A person can be asked for, too: [Lease.Ask] waits until somebody says that they have
// done what the agent could not, or will not.
//
// All methods may be called from any goroutine.
package control

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// Expiry is how long control lasts without a sign of its holder.
	Expiry = 90 * time.Second

	// Handover bounds how long taking control waits for those who had it to let go.
	// Past it the person has control all the same.
	Handover = time.Second

	// Courtesy is how long after a person's last key or movement another one does
	// not take control just by pressing a key. Without it two people who type would
	// take it from each other with every key.
	Courtesy = 3 * time.Second
)

// ErrPerson is what a batch gets, as its error or as its context's cause, because a
// person has control.
var ErrPerson = errors.New("a person has taken control of the screen")

// Party is who has control.
type Party int

// The parties.
const (
	Nobody Party = iota
	Agent
	Human
)

// String returns "nobody", "agent" or "human".
func (p Party) String() string {
	return [...]string{"nobody", "agent", "human"}[p]
}

// Hooks are what a Lease calls. Neither is called with a lock held.
type Hooks struct {
	// Release lets go of everything that the agent still holds pressed. It is called
	// when a person takes control, after the agent's batch has ended.
	Release func()
	// Changed is called after each change of what [Lease.State] returns. It must
	// not wait for anything.
	Changed func()
}

// Lease is the control over one screen.
type Lease struct {
	hooks Hooks

	mu         sync.Mutex
	generation uint64      // counts holders; guarded by mu
	holder     Party       // guarded by mu
	since      time.Time   // when holder took control; guarded by mu
	activeAt   time.Time   // the holder's last sign; guarded by mu
	grant      *Grant      // of the person in control, else nil; guarded by mu
	batch      *batch      // the agent's that is running, else nil; guarded by mu
	expiry     *time.Timer // runs while somebody has control; guarded by mu
	acted      time.Time   // a person's first act that the agent was not told of; guarded by mu
	request    *request    // what a person is asked for, else nil; guarded by mu
}

// New returns a Lease that nobody has.
func New(hooks Hooks) *Lease { return &Lease{hooks: hooks} }

// State describes a Lease for those who watch.
type State struct {
	Generation uint64 // counts holders: equal numbers are the same uninterrupted control
	Holder     Party
	Name       string    // of the person in control
	Since      time.Time // when Holder got control; zero for Nobody
	Reason     string    // why the agent asks for a person; empty when it does not
	AskedAt    time.Time
}

// State returns who has control now.
func (l *Lease) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := State{Generation: l.generation, Holder: l.holder, Since: l.since}
	if l.grant != nil {
		s.Name = l.grant.person.Name
	}
	if l.request != nil {
		s.Reason, s.AskedAt = l.request.reason, l.request.at
	}
	return s
}

// pass gives control to another holder. The caller holds mu and calls Changed after it.
func (l *Lease) pass(to Party, g *Grant) {
	now := time.Now()
	l.generation++
	l.holder, l.grant, l.since, l.activeAt = to, g, now, now
	if l.expiry != nil {
		l.expiry.Stop()
		l.expiry = nil
	}
	if to == Nobody {
		l.since = time.Time{}
		return
	}
	generation := l.generation
	l.expiry = time.AfterFunc(Expiry, func() { l.expire(generation) })
}

// expire ends the control of a holder who has given no sign for Expiry. A timer of an
// earlier holder does nothing.
func (l *Lease) expire(generation uint64) {
	l.mu.Lock()
	if l.generation != generation {
		l.mu.Unlock()
		return
	}
	// Signs are only noted; here is where they count.
	left := Expiry - time.Since(l.activeAt)
	if l.batch != nil {
		left = Expiry
	}
	if left > 0 {
		l.expiry.Reset(left)
		l.mu.Unlock()
		return
	}
	lost := l.grant
	l.pass(Nobody, nil)
	l.mu.Unlock()
	l.hooks.Changed()
	if lost != nil {
		lost.person.Lost(Expired)
	}
}

// batch is one run of the agent's actions.
type batch struct {
	cancel context.CancelCauseFunc
	ended  chan struct{}
}

// Act begins a batch of the agent's actions; the caller runs one at a time. The context
// that it returns ends with cause [ErrPerson] when a person takes control. done must be
// called when the batch has let go of what it does not keep pressed on purpose. The
// error is ErrPerson.
func (l *Lease) Act(ctx context.Context) (_ context.Context, done func(), err error) {
	l.mu.Lock()
	if l.holder == Human {
		l.mu.Unlock()
		return nil, nil, ErrPerson
	}
	ctx, cancel := context.WithCancelCause(ctx)
	b := &batch{cancel: cancel, ended: make(chan struct{})}
	l.batch = b
	began := l.holder != Agent
	if began {
		l.pass(Agent, nil)
	}
	l.mu.Unlock()
	if began {
		l.hooks.Changed()
	}
	return ctx, func() {
		cancel(nil)
		close(b.ended)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.batch == b {
			l.batch = nil
			l.activeAt = time.Now()
		}
	}, nil
}

// Report is what the agent is told of people at its screen.
type Report struct {
	InControl bool // a person has control now
	Acted     bool // a person pressed a key or used the pointer since the last report
	// Since is when the person first did so, or took control when they only did
	// that; else zero.
	Since time.Time
}

// Report returns what the next answer to the agent says, and starts a new one.
func (l *Lease) Report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{InControl: l.holder == Human, Acted: !l.acted.IsZero(), Since: l.acted}
	if r.InControl && !r.Acted {
		r.Since = l.since
	}
	l.acted = time.Time{}
	return r
}
