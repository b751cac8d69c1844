package x11

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

// ErrNoText is returned by Selection.Get when the selection is something else than
// text, such as an image.
var ErrNoText = errors.New("the selection is not text")

// ErrTooLarge is returned by Selection.Get for a text beyond its limit.
var ErrTooLarge = errors.New("the text is too large")

// ownerTimeout bounds each wait for the program that owns a selection.
const ownerTimeout = 3 * time.Second

// Selection is one of X's selections, CLIPBOARD or PRIMARY: a text that stays with
// one program, its owner, which hands it out to others when they ask (ICCCM 2.0,
// section 2). Its methods may be called from any goroutine.
type Selection struct {
	c      *Conn
	window xproto.Window // stands for this Selection as owner and as asker
	atoms  selectionAtoms

	getting chan struct{}  // holds one token: one Get at a time
	arrived chan xgb.Event // for Get
	gets    int            // guarded by the token
	asked   chan xgb.Event // for Run

	mu      sync.Mutex
	text    string           // guarded by mu; what was Set last
	since   xproto.Timestamp // guarded by mu; when the present owner became it
	serial  uint64           // guarded by mu; counts changes of the owner
	changed chan struct{}    // guarded by mu; closed and replaced at each change

	transfers []*transfer // used by Run only
}

type selectionAtoms struct {
	selection, targets, timestamp, incr xproto.Atom
	utf8, plain, text                   xproto.Atom
	properties                          [4]xproto.Atom // where answers are put
}

// Selection returns a selection by its name, such as "CLIPBOARD".
func (c *Conn) Selection(name string) (*Selection, error) {
	s := &Selection{
		c:       c,
		getting: make(chan struct{}, 1),
		arrived: make(chan xgb.Event, 100),
		asked:   make(chan xgb.Event, 1000),
		changed: make(chan struct{}),
	}
	s.getting <- struct{}{}
	var err error
	if s.atoms, err = c.selectionAtoms(name); err != nil {
		return nil, err
	}
	if s.window, err = xproto.NewWindowId(c.x); err != nil {
		return nil, failed("make a window for a selection", err)
	}
	err = xproto.CreateWindowChecked(c.x, 0, s.window, c.root, 0, 0, 1, 1, 0, xproto.WindowClassInputOnly, 0,
		xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange}).Check()
	if err != nil {
		return nil, failed("make a window for a selection", err)
	}
	c.listen(s.sort)
	err = xfixes.SelectSelectionInputChecked(c.x, s.window, s.atoms.selection, xfixes.SelectionEventMaskSetSelectionOwner|
		xfixes.SelectionEventMaskSelectionWindowDestroy|xfixes.SelectionEventMaskSelectionClientClose).Check()
	if err != nil {
		return nil, failed("watch a selection", err)
	}
	return s, nil
}

func (c *Conn) selectionAtoms(name string) (a selectionAtoms, err error) {
	for _, want := range []struct {
		atom *xproto.Atom
		name string
	}{
		{&a.selection, name},
		{&a.targets, "TARGETS"},
		{&a.timestamp, "TIMESTAMP"},
		{&a.incr, "INCR"},
		{&a.utf8, "UTF8_STRING"},
		{&a.plain, "text/plain;charset=utf-8"},
		{&a.text, "TEXT"},
		{&a.properties[0], "_COMPUTER_USE_0"},
		{&a.properties[1], "_COMPUTER_USE_1"},
		{&a.properties[2], "_COMPUTER_USE_2"},
		{&a.properties[3], "_COMPUTER_USE_3"},
	} {
		if *want.atom, err = c.atom(want.name); err != nil {
			return a, err
		}
	}
	return a, nil
}

// sort hands each event to whom it concerns. What nobody takes in time is dropped, so
// that a program which floods the selection with questions costs nothing but answers.
func (s *Selection) sort(ev xgb.Event) {
	to := s.asked
	switch e := ev.(type) {
	case xfixes.SelectionNotifyEvent:
		if e.Window != s.window || e.Selection != s.atoms.selection {
			return
		}
		s.noteChange(e.SelectionTimestamp)
		to = s.arrived
	case xproto.SelectionNotifyEvent:
		if e.Requestor != s.window {
			return
		}
		to = s.arrived
	case xproto.PropertyNotifyEvent:
		if e.Window == s.window {
			to = s.arrived
		}
	case xproto.SelectionRequestEvent:
		if e.Owner != s.window {
			return
		}
	case xproto.DestroyNotifyEvent:
	default:
		return
	}
	select {
	case to <- ev:
	default:
	}
}

func (s *Selection) noteChange(since xproto.Timestamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = since
	s.serial++
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed returns how often a program, this one too, became the owner, which is how
// a new text comes in, and a channel that is closed the next time.
func (s *Selection) Changed() (serial uint64, next <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serial, s.changed
}

// Set makes this the owner, with a text that Run hands out until another program
// becomes the owner. Changed has counted it when Set returns.
func (s *Selection) Set(text string) error {
	s.mu.Lock()
	s.text = text
	next := s.changed
	s.mu.Unlock()
	xproto.SetSelectionOwner(s.c.x, s.window, s.atoms.selection, xproto.TimeCurrentTime)
	if err := s.c.Sync(); err != nil {
		return err
	}
	select {
	case <-next: // which the X server sent before it answered
		return nil
	case <-s.c.done:
		return ErrClosed
	}
}

// Get returns the selection's text, "" when it has no owner. It waits for the owner as long
// as that goes on sending. It returns ErrNoText, and ErrTooLarge above
// limit bytes.
func (s *Selection) Get(ctx context.Context, limit int) (string, error) {
	select {
	case <-s.getting:
		defer func() { s.getting <- struct{}{} }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	owner, err := xproto.GetSelectionOwner(s.c.x, s.atoms.selection).Reply()
	if err != nil {
		return "", failed("ask for the selection's owner", err)
	}
	switch owner.Owner {
	case 0:
		return "", nil
	case s.window:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.text, nil
	}
	forms, err := s.forms(ctx)
	if err != nil {
		return "", err
	}
	for _, target := range forms {
		b, err := s.ask(ctx, target, limit)
		switch {
		case errors.Is(err, ErrNoText):
			continue
		case err != nil:
			return "", err
		case target == xproto.AtomString:
			return fromLatin1(b), nil
		}
		return string(b), nil
	}
	return "", ErrNoText
}

// forms returns the forms of text that the owner offers, the best first. Some owners
// answer with what they have whatever is asked, others do not list what they have.
func (s *Selection) forms(ctx context.Context) ([]xproto.Atom, error) {
	const limit = 4096
	texts := []xproto.Atom{s.atoms.utf8, s.atoms.plain, xproto.AtomString}
	b, err := s.ask(ctx, s.atoms.targets, limit)
	if errors.Is(err, ErrNoText) || errors.Is(err, ErrTooLarge) {
		return texts, nil
	}
	if err != nil {
		return nil, err
	}
	var offered []xproto.Atom
	for ; len(b) >= 4; b = b[4:] {
		offered = append(offered, xproto.Atom(binary.LittleEndian.Uint32(b)))
	}
	return slices.DeleteFunc(texts, func(a xproto.Atom) bool { return !slices.Contains(offered, a) }), nil
}

// ask asks the owner for the selection in one form, the target, and returns what it
// sends, ErrNoText if it has nothing in that form.
func (s *Selection) ask(ctx context.Context, target xproto.Atom, limit int) ([]byte, error) {
	// Answers to an earlier question that come late go to another property, and
	// events of before this question end with the one that is made here.
	property := s.atoms.properties[s.gets%len(s.atoms.properties)]
	s.gets++
	for len(s.arrived) > 0 {
		<-s.arrived
	}
	xproto.ChangeProperty(s.c.x, xproto.PropModeReplace, s.window, property, target, 8, 0, nil)
	if err := s.wait(ctx, isNew(property)); err != nil {
		return nil, err
	}
	xproto.DeleteProperty(s.c.x, s.window, property)

	xproto.ConvertSelection(s.c.x, s.window, s.atoms.selection, target, property, xproto.TimeCurrentTime)
	err := s.wait(ctx, orGone(func(ev xgb.Event) (bool, error) {
		e, ok := ev.(xproto.SelectionNotifyEvent)
		if !ok || e.Selection != s.atoms.selection || e.Target != target {
			return false, nil
		}
		if e.Property == 0 {
			return false, ErrNoText
		}
		return e.Property == property, nil
	}))
	if err != nil {
		return nil, err
	}
	kind, b, err := s.take(property, limit)
	if err != nil || kind != s.atoms.incr {
		return b, err
	}
	// A large text comes in pieces, each after the one before was deleted; an empty
	// one is the end (ICCCM 2.0, section 2.7.2).
	var all []byte
	for {
		if err := s.wait(ctx, orGone(isNew(property))); err != nil {
			return nil, err
		}
		_, b, err := s.take(property, limit-len(all))
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			return all, nil
		}
		all = append(all, b...)
	}
}

// isNew waits for a property of the Selection's window to get a value.
func isNew(property xproto.Atom) func(xgb.Event) (bool, error) {
	return func(ev xgb.Event) (bool, error) {
		e, ok := ev.(xproto.PropertyNotifyEvent)
		return ok && e.Atom == property && e.State == xproto.PropertyNewValue, nil
	}
}

// orGone stops waiting when the owner is gone. One that another program replaced
// still answers.
func orGone(met func(xgb.Event) (bool, error)) func(xgb.Event) (bool, error) {
	return func(ev xgb.Event) (bool, error) {
		if e, ok := ev.(xfixes.SelectionNotifyEvent); ok && e.Owner == 0 {
			return false, errors.New("the program that owned the selection is gone")
		}
		return met(ev)
	}
}

// wait takes events of the present Get until met is true of one or returns an error.
func (s *Selection) wait(ctx context.Context, met func(xgb.Event) (bool, error)) error {
	timer := time.NewTimer(ownerTimeout)
	defer timer.Stop()
	for {
		select {
		case ev := <-s.arrived:
			if ok, err := met(ev); ok || err != nil {
				return err
			}
		case <-timer.C:
			return fmt.Errorf("the program that owns the selection did not answer for %v", ownerTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.c.done:
			return ErrClosed
		}
	}
}

// take reads and deletes a property.
func (s *Selection) take(property xproto.Atom, limit int) (kind xproto.Atom, b []byte, err error) {
	const perUnit = 4
	units := uint32(limit/perUnit + 1)
	p, err := xproto.GetProperty(s.c.x, true, s.window, property, xproto.GetPropertyTypeAny, 0, units).Reply()
	switch {
	case err != nil:
		return 0, nil, failed("read the selection", err)
	case p.Type == s.atoms.incr:
		return p.Type, nil, nil
	case p.BytesAfter > 0 || len(p.Value) > limit:
		return 0, nil, ErrTooLarge
	}
	return p.Type, p.Value, nil
}

// The form STRING of a text is Latin-1.

func toLatin1(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r > 0xff {
			r = '?'
		}
		b.WriteByte(byte(r))
	}
	return b.String()
}

// fromLatin1 converts text of the type STRING.
func fromLatin1(b []byte) string {
	var text strings.Builder
	for _, c := range b {
		text.WriteRune(rune(c))
	}
	return text.String()
}
