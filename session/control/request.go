package control

import (
	"context"
	"errors"
	"time"
)

// Outcome is how a request for a person ended.
type Outcome string

// The outcomes. The first two are a person's answers.
const (
	HandedBack Outcome = "handed_back"
	Declined   Outcome = "declined"
)

// ErrAsked is returned by [Lease.Ask] while an earlier request is open.
var ErrAsked = errors.New("a person has been asked already")

// request is what the agent asks a person for.
type request struct {
	reason string
	at     time.Time
	answer chan Outcome // capacity 1
}

// Ask asks for a person, with a reason in the agent's words, and waits for the answer.
// The error is [ErrAsked] or the context's.
func (l *Lease) Ask(ctx context.Context, reason string) (Outcome, error) {
	r := &request{reason: reason, at: time.Now(), answer: make(chan Outcome, 1)}
	l.mu.Lock()
	if l.request != nil {
		l.mu.Unlock()
		return "", ErrAsked
	}
	l.request = r
	l.mu.Unlock()
	l.hooks.Changed()
	select {
	case o := <-r.answer:
		return o, nil
	case <-ctx.Done():
	}
	if l.withdraw(r) {
		return "", ctx.Err()
	}
	return <-r.answer, nil // it came at the same moment
}

// withdraw takes back a request and reports whether it was still open.
func (l *Lease) withdraw(r *request) bool {
	l.mu.Lock()
	open := l.request == r
	if open {
		l.request = nil
	}
	l.mu.Unlock()
	if open {
		l.hooks.Changed()
	}
	return open
}

// Answer ends an open request with a person's answer and reports whether there was one.
// It does not change who has control.
func (l *Lease) Answer(o Outcome) bool {
	l.mu.Lock()
	r := l.request
	if r != nil {
		l.request = nil
		r.answer <- o // the only answer: the request is no longer open
	}
	l.mu.Unlock()
	if r != nil {
		l.hooks.Changed()
	}
	return r != nil
}
