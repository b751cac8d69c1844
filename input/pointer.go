package input

import (
	"context"
	"fmt"
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/input/keysym"
)

// Direction is where a scroll goes.
type Direction byte

// The directions, with X's numbers of the buttons that scroll.
const (
	Up    Direction = 4
	Down  Direction = 5
	Left  Direction = 6
	Right Direction = 7
)

// dragStep is the time between two moves of a drag.
const dragStep = 16 * time.Millisecond

// leastDragSteps is how many moves a drag has at least: programs tell a drag from a
// click by motion while the button is down.
const leastDragSteps = 8

// Move moves the pointer to a pixel of the screen, or the one nearest to it.
func (h *Holder) Move(x, y int) error {
	width, height := h.d.conn.Size()
	x, y = min(max(x, 0), width-1), min(max(y, 0), height-1)
	if err := h.d.send(func() { h.d.conn.FakeMotion(x, y) }); err != nil {
		return fmt.Errorf("move the pointer: %w", err)
	}
	h.d.clicks.moved(image.Pt(x, y))
	h.d.onMove(x, y)
	return nil
}

// Button presses or releases a button of the pointer: 1 left, 2 middle, 3 right, 4 to
// 7 scroll up, down, left and right, 8 back, 9 forward.
func (h *Holder) Button(button int, down bool) error {
	if button < 1 || button > 9 {
		return fmt.Errorf("there is no button %d", button)
	}
	s := switched{button: true, code: byte(button)}
	err := h.d.send(func() {
		if down {
			h.hold(s, keysym.None, false)
		} else {
			h.letGo(func(o hold) bool { return o.switched == s })
		}
	})
	if err != nil {
		return fmt.Errorf("button %d: %w", button, err)
	}
	return nil
}

// Apart waits until a Click, Press or Drag that begins at a place, nil for where the
// pointer is, makes no double click of an earlier one. They wait by themselves; Apart is
// for a caller who has something to do between the wait and the press.
func (h *Holder) Apart(ctx context.Context, button int, place *image.Point) error {
	return h.d.clicks.apart(ctx, button, place)
}

// Press presses a button and keeps it down, as Button does, for an agent: the press does
// not make a double click of an earlier Click, Press or Drag. For that it may have to
// wait, at most until ctx ends.
func (h *Holder) Press(ctx context.Context, button int) error {
	if err := h.d.clicks.apart(ctx, button, nil); err != nil {
		return fmt.Errorf("button %d: %w", button, err)
	}
	if err := h.Button(button, true); err != nil {
		return err
	}
	return h.clicked(button, 1)
}

// Click presses and releases a button count times as one click, double click or triple
// click, which an earlier one does not add to: see Press.
func (h *Holder) Click(ctx context.Context, button, count int) error {
	if err := h.d.clicks.apart(ctx, button, nil); err != nil {
		return fmt.Errorf("button %d: %w", button, err)
	}
	for i := range count {
		if i > 0 {
			if err := wait(ctx, clickGap); err != nil {
				return fmt.Errorf("button %d: %w", button, err)
			}
		}
		if err := h.tap(button); err != nil {
			return err
		}
		if err := h.clicked(button, i+1); err != nil {
			return err
		}
	}
	return nil
}

// tap presses and releases a button.
func (h *Holder) tap(button int) error {
	if err := h.Button(button, true); err != nil {
		return err
	}
	return h.Button(button, false)
}

// clicked notes the press of a button, the count-th of one click, once the X server has
// handled it: until then it has no time.
func (h *Holder) clicked(button, count int) error {
	if err := h.d.Sync(); err != nil {
		return fmt.Errorf("button %d: %w", button, err)
	}
	h.d.clicks.note(button, count)
	return nil
}

// Scroll turns the wheel by a number of steps.
func (h *Holder) Scroll(d Direction, steps int) error {
	for range steps {
		if err := h.tap(int(d)); err != nil {
			return err
		}
	}
	return nil
}

// Drag moves to one place, presses a button, moves evenly to another place in the
// given time, and releases the button. When ctx ends on the way the button is still
// released, where the pointer is then.
func (h *Holder) Drag(ctx context.Context, button int, from, to image.Point, d time.Duration) (err error) {
	if err := h.Move(from.X, from.Y); err != nil {
		return err
	}
	if err := h.Press(ctx, button); err != nil {
		return err
	}
	defer func() {
		if up := h.Button(button, false); err == nil {
			err = up
		}
	}()
	steps := max(int(d/dragStep), leastDragSteps)
	ticks := time.NewTicker(max(d/time.Duration(steps), 1))
	defer ticks.Stop()
	last := from
	for i := 1; i <= steps; i++ {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return fmt.Errorf("drag: %w", context.Cause(ctx))
		}
		at := from.Add(to.Sub(from).Mul(i).Div(steps))
		if at == last {
			continue
		}
		if err := h.Move(at.X, at.Y); err != nil {
			return err
		}
		last = at
	}
	return nil
}
