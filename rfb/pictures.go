package rfb

import (
	"image"
	"sync"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// pictures keeps copies of a screen for its viewers, so that capture goes on while
// they encode. All viewers share them: the latest one, what it was planned from, and
// those that somebody is still encoding.
type pictures struct {
	frame *frame.Buffer

	mu      sync.Mutex
	latest  *picture   // guarded by mu
	spare   []*picture // guarded by mu; older ones that nobody uses
	shown   []uint32   // guarded by mu; equal to latest, the planner's own
	planner encode.Planner
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

	from    frame.Stamp // the picture before, where plan starts; zero: none
	plan    encode.Plan
	changed frame.CellSet // cells that are newer than from

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

// look is what acquire found.
type look struct {
	pic     *picture
	now     frame.Stamp // the picture's, with the cursor's
	cursor  frame.Cursor
	changed *frame.CellSet // cells that are newer than what the viewer has; read only
	follows bool           // the picture's plan begins with what the viewer has
}

// acquire returns a look at the present for a viewer that has the state since. The
// caller releases the picture and lends memory for the changed cells.
func (p *pictures) acquire(since frame.Stamp, changed *frame.CellSet) look {
	p.mu.Lock()
	defer p.mu.Unlock()
	var l look
	var next *picture
	p.frame.Read(func(v frame.View) {
		l.now, l.cursor = v.Stamp, v.Cursor
		now := frame.Stamp{Epoch: v.Stamp.Epoch, Gen: v.Stamp.Gen}
		has := frame.Stamp{Epoch: since.Epoch, Gen: since.Gen}
		switch {
		case p.latest == nil:
			next = p.next(v)
		case p.latest.stamp != now:
			l.follows = p.latest.stamp == has && has.Epoch == now.Epoch
			next = p.next(v)
		default:
			l.follows = p.latest.from == has && has.Epoch != 0
		}
		switch {
		case l.follows:
		case has == now:
			l.changed = changed
			changed.Resize(v.Width, v.Height) // none
		default:
			l.changed = changed
			v.Changed(has, changed)
		}
	})
	if next != nil {
		p.advance(next)
	}
	p.latest.users++
	l.pic = p.latest
	if l.follows {
		l.changed = &l.pic.changed
	}
	return l
}

// next returns a picture of v: the latest one brought up to date when nobody uses
// it, else another. The caller holds mu.
func (p *pictures) next(v frame.View) *picture {
	next := p.latest
	if next == nil || next.users > 0 || next.width != v.Width || next.height != v.Height {
		next = p.spareFor(v.Width, v.Height)
	}
	from := frame.Stamp{}
	if p.latest != nil && p.latest.stamp.Epoch == v.Stamp.Epoch {
		from = p.latest.stamp
	}
	v.Changed(from, &next.changed)
	stale := &next.changed
	if next.stamp != from {
		stale = &p.stale
		v.Changed(next.stamp, stale)
	}
	for _, r := range p.planner.Cover(stale) {
		v.Copy(next.pix[r.Min.Y*v.Width+r.Min.X:], v.Width, r)
	}
	next.from, next.stamp = from, frame.Stamp{Epoch: v.Stamp.Epoch, Gen: v.Stamp.Gen}
	return next
}

// spareFor returns the newest picture that nobody uses, or a new one without
// content. The caller holds mu.
func (p *pictures) spareFor(width, height int) *picture {
	if n := len(p.spare); n > 0 && p.spare[n-1].width == width && p.spare[n-1].height == height {
		s := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return s
	}
	p.spare = nil // of another size
	return &picture{width: width, height: height, pix: make([]uint32, width*height)}
}

// advance plans the way to next, which becomes the latest picture. The caller
// holds mu.
func (p *pictures) advance(next *picture) {
	if next.from.Epoch == 0 {
		p.shown = append(p.shown[:0], next.pix...)
		next.plan = encode.Plan{}
	} else {
		plan := p.planner.Plan(p.shown, next.pix, next.width, next.height, &next.changed, p.copying > 0)
		next.plan.Copies = append(next.plan.Copies[:0], plan.Copies...)
		next.plan.Rects = append(next.plan.Rects[:0], plan.Rects...)
	}
	last := p.latest
	p.latest, p.batched = next, 0
	next.batches = nil
	if last != nil && last != next {
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

// maxSpare is how many unused pictures are kept.
const maxSpare = 1

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

// batch returns the encoding of a rectangle that all viewers share, which fill makes
// if nobody has made it yet; nil when no more can be kept.
func (p *pictures) batch(pic *picture, key batchKey, fill func(*encode.Batch)) *encode.Batch {
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
		fill(&b.batch)
		p.mu.Lock()
		p.batched += b.batch.Size()
		p.mu.Unlock()
	})
	return &b.batch
}
