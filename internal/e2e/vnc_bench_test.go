package e2e

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// viewing is how a viewer wants its pixels.
type viewing struct {
	name     string
	encoding int32
	lossy    bool // with JPEG of quality 6, as noVNC asks
}

var viewings = []viewing{
	{"TightJPEG", rfbtest.Tight, true},
	{"Tight", rfbtest.Tight, false},
	{"ZRLE", rfbtest.ZRLE, false},
}

// encodings returns the list that asks for it.
func (v viewing) encodings() []int32 {
	list := []int32{
		v.encoding, rfbtest.CopyRect, rfbtest.Compression0 + 2, rfbtest.LastRect, rfbtest.RichCursor,
		rfbtest.FenceSupport, rfbtest.ContinuousUpdates,
	}
	if v.lossy {
		list = append(list, rfbtest.Quality0+6)
	}
	return list
}

// This product's VNC server beside others, turn by turn: what the server and its X server
// take of the processor, what a change costs in bytes, and how long it takes from before
// the drawing until a viewer shows it. One iteration is one change, at the workload's
// rate. The viewer is the strict one, and a lossless picture must become the screen's.
func BenchmarkVNC(b *testing.B) {
	servers := vncServers(b)
	for _, w := range workloads {
		for _, v := range viewings {
			if w.name == "idle" && v.name != "Tight" {
				continue // all are the same
			}
			b.Run(w.name+"/"+v.name, func(b *testing.B) {
				for _, s := range servers {
					switch err := s.show(b, w, v); {
					case err == nil:
					case s.name == "ours":
						b.Error(err)
					default:
						b.Logf("%s: %v", s.name, err)
					}
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// show lets a viewer watch b.N changes and reports what they cost.
func (s *vncServer) show(b *testing.B, w workload, v viewing) error {
	s.canvas.showDesktop()
	draw := w.make(s.canvas)
	s.canvas.paint.Sync()
	watcher, err := s.watch(v)
	if err != nil {
		return err
	}
	defer watcher.client.Close()

	processor, received, began := s.processorTime(b), watcher.client.Received(), time.Now()
	for i := range b.N {
		s.canvas.probes = nil
		drawn := time.Now()
		draw(i)
		s.canvas.paint.Flush()
		watcher.expect(change{drawn, s.canvas.probes})
		if err := watcher.read(drawn.Add(time.Second/time.Duration(w.rate)), func() bool { return false }); err != errLate {
			return err
		}
	}
	wait := patience
	if v.lossy {
		wait = time.Second // a small change may be left out for good
	}
	err = watcher.read(time.Now().Add(wait), func() bool { return len(watcher.pending) == 0 })
	if err != nil && !(v.lossy && err == errLate) {
		return fmt.Errorf("show the last of %d changes: %w", len(watcher.pending), err)
	}
	used, took := s.processorTime(b)-processor, time.Since(began)
	b.ReportMetric(ms(used)/took.Seconds(), "cpu-ms/s"+s.unit())
	if len(watcher.late) > 0 {
		b.ReportMetric(float64(watcher.client.Received()-received)/float64(b.N), "B/change"+s.unit())
		b.ReportMetric(ms(median(watcher.late)), "ms-p50"+s.unit())
	}
	s.canvas.paint.Sync()
	if v.lossy {
		return nil
	}
	if err := watcher.read(time.Now().Add(patience), func() bool { return watcher.equals(s.canvas) }); err != nil {
		return fmt.Errorf("show in the end what the screen shows: %w", err)
	}
	return nil
}

// patience is how long a picture may take on a busy machine.
const patience = 30 * time.Second

// watcher is a viewer of a screen, and the changes that it does not show yet.
type watcher struct {
	client     *rfbtest.Client
	lossy      bool
	continuous bool     // updates come without a request
	pending    []change // oldest first
	late       []time.Duration
}

// change is one that was drawn.
type change struct {
	at     time.Time // before the first request to draw
	probes []probe
}

// watch connects a viewer, which has the whole picture then.
func (s *vncServer) watch(v viewing) (*watcher, error) {
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		return nil, err
	}
	w := &watcher{client: rfbtest.New(conn), lossy: v.lossy}
	c := w.client
	c.AnyPadding = s.name == "x11vnc"
	exact := v
	exact.lossy = false
	if err = c.Handshake(rfbtest.Options{Password: s.password}); err == nil {
		// A pointer that somebody else has moved may be painted into the picture. A key
		// takes control where that is wanted.
		err = errors.Join(c.SetEncodings(exact.encodings()...), c.Key(shift, true), c.Key(shift, false), c.Pointer(c.Width-1, c.Height-1, 0), c.RequestAll(false))
	}
	if err == nil {
		err = w.read(time.Now().Add(patience), func() bool { return w.equals(s.canvas) })
	}
	if err == nil {
		// Only now: a blurred picture would be sent again while changes are measured.
		err = c.SetEncodings(v.encodings()...)
	}
	for err == nil && !c.Quiet(50*time.Millisecond) { // what is still on its way, such as the pointer's shape
		err = w.take()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("send the first picture: %w", err)
	}
	return w, nil
}

const shift = 0xffe1 // keysym of the left one

var errLate = errors.New("that takes too long")

// read takes what the server sends until a condition holds. It returns errLate when a
// moment has come.
func (w *watcher) read(until time.Time, met func() bool) error {
	for !met() {
		left := time.Until(until)
		if left <= 0 {
			return errLate
		}
		if !w.client.Quiet(left) {
			if err := w.take(); err != nil {
				return err
			}
		}
	}
	return nil
}

// take takes one message, and asks for the next update where that does not come unasked.
func (w *watcher) take() error {
	message, err := w.client.Next()
	switch message.(type) {
	case rfbtest.EndOfContinuousUpdates:
		w.continuous = true
		err = errors.Join(err, w.client.EnableContinuousUpdates(true, 0, 0, w.client.Width, w.client.Height))
	case *rfbtest.Update:
		w.note(time.Now())
		if !w.continuous {
			err = errors.Join(err, w.client.RequestAll(true))
		}
	}
	return err
}

func (w *watcher) expect(c change) {
	if len(c.probes) > 0 {
		w.pending = append(w.pending, c)
	}
}

// note looks which changes the picture shows: the last of them, and so all before it.
func (w *watcher) note(now time.Time) {
	for i := len(w.pending) - 1; i >= 0; i-- {
		if !w.shows(w.pending[i]) {
			continue
		}
		for _, c := range w.pending[:i+1] {
			w.late = append(w.late, now.Sub(c.at))
		}
		w.pending = w.pending[i+1:]
		return
	}
}

// shows reports whether the picture has a change: all of it or, with JPEG, most of the
// pixels nearer to what they have become than to what they were.
func (w *watcher) shows(c change) bool {
	seen := 0
	for _, p := range c.probes {
		rgb := w.client.RGB(p.at.X, p.at.Y)
		if rgb == p.new || w.lossy && distance(rgb, p.new) < distance(rgb, p.old) {
			seen++
		}
	}
	return seen == len(c.probes) || w.lossy && seen*100 >= len(c.probes)*85
}

// distance returns the sum of the squares of the differences of two colours.
func distance(a, b uint32) (sum int) {
	for shift := 0; shift <= 16; shift += 8 {
		d := int(a>>shift&0xff) - int(b>>shift&0xff)
		sum += d * d
	}
	return sum
}

func (w *watcher) equals(c *canvas) bool {
	for i, want := range c.pix {
		if w.client.Pix[i]&0xffffff != want {
			return false
		}
	}
	return true
}
