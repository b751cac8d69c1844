package rfb

import (
	"image"
	"sync"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// pictures keeps copies of a screen for its viewers, so that capture goes on while
// they encode. All viewers share them: the latest one, and those that somebody is
// still encoding.
type pictures struct {
	frame *frame.Buffer

	mu      sync.Mutex
	latest  *picture   // guarded by mu
	spare   []*picture // guarded by mu; older ones that nobody uses
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

// copyFrom makes rectangles of p, whose size is o's, equal to o.
func (p *picture) copyFrom(o *picture, rects []image.Rectangle) {
	for _, r := range rects {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			i := y * p.width
			copy(p.pix[i+r.Min.X:i+r.Max.X], o.pix[i+r.Min.X:])
		}
	}
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
	p.frame.Read(func(v frame.View) {
		l.now, l.cursor = v.Stamp, v.Cursor
		now := frame.Stamp{Epoch: v.Stamp.Epoch, Gen: v.Stamp.Gen}
		has := frame.Stamp{Epoch: since.Epoch, Gen: since.Gen}
		switch {
		case p.latest == nil:
			p.advance(v)
		case p.latest.stamp != now:
			l.follows = p.latest.stamp == has && has.Epoch == now.Epoch
			p.advance(v)
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
	p.latest.users++
	l.pic = p.latest
	if l.follows {
		l.changed = &l.pic.changed
	}
	return l
}

// advance makes v the latest picture and plans the way to it from the one before.
// That one itself is brought up to date when nobody uses it, else an equal one. The
// planner changes it into v as it goes, which takes no longer than to copy v and to
// plan later, and is one pass over the pixels less. The caller holds mu.
func (p *pictures) advance(v frame.View) {
	last := p.latest
	next := last
	if last == nil || last.users > 0 || last.width != v.Width || last.height != v.Height {
		next = p.spareFor(v.Width, v.Height)
	}
	from := frame.Stamp{}
	if last != nil && last.stamp.Epoch == v.Stamp.Epoch {
		from = last.stamp
	}
	v.Changed(from, &next.changed)
	if from.Epoch == 0 {
		copy(next.pix, v.Pix)
		next.plan = encode.Plan{}
	} else {
		if next != last {
			v.Changed(next.stamp, &p.stale)
			next.copyFrom(last, p.planner.Cover(&p.stale))
		}
		plan := p.planner.Plan(next.pix, v.Pix, v.Width, v.Height, &next.changed, p.copying > 0)
		next.plan.Copies = append(next.plan.Copies[:0], plan.Copies...)
		next.plan.Rects = append(next.plan.Rects[:0], plan.Rects...)
	}
	next.from, next.stamp = from, frame.Stamp{Epoch: v.Stamp.Epoch, Gen: v.Stamp.Gen}
	next.batches = nil
	p.latest, p.batched = next, 0
	if last != nil && last != next {
		p.recycle(last)
	}
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
	p.latest, p.spare = nil, nil
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
