package rfb

import (
	"image"
	"sync"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// pictures keeps copies of a screen for its viewers, so that capture goes on while
// they encode. All viewers share them: the latest one, the one that it was planned
// from, and those that somebody is still encoding.
type pictures struct {
	frame *frame.Buffer

	mu      sync.Mutex
	latest  *picture   // guarded by mu
	spare   []*picture // guarded by mu; older ones that nobody uses
	shown   []uint32   // guarded by mu; equal to latest, the planner's own
	planner encode.Planner
	dirty   frame.CellSet
	stale   frame.CellSet

	viewers map[encode.Settings]int // guarded by mu; how many have these settings
	copying int                     // guarded by mu; how many understand CopyRect
	batched int                     // guarded by mu; bytes of the latest picture's batches
}

// picture is the screen at one generation. Nobody writes to it while it is used.
type picture struct {
	stamp         frame.Stamp // Cursor is not meant
	width, height int
	pix           []uint32

	from frame.Stamp // where plan starts
	plan encode.Plan

	users   int                       // guarded by pictures.mu
	batches map[batchKey]*sharedBatch // guarded by pictures.mu
}

// batchKey tells encoded rectangles of one picture apart.
type batchKey struct {
	settings encode.Settings
	rect     image.Rectangle
	cursor   uint64 // frame.Stamp.Cursor of the cursor that was painted in, 0 without
}

// sharedBatch is encoded by the first viewer that needs it.
type sharedBatch struct {
	once  sync.Once
	batch encode.Batch
}

// maxBatched bounds the encoded rectangles that a screen keeps, in bytes. Beyond
// it viewers encode for themselves.
const maxBatched = 16 << 20

func (p *picture) bounds() image.Rectangle { return image.Rect(0, 0, p.width, p.height) }

// block returns the pixels of the whole picture.
func (p *picture) block() encode.Block {
	return encode.Block{Rectangle: p.bounds(), Pix: p.pix, Stride: p.width}
}

// acquire returns the picture of now. The caller releases it. In changed, unless it
// is nil, acquire sets the cells that are newer than since. The cursor is the one of
// the returned stamp, whose pixels the picture has.
func (p *pictures) acquire(since frame.Stamp, changed *frame.CellSet) (*picture, frame.Stamp, frame.Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var now frame.Stamp
	var cursor frame.Cursor
	var next *picture
	p.frame.Read(func(v frame.View) {
		now, cursor = v.Stamp, v.Cursor
		if changed != nil {
			v.Changed(since, changed)
		}
		if l := p.latest; l != nil && l.stamp.Epoch == now.Epoch && l.stamp.Gen == now.Gen {
			return
		}
		next = p.copyView(v)
	})
	if next != nil {
		p.advance(next)
	}
	p.latest.users++
	return p.latest, now, cursor
}

// copyView brings a picture that nobody uses up to date, or makes a new one. It
// also finds the cells that are newer than latest. The caller holds mu.
func (p *pictures) copyView(v frame.View) *picture {
	next := p.unused(v)
	v.Changed(next.stamp, &p.stale)
	for _, r := range p.planner.Cover(&p.stale) {
		v.Copy(next.pix[r.Min.Y*v.Width+r.Min.X:], v.Width, r)
	}
	next.stamp = frame.Stamp{Epoch: v.Stamp.Epoch, Gen: v.Stamp.Gen}
	if p.latest != nil {
		v.Changed(p.latest.stamp, &p.dirty)
	} else {
		v.Changed(frame.Stamp{}, &p.dirty)
	}
	return next
}

// unused returns the newest picture that nobody uses, or a new one without content.
func (p *pictures) unused(v frame.View) *picture {
	for i := len(p.spare) - 1; i >= 0; i-- {
		s := p.spare[i]
		if s.width == v.Width && s.height == v.Height {
			p.spare = append(p.spare[:i], p.spare[i+1:]...)
			return s
		}
	}
	p.spare = nil // of another size
	return &picture{width: v.Width, height: v.Height, pix: make([]uint32, v.Width*v.Height)}
}

// advance plans the way from the latest picture to next, which takes its place.
// The caller holds mu.
func (p *pictures) advance(next *picture) {
	next.from = frame.Stamp{}
	last := p.latest
	if last == nil || last.stamp.Epoch != next.stamp.Epoch || len(p.shown) != len(next.pix) {
		p.shown = append(p.shown[:0], next.pix...)
		next.plan = encode.Plan{}
	} else {
		next.from = last.stamp
		plan := p.planner.Plan(p.shown, next.pix, next.width, next.height, &p.dirty, p.copying > 0)
		next.plan.Copies = append(next.plan.Copies[:0], plan.Copies...)
		next.plan.Rects = append(next.plan.Rects[:0], plan.Rects...)
	}
	p.latest, p.batched = next, 0
	if last != nil {
		p.recycle(last)
	}
}

// release gives back a picture.
func (p *pictures) release(pic *picture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pic.users--
	if pic != p.latest {
		p.recycle(pic)
	}
}

// recycle keeps a picture that is no longer the latest for later, once nobody
// uses it. The caller holds mu.
func (p *pictures) recycle(pic *picture) {
	if pic.users > 0 {
		return
	}
	pic.batches = nil
	if p.latest != nil && len(p.spare) < maxSpare {
		p.spare = append(p.spare, pic)
	}
}

// maxSpare is how many unused pictures are kept: one to be the next and one for a
// viewer that was still encoding.
const maxSpare = 2

// drop frees the memory when the last viewer has gone.
func (p *pictures) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest, p.spare, p.shown = nil, nil, nil
}

// join counts a viewer's settings; leave ends that.
func (p *pictures) join(s viewerSettings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.viewers == nil {
		p.viewers = make(map[encode.Settings]int)
	}
	p.viewers[s.settings]++
	if s.copyRect {
		p.copying++
	}
}

func (p *pictures) leave(s viewerSettings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.viewers[s.settings]--; p.viewers[s.settings] <= 0 {
		delete(p.viewers, s.settings)
	}
	if s.copyRect {
		p.copying--
	}
}

// viewerSettings are what the pictures have to know of a viewer.
type viewerSettings struct {
	settings encode.Settings
	copyRect bool
}

// shared tells whether more than one viewer has these settings.
func (p *pictures) shared(s encode.Settings) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.viewers[s] > 1
}

// batch returns the encoding of a rectangle that all viewers share, made by the
// given function if nobody has made it yet; nil when no more can be kept.
func (p *pictures) batch(pic *picture, key batchKey, make_ func(*encode.Batch)) *encode.Batch {
	p.mu.Lock()
	b := pic.batches[key]
	if b == nil && p.batched < maxBatched {
		if pic.batches == nil {
			pic.batches = make(map[batchKey]*sharedBatch)
		}
		b = new(sharedBatch)
		pic.batches[key] = b
	}
	p.mu.Unlock()
	if b == nil {
		return nil
	}
	b.once.Do(func() {
		make_(&b.batch)
		p.mu.Lock()
		p.batched += b.batch.Size()
		p.mu.Unlock()
	})
	return &b.batch
}
