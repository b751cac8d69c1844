package x11

import (
	"errors"
	"fmt"
	"image"
	"sync/atomic"

	"github.com/jezek/xgb/damage"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

// Watch notices changes of the screen's pixels (DAMAGE), size (RANDR) and cursor
// shape (XFIXES), and copies pixels out (MIT-SHM), over a connection of its own.
// All methods may be called from any goroutine.
type Watch struct {
	wire    *wire
	screen  xproto.ScreenInfo
	damage  uint32
	region  uint32        // where Take puts the damage to read it
	changed chan struct{} // capacity 1
	shape   atomic.Bool   // the cursor's shape changed since the last Take

	// The numbers of this X server's extensions.
	damages, fixes, resizes, memory extensionNumbers
}

// extensionNumbers are an extension's opcode and the number of its first event.
type extensionNumbers struct{ major, event byte }

// Requests of the core protocol, and the minor opcodes of extensions' requests.
const (
	getGeometry    = 14
	queryPointer   = 38
	getInputFocus  = 43
	queryExtension = 98

	queryVersion = 0 // of DAMAGE, XFIXES and RANDR

	damageCreate   = 1
	damageSubtract = 3

	fixesSelectCursorInput     = 3
	fixesCreateRegion          = 5
	fixesFetchRegion           = 19
	fixesGetCursorImageAndName = 25

	randrSelectInput = 4

	shmAttach   = 1
	shmDetach   = 2
	shmGetImage = 4
)

// Changes is what happened to a screen since the last look.
type Changes struct {
	// Damage covers every pixel drawn on since, and maybe more. It may lie partly
	// outside a screen that has shrunk.
	Damage []image.Rectangle
	// Width, Height is the screen's size in pixels now.
	Width, Height int
	// Pointer is the pointer's position now.
	Pointer image.Point
	// CursorShape says that the cursor has another shape than before.
	CursorShape bool
}

// DialWatch begins to watch the screen of a display; see [Dial] for the arguments.
// The whole screen counts as changed until the first Take. The caller closes the
// Watch.
func DialWatch(display string, cookie []byte) (*Watch, error) {
	w := &Watch{changed: make(chan struct{}, 1)}
	w.shape.Store(true)
	err := w.dial(display, cookie)
	if err != nil {
		return nil, fmt.Errorf("watch X display %s: %w", display, err)
	}
	return w, nil
}

func (w *Watch) dial(display string, cookie []byte) (err error) {
	// No event is sent before it was selected, when everything is known.
	if w.wire, err = dialWire(display, cookie, w.handle); err != nil {
		return err
	}
	w.screen = w.wire.setup.Roots[0]
	if err := w.setUp(); err != nil {
		w.Close()
		return err
	}
	w.wire.ready()
	return nil
}

func (w *Watch) setUp() (err error) {
	for name, numbers := range map[string]*extensionNumbers{
		"DAMAGE": &w.damages, "XFIXES": &w.fixes, "RANDR": &w.resizes, "MIT-SHM": &w.memory,
	} {
		if *numbers, err = w.extension(name); err != nil {
			return err
		}
	}
	root := uint32(w.screen.Root)
	w.damage, w.region = w.wire.newID(), w.wire.newID()
	var r requests
	// Servers enable these three only for a client that named a version.
	r.add(w.damages.major, queryVersion, 1, 1)
	r.add(w.fixes.major, queryVersion, 5, 0)
	r.add(w.resizes.major, queryVersion, 1, 5)
	r.add(w.resizes.major, randrSelectInput, root, randr.NotifyMaskScreenChange)
	r.add(w.fixes.major, fixesSelectCursorInput, root, xfixes.CursorNotifyMaskDisplayCursor)
	r.add(w.fixes.major, fixesCreateRegion, w.region)
	// Report level "non-empty" gives one event when there is something to take, and
	// no more until it was taken, however much is drawn.
	r.add(w.damages.major, damageCreate, w.damage, root, damage.ReportLevelNonEmpty)
	r.add(getInputFocus, 0)
	_, err = w.wire.roundTrip(&r)
	return err
}

// extension asks for the numbers of an extension.
func (w *Watch) extension(name string) (extensionNumbers, error) {
	words := []uint32{uint32(len(name))}
	for padded := []byte(name + "\x00\x00\x00"); len(padded) >= 4; padded = padded[4:] {
		words = append(words, order.Uint32(padded))
	}
	var r requests
	r.add(queryExtension, 0, words...)
	answers, err := w.wire.roundTrip(&r)
	if err != nil {
		return extensionNumbers{}, err
	}
	a := answers[0]
	if a[8] == 0 {
		return extensionNumbers{}, errors.New("the X server has no extension " + name)
	}
	return extensionNumbers{major: a[9], event: a[10]}, nil
}

func (w *Watch) handle(event []byte) {
	switch event[0] & 0x7f {
	case w.damages.event + damage.Notify, w.resizes.event + randr.ScreenChangeNotify:
	case w.fixes.event + xfixes.CursorNotify:
		w.shape.Store(true)
	default:
		return
	}
	select {
	case w.changed <- struct{}{}:
	default: // not yet received: one is enough
	}
}

// Changed receives when there is something to Take.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Done is closed when the connection has ended, by Close or because the X server
// is gone.
func (w *Watch) Done() <-chan struct{} { return w.wire.done }

// Close ends the connection and every call in progress on it, also when the X
// server hangs. It may be called twice.
func (w *Watch) Close() { w.wire.close() }

// Take returns what changed since the last Take, in one round trip. What is drawn
// after Take has begun is either in its answer or will be announced on Changed
// again; so whoever takes first and grabs the pixels second loses nothing.
func (w *Watch) Take() (Changes, error) {
	const none = 0
	root := uint32(w.screen.Root)
	shape := w.shape.Swap(false)
	var r requests
	r.add(w.damages.major, damageSubtract, w.damage, none, w.region)
	r.add(w.fixes.major, fixesFetchRegion, w.region)
	r.add(getGeometry, 0, root)
	r.add(queryPointer, 0, root)
	answers, err := w.wire.roundTrip(&r)
	if err != nil {
		return Changes{}, failed("ask what was drawn", err)
	}
	region, geometry, pointer := answers[0], answers[1], answers[2]
	ch := Changes{
		Width: int(order.Uint16(geometry[16:])), Height: int(order.Uint16(geometry[18:])),
		Pointer:     image.Pt(signed(pointer[16:]), signed(pointer[18:])),
		CursorShape: shape,
	}
	for box := region[32:]; len(box) >= 8; box = box[8:] {
		x, y := signed(box), signed(box[2:])
		ch.Damage = append(ch.Damage, image.Rect(x, y, x+int(order.Uint16(box[4:])), y+int(order.Uint16(box[6:]))))
	}
	return ch, nil
}

// signed returns the 16-bit number at the start of b.
func signed(b []byte) int { return int(int16(order.Uint16(b))) }

// Cursor is the shape of the pointer's picture.
type Cursor struct {
	Serial        uint32 // names the shape while the X server lives
	Name          string // "left_ptr", or empty
	HotX, HotY    int    // the hotspot inside the picture
	Width, Height int
	Pix           []uint32 // Width*Height pixels 0xAARRGGBB, premultiplied
}

// Cursor returns the cursor's current shape.
func (w *Watch) Cursor() (Cursor, error) {
	var r requests
	r.add(w.fixes.major, fixesGetCursorImageAndName)
	answers, err := w.wire.roundTrip(&r)
	if err != nil {
		return Cursor{}, failed("ask for the cursor", err)
	}
	c, err := parseCursor(answers[0])
	return c, failed("ask for the cursor", err)
}

// parseCursor reads the reply to GetCursorImageAndName, whose length may not be what its
// sizes say.
func parseCursor(a []byte) (Cursor, error) {
	c := Cursor{
		Serial: order.Uint32(a[20:]), HotX: int(order.Uint16(a[16:])), HotY: int(order.Uint16(a[18:])),
		Width: int(order.Uint16(a[12:])), Height: int(order.Uint16(a[14:])),
	}
	pixels, name := c.Width*c.Height, int(order.Uint16(a[28:]))
	if len(a) < 32+4*pixels+name {
		return Cursor{}, errors.New("the answer is too short")
	}
	c.Pix = make([]uint32, pixels)
	for i := range c.Pix {
		c.Pix[i] = order.Uint32(a[32+4*i:])
	}
	c.Name = string(a[32+4*pixels:][:name])
	return c, nil
}
