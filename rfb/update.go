package rfb

import (
	"encoding/binary"
	"errors"
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

const (
	// maxUpdatePixels bounds one update, and with it the memory that a viewer
	// without LastRect costs. What is left over goes into the next.
	maxUpdatePixels = 4 << 20
	// bandPixels is about how many pixels are encoded before they can be sent.
	bandPixels = 64 << 10
	// maxKeptOut is how much memory is kept from one update to the next, in bytes.
	maxKeptOut = 1 << 20
	// flushSize is how many bytes are worth being sent before the update is whole.
	flushSize = 32 << 10
)

// everything is an area larger than any screen.
var everything = image.Rect(0, 0, 1<<16, 1<<16)

// errCannotResize ends the connection of a viewer that listed neither of the two
// ways to be told a new size.
var errCannotResize = errors.New("the screen's size changed and the viewer cannot follow")

// update sends one FramebufferUpdate (RFC 6143 section 7.6.1), if the viewer may be
// sent one and there is something to send. Otherwise the request stays open.
func (c *Conn) update(want *wants) (pause, error) {
	w := &c.w
	w.owing = w.owing || want.requested
	w.area = w.area.Union(want.area)
	w.owed.AddRect(want.afresh)
	w.layout = w.layout || want.layout
	w.answers = append(w.answers, want.answers...)
	w.answers = w.answers[:min(len(w.answers), maxLayoutAnswers)]

	var next pause
	area := w.area
	if want.continuous && want.flowing {
		area = area.Union(want.continuousArea)
		next.watch = true
	}
	next.watch = next.watch || w.owing
	if !next.watch {
		return next, nil
	}

	c.useSettings(want)
	pictures := &c.cfg.Screen.pictures
	present := pictures.acquire(w.seen, &w.changed)
	defer pictures.release(present.pic)

	u := updater{conn: c, w: w, look: present, want: want, area: area, ghost: w.cursor.painted.box}
	if err := u.compose(&next); err != nil {
		return next, err
	}
	if u.count == 0 {
		return next, nil
	}
	next.sent = true
	w.owing, w.area = false, image.Rectangle{}
	return next, u.finish()
}

// useSettings takes over changed settings.
func (c *Conn) useSettings(want *wants) {
	w := &c.w
	s := viewerSettings{want.caps.settings(want.format), want.caps.copyRect}
	if w.joined && s == w.settings {
		return
	}
	pictures := &c.cfg.Screen.pictures
	if w.joined {
		pictures.leave(w.settings)
	}
	pictures.join(s)
	w.settings, w.joined = s, true
	w.encoders = make(map[encode.Settings]*encode.Encoder)
}

// encoderFor returns the encoder for a variant of the viewer's settings.
func (w *writerState) encoderFor(s encode.Settings) *encode.Encoder {
	e := w.encoders[s]
	if e == nil {
		e = encode.NewEncoder(s)
		w.encoders[s] = e
	}
	return e
}

// updater makes one update.
type updater struct {
	conn *Conn
	w    *writerState    // conn's: what the viewer has
	look look            // at the screen: what it is to have
	want *wants          // what it asked for
	area image.Rectangle // ... and where

	count     int // of rectangles
	size      int // bytes sent so far
	streaming bool
	painted   image.Rectangle // where cursor is painted into the pixels
	ghost     image.Rectangle // where it is in the viewer's pixels
}

// compose appends the update's rectangles. An update that tells a size has nothing
// else in it: what viewers do with pixels that follow differs.
func (u *updater) compose(next *pause) error {
	w := u.w
	w.out = append(w.out[:0], msgUpdate, 0, 0, 0)
	if u.look.pic.width != w.width || u.look.pic.height != w.height {
		return u.tellNewSize()
	}
	if u.tellLayout() {
		return nil
	}
	u.tellState()
	next.sooner(u.tellCursor())
	if err := u.pixels(); err != nil {
		return err
	}
	w.seen = u.look.now
	if u.count == 0 {
		due, err := u.refresh()
		next.sooner(due)
		return err
	}
	return nil
}

// pixels sends what changed, as far as the viewer wants to know it.
func (u *updater) pixels() error {
	w := u.w
	follows := u.look.follows && (u.want.caps.copyRect || len(u.look.pic.plan.Copies) == 0)
	whole := w.bounds().In(u.area) && w.width*w.height <= maxUpdatePixels
	if follows && whole && w.owed.Empty() {
		return u.followPlan()
	}
	w.owed.Union(u.look.changed)
	u.repaintCursor(&w.owed)
	if w.owed.Empty() {
		return nil
	}
	u.take(&w.dirty, &w.owed)
	return u.rectangles(w.planner.Cover(&w.dirty), w.settings.settings)
}

// followPlan takes the viewer from the picture that it has to the next in the way
// that was planned for all.
func (u *updater) followPlan() error {
	w := u.w
	plan := &u.look.pic.plan
	w.dirty.Resize(w.width, w.height)
	u.repaintCursor(&w.dirty)
	for _, ghost := range u.copyGhosts(plan.Copies) {
		w.dirty.AddRect(ghost)
	}
	for _, cp := range plan.Copies {
		w.out = cp.Append(w.out)
		cp.Carry(&w.lossy)
		u.count++
	}
	if w.dirty.Empty() {
		return u.rectangles(plan.Rects, w.settings.settings)
	}
	for _, r := range plan.Rects {
		w.dirty.AddRect(r)
	}
	return u.rectangles(w.planner.Cover(&w.dirty), w.settings.settings)
}

// take moves cells that the viewer wants to know about from one set to another,
// as many as fit into an update.
func (u *updater) take(to, from *frame.CellSet) {
	w := u.w
	to.Resize(w.width, w.height)
	area := from.Bounds().Intersect(u.area)
	if area.Empty() {
		return
	}
	if rows := maxUpdatePixels / area.Dx() / frame.CellSize * frame.CellSize; area.Dy() > rows {
		area.Max.Y = area.Min.Y + rows
	}
	moveCells(to, from, area)
}

// moveCells moves the cells that area touches from one set to another.
func moveCells(to, from *frame.CellSet, area image.Rectangle) {
	const n = frame.CellSize
	for y := area.Min.Y / n * n; y < area.Max.Y; y += n {
		for x := area.Min.X / n * n; x < area.Max.X; x += n {
			if cell := image.Rect(x, y, x+1, y+1); from.Has(x/n, y/n) {
				to.AddRect(cell)
				from.RemoveRect(cell)
			}
		}
	}
}

// rectangles encodes and, bit by bit, sends rectangles of pixels.
func (u *updater) rectangles(rects []image.Rectangle, s encode.Settings) error {
	shared := len(rects) > 0 && u.conn.cfg.Screen.pictures.shared(u.w.settings.settings)
	for _, r := range rects {
		for band := r; !band.Empty(); band.Min.Y, band.Max.Y = band.Max.Y, r.Max.Y {
			// ZRLE's tiles are 64 pixels high.
			rows := max(bandPixels/band.Dx()/64*64, 64)
			band.Max.Y = min(band.Min.Y+rows, r.Max.Y)
			began := time.Now()
			u.encode(band, s, shared)
			u.conn.encoding.Add(int64(time.Since(began)))
			if err := u.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// encode appends one rectangle of pixels.
func (u *updater) encode(r image.Rectangle, s encode.Settings, shared bool) {
	w := u.w
	s.Shared = shared
	batch := &w.batch
	if shared {
		key := batchKey{settings: s, rect: r}
		if r.Overlaps(u.painted) {
			key.cursor = u.look.now.Cursor
		}
		made := u.conn.cfg.Screen.pictures.batch(u.look.pic, key, func(b *encode.Batch) {
			w.encoderFor(s).Encode(b, u.block(r), r)
		})
		if made != nil {
			batch = made
		} else {
			s.Shared, shared = false, false
		}
	}
	if !shared {
		batch.Reset()
		w.encoderFor(s).Encode(batch, u.block(r), r)
	}
	w.out = w.streams.Append(w.out, batch)
	if s.JPEG.Quality > 0 || !w.lossy.Empty() {
		batch.Mark(&w.lossy)
	}
	u.count += batch.Rects()
}

// block returns the pixels of r as the viewer is to see them.
func (u *updater) block(r image.Rectangle) encode.Block {
	if !r.Overlaps(u.painted) {
		return u.look.pic.block()
	}
	return u.paintCursor(r)
}

// flush sends the update's beginning while the rest is being encoded. It can only
// do so for a viewer that need not know the number of rectangles in advance.
func (u *updater) flush() error {
	w := u.w
	if len(w.out) < flushSize || !u.want.caps.lastRect {
		return nil
	}
	if !u.streaming {
		u.streaming = true
		binary.BigEndian.PutUint16(w.out[2:], 0xffff)
	}
	return u.sendOut()
}

func (u *updater) sendOut() error {
	w := u.w
	u.size += len(w.out)
	err := u.conn.send(w.out)
	w.out = w.out[:0]
	return err
}

// finish ends the update and sends what is left of it.
func (u *updater) finish() error {
	w := u.w
	if u.streaming {
		w.out = encode.AppendRectHeader(w.out, image.Rectangle{}, pseudoLastRect)
	} else {
		binary.BigEndian.PutUint16(w.out[2:], uint16(u.count))
	}
	if u.want.caps.fence {
		u.conn.mu.Lock()
		if u.want.continuous || len(u.conn.flow.marks) == 0 {
			w.out = u.conn.flow.appendFence(w.out, int64(u.size+len(w.out)))
		}
		u.conn.mu.Unlock()
	}
	err := u.sendOut()
	if cap(w.out) > maxKeptOut {
		w.out = nil
	}
	return err
}
