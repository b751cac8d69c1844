package control

import "time"

// Loss is why a person lost control without giving it up.
type Loss int

// The ways to lose control.
const (
	Replaced Loss = iota // another person took it
	Expired              // nothing came from the person for Expiry
)

// Person is who takes control.
type Person struct {
	Name string // as others see it: "the page", "a TigerVNC viewer"
	// Lost is called once when the person loses control, and lets go of what they
	// hold pressed before it returns. It is not called for control that was given up.
	Lost func(Loss)
}

// Grant is one person's control, from taking it to its end.
type Grant struct {
	lease  *Lease
	person Person
}

// Take gives control to a person. It returns when the agent's batch has ended and what
// the agent or an earlier person held pressed is released, or after [Handover]. By then
// somebody else may have taken control; [Grant.Acts] tells.
func (l *Lease) Take(p Person) *Grant {
	l.mu.Lock()
	return l.take(p)
}

// TakeByPress is [Lease.Take] for a person who has pressed a key or a button without
// asking first. It returns nil when another person has been active within [Courtesy].
func (l *Lease) TakeByPress(p Person) *Grant {
	l.mu.Lock()
	if l.grant != nil && time.Since(l.activeAt) < Courtesy {
		l.mu.Unlock()
		return nil
	}
	return l.take(p)
}

// take is Take for a caller that holds mu, which it gives up.
func (l *Lease) take(p Person) *Grant {
	g := &Grant{lease: l, person: p}
	before, batch := l.grant, l.batch
	l.pass(Human, g)
	if batch != nil {
		batch.cancel(ErrPerson)
	}
	l.mu.Unlock()
	l.hooks.Changed()
	released := make(chan struct{})
	go func() {
		defer close(released)
		if before != nil {
			before.person.Lost(Replaced)
		}
		if batch != nil {
			<-batch.ended
		}
		l.hooks.Release()
	}()
	timer := time.NewTimer(Handover)
	defer timer.Stop()
	select {
	case <-released:
	case <-timer.C:
	}
	return g
}

// Acts notes that the person pressed a key or used the pointer and reports whether
// they may: it is false once control has passed on.
func (g *Grant) Acts() bool {
	l := g.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grant != g {
		return false
	}
	l.activeAt = time.Now()
	if l.acted.IsZero() {
		l.acted = l.activeAt
	}
	return true
}

// Holds reports whether the person still has control.
func (g *Grant) Holds() bool {
	g.lease.mu.Lock()
	defer g.lease.mu.Unlock()
	return g.lease.grant == g
}

// HandBack gives control back. If the agent has asked for a person, that is answered
// with [HandedBack]. After a loss of control it does nothing.
func (g *Grant) HandBack() {
	if g.Leave() {
		g.lease.Answer(HandedBack)
	}
}

// Leave gives control back because the person is gone, which answers nothing. It
// reports whether the person had control.
func (g *Grant) Leave() bool {
	l := g.lease
	l.mu.Lock()
	held := l.grant == g
	if held {
		l.pass(Nobody, nil)
	}
	l.mu.Unlock()
	if held {
		l.hooks.Changed()
	}
	return held
}
