package x11

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

const (
	// selectionChunk is the most bytes that go in one piece; a request is limited to
	// 256 KiB.
	selectionChunk = 64 << 10
	// maxTransfers bounds the large texts that are on their way at one time.
	maxTransfers = 16
)

// transfer is a large text on its way to a program.
type transfer struct {
	window   xproto.Window
	property xproto.Atom
	kind     xproto.Atom
	rest     string
	ended    bool // the empty piece was sent
}

// Run hands out the text that was Set, until ctx ends or the X server is gone. It is
// called once.
func (s *Selection) Run(ctx context.Context) error {
	for {
		select {
		case ev := <-s.asked:
			s.answer(ev)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.c.done:
			return ErrClosed
		}
	}
}

func (s *Selection) answer(ev xgb.Event) {
	switch e := ev.(type) {
	case xproto.SelectionRequestEvent:
		if e.Property == 0 {
			e.Property = e.Target // as clients from before the ICCCM expect
		}
		if !s.put(e) {
			e.Property = 0 // refused
		}
		done := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: e.Property}
		xproto.SendEvent(s.c.x, false, e.Requestor, 0, string(done.Bytes()))
	case xproto.PropertyNotifyEvent:
		if e.State == xproto.PropertyDelete {
			s.putNext(e.Window, e.Atom)
		}
	case xproto.DestroyNotifyEvent:
		s.forget(func(t *transfer) bool { return t.window == e.Window })
	}
}

// put gives an asker what it asks for and reports whether there is such a thing.
func (s *Selection) put(e xproto.SelectionRequestEvent) bool {
	s.mu.Lock()
	text, since := s.text, s.since
	s.mu.Unlock()
	a := &s.atoms
	switch e.Target {
	case a.targets:
		s.putNumbers(e, xproto.AtomAtom, a.targets, a.timestamp, a.utf8, a.plain, a.text, xproto.AtomString)
	case a.timestamp:
		s.putNumbers(e, xproto.AtomInteger, xproto.Atom(since))
	case a.utf8, a.plain:
		s.putText(e, e.Target, text)
	case a.text: // any form of the owner's choice
		s.putText(e, a.utf8, text)
	case xproto.AtomString:
		s.putText(e, e.Target, toLatin1(text))
	default:
		return false
	}
	return true
}

func (s *Selection) putNumbers(e xproto.SelectionRequestEvent, kind xproto.Atom, numbers ...xproto.Atom) {
	var b []byte
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	xproto.ChangeProperty(s.c.x, xproto.PropModeReplace, e.Requestor, e.Property, kind, 32, uint32(len(numbers)), b)
}

func (s *Selection) putText(e xproto.SelectionRequestEvent, kind xproto.Atom, text string) {
	if len(text) <= selectionChunk {
		xproto.ChangeProperty(s.c.x, xproto.PropModeReplace, e.Requestor, e.Property, kind, 8, uint32(len(text)), []byte(text))
		return
	}
	s.forget(func(t *transfer) bool { return t.window == e.Requestor && t.property == e.Property })
	if len(s.transfers) == maxTransfers {
		oldest := s.transfers[0] // its program hangs
		s.forget(func(t *transfer) bool { return t == oldest })
	}
	s.transfers = append(s.transfers, &transfer{window: e.Requestor, property: e.Property, kind: kind, rest: text})
	s.watch(e.Requestor, xproto.EventMaskPropertyChange|xproto.EventMaskStructureNotify)
	s.putNumbers(e, s.atoms.incr, xproto.Atom(len(text)))
}

// putNext sends the next piece of a large text, after the asker deleted the one before.
func (s *Selection) putNext(window xproto.Window, property xproto.Atom) {
	i := slices.IndexFunc(s.transfers, func(t *transfer) bool { return t.window == window && t.property == property })
	if i < 0 {
		return
	}
	t := s.transfers[i]
	if t.ended {
		s.forget(func(o *transfer) bool { return o == t })
		return
	}
	piece := t.rest[:min(len(t.rest), selectionChunk)]
	t.rest, t.ended = t.rest[len(piece):], piece == ""
	xproto.ChangeProperty(s.c.x, xproto.PropModeReplace, window, property, t.kind, 8, uint32(len(piece)), []byte(piece))
}

// forget drops transfers and stops watching the windows that have none left.
func (s *Selection) forget(which func(*transfer) bool) {
	for i := len(s.transfers) - 1; i >= 0; i-- {
		t := s.transfers[i]
		if !which(t) {
			continue
		}
		s.transfers = slices.Delete(s.transfers, i, i+1)
		if !slices.ContainsFunc(s.transfers, func(o *transfer) bool { return o.window == t.window }) {
			s.watch(t.window, 0)
		}
	}
}

func (s *Selection) watch(w xproto.Window, events uint32) {
	xproto.ChangeWindowAttributes(s.c.x, w, xproto.CwEventMask, []uint32{events})
}
