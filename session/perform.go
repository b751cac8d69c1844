package session

import (
	"context"
	"image"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/input"
)

// directions are the directions of a scroll.
var directions = map[string]input.Direction{"up": input.Up, "down": input.Down, "left": input.Left, "right": input.Right}

// perform does what a step says. After an error some of it may still be pressed; the
// batch releases that.
func (s *Session) perform(ctx context.Context, d *Desktop, h Holder, p step) error {
	if p.X != nil && p.Kind != api.KindDrag {
		if err := h.Move(*p.X, *p.Y); err != nil {
			return err
		}
	}
	switch p.Kind {
	case api.KindClick:
		return with(h, p.modifiers, func() error { return h.Click(ctx, p.button, p.Weight()) })
	case api.KindDown:
		return h.Press(ctx, p.button)
	case api.KindUp:
		return h.Button(p.button, false)
	case api.KindDrag:
		from, to := image.Pt(*p.X, *p.Y), image.Pt(*p.ToX, *p.ToY)
		return h.Drag(ctx, p.button, from, to, duration(p.DurationMS, api.DefaultDragDuration))
	case api.KindType:
		return h.Type(ctx, *p.Text)
	case api.KindKey:
		return strike(ctx, h, p)
	case api.KindScroll:
		return with(h, p.modifiers, func() error {
			return h.Scroll(directions[p.Direction], count(p.Amount, api.DefaultScroll))
		})
	case api.KindWait:
		return sleep(ctx, duration(p.MS, api.DefaultWait))
	case api.KindFocus:
		return s.focus(ctx, d, p.Application, p.URI)
	}
	return nil // a move, which is done
}

// with runs f while modifiers are held.
func with(h Holder, modifiers []uint32, f func() error) error {
	for _, m := range modifiers {
		if err := h.Key(m, true); err != nil {
			return err
		}
	}
	if err := f(); err != nil {
		return err
	}
	for i := len(modifiers) - 1; i >= 0; i-- {
		if err := h.Key(modifiers[i], false); err != nil {
			return err
		}
	}
	return nil
}

// strike presses a key, or holds it, as often as the step says.
func strike(ctx context.Context, h Holder, p step) error {
	for range count(p.Repeat, 1) {
		if err := h.Chord(ctx, p.chord, duration(p.HoldMS, 0)); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
