package input

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// serverTimeout bounds each step that waits for the X server. The connection to one
// that hangs longer is closed, as if it had died.
const serverTimeout = 4 * time.Second

// Device is the keyboard and the pointer of one screen. It is safe for concurrent
// use. Keys of two callers do not mix: a text or a chord is struck as a whole.
type Device struct {
	conn     *x11.Conn
	keyboard *x11.Keyboard
	onMove   func(x, y int)

	keys   chan struct{} // holds one token; who takes it may strike keys
	spares spares        // guarded by keys
	struck time.Time     // guarded by keys; when the last key was
	typed  time.Time     // guarded by keys; when the last text was, but for its Enter
	clicks clicks

	mu   sync.Mutex       // may be taken while having keys, not the other way round
	down map[switched]int // guarded by mu: how many Holders hold it
}

// New returns the input device of an X server. conn is used for nothing else and
// stays the caller's to close. onMove is called with the pointer's new place after
// each move, possibly from several goroutines.
//
// The X server stops repeating keys that are held down: a viewer repeats by itself,
// and a release that is late on its way must not become many characters.
func New(conn *x11.Conn, onMove func(x, y int)) (*Device, error) {
	d := &Device{conn: conn, onMove: onMove, keys: make(chan struct{}, 1), down: make(map[switched]int)}
	d.keys <- struct{}{}
	err := d.step(func() (err error) {
		if d.keyboard, err = conn.Keyboard(); err != nil {
			return err
		}
		return conn.SetAutoRepeat(false)
	})
	if err != nil {
		return nil, fmt.Errorf("open the keyboard: %w", err)
	}
	return d, nil
}

// Sync returns when the X server has handled all input so far. An error means that
// it is gone or hangs (x11.ErrClosed).
func (d *Device) Sync() error { return d.step(d.conn.Sync) }

// step runs f, which waits for the X server.
func (d *Device) step(f func() error) error { return step(d.conn, f) }

// step runs f, which waits for the X server, and hangs up when that takes too long.
func step(conn *x11.Conn, f func() error) error {
	alarm := time.AfterFunc(serverTimeout, conn.Close)
	defer alarm.Stop()
	return f()
}

// send runs f, which sends requests and waits for nothing.
func (d *Device) send(f func()) error {
	return d.step(func() error {
		f()
		select {
		case <-d.conn.Done():
			return x11.ErrClosed
		default:
			return nil
		}
	})
}

// lock takes the lock on the keys, unless ctx ends before.
func (d *Device) lock(ctx context.Context) error {
	select {
	case <-d.keys:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *Device) unlock() { d.keys <- struct{}{} }
