package daemon

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/input"
	"github.com/falleng0d/computer-use-mcp/session"
)

// hands are a person's keyboard and pointer at a desktop, an rfb.Input. Nothing gets
// through without control. They go on with the next X server when one is gone.
type hands struct {
	desktop *session.Desktop
	acts    func() bool // asks for each event whether it may be

	device *input.Device // that holder is on
	holder *input.Holder
}

// use calls f with a holder on the present X server, if the person has control.
func (h *hands) use(f func(*input.Holder) error) error {
	if !h.acts() {
		return nil
	}
	screen, ok := h.desktop.Screen.(withInput)
	if !ok {
		return nil
	}
	device, err := screen.Input()
	if err != nil {
		return err
	}
	if device != h.device {
		h.device, h.holder = device, device.NewHolder()
	}
	return f(h.holder)
}

func (h *hands) Key(keysym uint32, down bool) error {
	return h.use(func(i *input.Holder) error { return i.Key(keysym, down) })
}

func (h *hands) Keycode(keycode byte, down bool) error {
	return h.use(func(i *input.Holder) error { return i.Keycode(keycode, down) })
}

func (h *hands) Move(x, y int) error {
	return h.use(func(i *input.Holder) error { return i.Move(x, y) })
}

func (h *hands) Button(button int, down bool) error {
	return h.use(func(i *input.Holder) error { return i.Button(button, down) })
}

// Release needs no control: it is what a person who has lost it does.
func (h *hands) Release(ctx context.Context) error {
	if h.holder == nil {
		return nil
	}
	return h.holder.Release(ctx)
}
