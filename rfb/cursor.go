package rfb

import (
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// The pointer belongs to whoever moved it last. While that is the viewer's person,
// the viewer draws it: it is sent the shape. When somebody else moves it (the agent,
// another viewer), the viewer's own pointer is hidden and the real one is painted
// into the pixels, because no other way to show it works in every viewer.

// ownPointer is what a viewer did with its pointer. The zero value is a viewer
// that never moved it.
type ownPointer struct {
	moved bool
	at    time.Time
	own   image.Point // where the viewer moved it
	rest  image.Point // where the real one was then
}

// pointerGrace is how long after a viewer's own move nobody else's counts: the
// real pointer follows with a delay.
const pointerGrace = time.Second

// move notes that the viewer moved its pointer.
func (p *ownPointer) move(to image.Point, buffer *frame.Buffer) {
	p.moved, p.at = true, time.Now()
	buffer.Read(func(v frame.View) {
		p.own = clamp(to, v.Bounds())
		p.rest = image.Pt(v.Cursor.X, v.Cursor.Y)
	})
}

// clamp returns the point of r that is nearest to p.
func clamp(p image.Point, r image.Rectangle) image.Point {
	return image.Pt(max(min(p.X, r.Max.X-1), r.Min.X), max(min(p.Y, r.Max.Y-1), r.Min.Y))
}

// foreign tells whether somebody else moved the real pointer, or when it can be
// told; zero means not before it moves.
func (p *ownPointer) foreign(c frame.Cursor) (bool, time.Time) {
	at := image.Pt(c.X, c.Y)
	if !p.moved {
		return true, time.Time{}
	}
	if at == p.own || at == p.rest {
		return false, time.Time{}
	}
	if due := p.at.Add(pointerGrace); time.Now().Before(due) {
		return false, due
	}
	return true, time.Time{}
}

// shownCursor is what a viewer has of the cursor.
type shownCursor struct {
	kind    encode.Encoding // of the shape that it was sent; 0: none
	epoch   uint64
	serial  uint64
	hidden  bool
	painted paintedCursor
}

// paintedCursor tells what of the cursor is in the viewer's pixels.
type paintedCursor struct {
	box           image.Rectangle // empty: nothing
	epoch, serial uint64
}

// tellCursor decides how the viewer is to see the cursor and sends its shape when
// that changes. It returns when the decision may be another one; zero means never.
func (u *updater) tellCursor() time.Time {
	shown := &u.w.cursor
	kind := u.want.caps.cursor
	if u.look.now.Cursor == 0 {
		return time.Time{} // there never was one
	}
	foreign, due := u.want.pointer.foreign(u.look.cursor)
	hidden := u.look.cursor.Width == 0 || foreign
	if kind == 0 || foreign {
		u.painted = u.look.cursor.Bounds().Intersect(u.w.bounds())
	}
	if kind == 0 {
		return time.Time{}
	}
	same := shown.kind == kind && shown.hidden == hidden && shown.epoch == u.look.now.Epoch &&
		(hidden || shown.serial == u.look.cursor.Serial)
	if same {
		return due
	}
	shown.kind, shown.hidden, shown.epoch, shown.serial = kind, hidden, u.look.now.Epoch, u.look.cursor.Serial
	c := u.look.cursor
	if hidden {
		c = frame.Cursor{}
	}
	u.appendCursor(kind, c)
	return due
}

func (u *updater) appendCursor(kind encode.Encoding, c frame.Cursor) {
	w := u.w
	switch kind {
	case encode.VMwareCursor:
		w.out = encode.AppendVMwareCursor(w.out, c)
	case encode.CursorWithAlpha:
		w.out = encode.AppendCursorWithAlpha(w.out, c)
	case encode.Cursor:
		w.out = encode.AppendCursor(w.out, w.settings.settings.Format, c)
	case encode.XCursor:
		w.out = encode.AppendXCursor(w.out, c)
	}
	u.count++
}

// repaintCursor adds the cells where the painted cursor was and will be, when they
// are not the same. From now on the viewer counts as having the new one.
func (u *updater) repaintCursor(dirty *frame.CellSet) {
	paint := paintedCursor{box: u.painted, epoch: u.look.now.Epoch, serial: u.look.cursor.Serial}
	if paint.box.Empty() {
		paint = paintedCursor{}
	}
	was := &u.w.cursor.painted
	if *was == paint {
		return
	}
	dirty.AddRect(was.box)
	dirty.AddRect(paint.box)
	*was = paint
}

// copyGhosts returns what copies do to a cursor that is in the viewer's pixels:
// where they take it, and where it is when they overwrite it.
func (u *updater) copyGhosts(copies []encode.Copy) []image.Rectangle {
	if u.ghost.Empty() {
		return nil
	}
	ghosts := append(u.w.rects[:0], u.ghost)
	hit := false
	for _, cp := range copies {
		move := cp.Dst.Min.Sub(cp.Src)
		for _, g := range ghosts[:len(ghosts):len(ghosts)] {
			if g = g.Intersect(cp.From()); !g.Empty() {
				ghosts = append(ghosts, g.Add(move))
			}
		}
		hit = hit || cp.Dst.Overlaps(u.ghost)
	}
	u.w.rects = ghosts
	if hit {
		return ghosts
	}
	return ghosts[1:]
}

// paintCursor returns the pixels of r with the cursor on top.
func (u *updater) paintCursor(r image.Rectangle) encode.Block {
	w := u.w
	n := r.Dx() * r.Dy()
	if cap(w.overlay) < n {
		w.overlay = make([]uint32, n)
	}
	b := encode.Block{Rectangle: r, Pix: w.overlay[:n], Stride: r.Dx()}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(b.Pix[(y-r.Min.Y)*b.Stride:][:b.Stride], u.look.pic.pix[y*u.look.pic.width+r.Min.X:])
	}
	u.look.cursor.Draw(b.Pix, b.Stride, r)
	return b
}
