package input

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// Notice passes on what a person would see and hear of the keyboard until ctx ends, and
// returns its cause, or an error when the X server is gone. lights is called with the
// state of the three lights at once and after changes, bell when a program has rung;
// changes and rings that come faster than the functions return are one.
func (d *Device) Notice(ctx context.Context, lights func(caps, num, scroll bool), bell func()) error {
	changed, rung := make(chan struct{}, 1), make(chan struct{}, 1)
	defer d.keyboard.Notify(tell(changed), tell(rung))()
	for {
		err := d.step(func() error {
			caps, num, scroll, err := d.keyboard.Lights()
			if err == nil {
				lights(caps, num, scroll)
			}
			return err
		})
		if err != nil {
			return err
		}
		select {
		case <-changed:
		case <-rung:
			bell()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-d.conn.Done():
			return x11.ErrClosed
		}
	}
}

// tell returns a function that fills ch, which has room for one.
func tell(ch chan<- struct{}) func() {
	return func() {
		select {
		case ch <- struct{}{}:
		default: // not yet received: one is enough
		}
	}
}
