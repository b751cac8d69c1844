package x11

import (
	"image"
	"sync/atomic"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/damage"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

// Watch notices changes of the screen's pixels (DAMAGE), size (RANDR) and cursor
// shape (XFIXES). It lives as long as its Conn, which has at most one.
type Watch struct {
	conn    *Conn
	damage  damage.Damage
	region  xfixes.Region // where Take puts the damage to read it
	changed chan struct{} // capacity 1
	shape   atomic.Bool   // the cursor's shape changed since the last Take
}

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

// Watch starts to watch the screen. The whole screen counts as changed until the
// first Take.
func (c *Conn) Watch() (*Watch, error) {
	w := &Watch{conn: c, changed: make(chan struct{}, 1)}
	w.shape.Store(true)
	c.listen(w.handle)

	var err error
	if w.damage, err = damage.NewDamageId(c.x); err != nil {
		return nil, failed("watch the screen", err)
	}
	if w.region, err = xfixes.NewRegionId(c.x); err != nil {
		return nil, failed("watch the screen", err)
	}
	// Report level "non-empty" gives one event when there is something to take, and
	// no more until it was taken, however much is drawn.
	if err = damage.CreateChecked(c.x, w.damage, xproto.Drawable(c.root), damage.ReportLevelNonEmpty).Check(); err != nil {
		return nil, failed("watch the screen", err)
	}
	if err = xfixes.CreateRegionChecked(c.x, w.region, nil).Check(); err != nil {
		return nil, failed("watch the screen", err)
	}
	if err = xfixes.SelectCursorInputChecked(c.x, c.root, xfixes.CursorNotifyMaskDisplayCursor).Check(); err != nil {
		return nil, failed("watch the cursor", err)
	}
	return w, nil
}

func (w *Watch) handle(ev xgb.Event) {
	switch ev.(type) {
	case damage.NotifyEvent, randr.ScreenChangeNotifyEvent:
	case xfixes.CursorNotifyEvent:
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

// Take returns what changed since the last Take, in one round trip. What is drawn
// after Take has begun is either in its answer or will be announced on Changed
// again; so whoever takes first and grabs the pixels second loses nothing.
func (w *Watch) Take() (Changes, error) {
	const none = 0
	c := w.conn
	shape := w.shape.Swap(false)
	damage.Subtract(c.x, w.damage, none, w.region)
	region := xfixes.FetchRegion(c.x, w.region)
	geometry := xproto.GetGeometry(c.x, xproto.Drawable(c.root))
	pointer := xproto.QueryPointer(c.x, c.root)

	r, err := region.Reply()
	if err != nil {
		return Changes{}, failed("ask what was drawn", err)
	}
	g, err := geometry.Reply()
	if err != nil {
		return Changes{}, failed("ask for the screen's size", err)
	}
	p, err := pointer.Reply()
	if err != nil {
		return Changes{}, failed("ask where the pointer is", err)
	}
	ch := Changes{
		Width: int(g.Width), Height: int(g.Height),
		Pointer:     image.Pt(int(p.RootX), int(p.RootY)),
		CursorShape: shape,
	}
	for _, d := range r.Rectangles {
		x, y := int(d.X), int(d.Y)
		ch.Damage = append(ch.Damage, image.Rect(x, y, x+int(d.Width), y+int(d.Height)))
	}
	return ch, nil
}

// Cursor is the shape of the pointer's picture.
type Cursor struct {
	Serial        uint32 // names the shape while the X server lives
	Name          string // "left_ptr", or empty
	HotX, HotY    int    // the hotspot inside the picture
	Width, Height int
	Pix           []uint32 // Width*Height pixels 0xAARRGGBB, premultiplied
}

// Cursor returns the cursor's current shape.
func (c *Conn) Cursor() (Cursor, error) {
	r, err := xfixes.GetCursorImageAndName(c.x).Reply()
	if err != nil {
		return Cursor{}, failed("ask for the cursor", err)
	}
	return Cursor{
		Serial: r.CursorSerial, Name: r.Name, HotX: int(r.Xhot), HotY: int(r.Yhot),
		Width: int(r.Width), Height: int(r.Height), Pix: r.CursorImage,
	}, nil
}
