package session

import (
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/input"
)

// step is one action with its names looked up.
type step struct {
	api.Action
	button    int         // X button number
	modifiers []uint32    // keysyms, held during a click or a scroll
	chord     input.Chord // of a key action
}

// presses reports whether the step presses a button of the pointer.
func (p step) presses() bool {
	return p.Kind == api.KindClick || p.Kind == api.KindDown || p.Kind == api.KindDrag
}

// place is where the pointer is to be, nil for where it is.
func (p step) place() *image.Point {
	if p.X == nil {
		return nil
	}
	return &image.Point{X: *p.X, Y: *p.Y}
}

// buttons are the X numbers of the pointer's buttons; 4 to 7 are the wheel.
var buttons = map[string]int{"": 1, "left": 1, "middle": 2, "right": 3, "back": 8, "forward": 9}

// compile checks a batch against a screen of the given size and looks up its names, so
// that nothing runs of a batch that cannot run to its end. The request has passed
// [api.ActRequest.Check].
func compile(r api.ActRequest, width, height int) ([]step, error) {
	plan := make([]step, len(r.Actions))
	for i, a := range r.Actions {
		s := step{Action: a, button: buttons[a.Button]}
		if err := errors.Join(s.checkPlaces(width, height), s.lookUp()); err != nil {
			return nil, r.ActionError(api.CodeBadRequest, i, err)
		}
		plan[i] = s
	}
	return plan, nil
}

func (s *step) checkPlaces(width, height int) error {
	for _, c := range []struct {
		name  string
		value *int
		size  int
	}{{"x", s.X, width}, {"y", s.Y, height}, {"to_x", s.ToX, width}, {"to_y", s.ToY, height}} {
		if c.value != nil && (*c.value < 0 || *c.value >= c.size) {
			return fmt.Errorf("%s %d is outside the %dx%d screen (0 to %d)", c.name, *c.value, width, height, c.size-1)
		}
	}
	return nil
}

func (s *step) lookUp() (err error) {
	switch s.Kind {
	case api.KindType:
		return input.CheckText(*s.Text)
	case api.KindKey:
		s.chord, err = input.ParseKey(strings.Join(append(slices.Clone(s.Modifiers), s.Key), "+"))
		return err
	}
	for _, name := range s.Modifiers {
		sym, err := input.ParseModifier(name)
		if err != nil {
			return err
		}
		s.modifiers = append(s.modifiers, sym)
	}
	return nil
}

// duration returns the time that a field gives, or what stands for it when it is absent.
func duration(ms *int64, otherwise time.Duration) time.Duration {
	if ms == nil {
		return otherwise
	}
	return time.Duration(*ms) * time.Millisecond
}

// count returns the number that a field gives, or what stands for it when it is absent.
func count(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}
