package encode

import (
	"image"
	"math/rand/v2"
	"testing"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/internal/testscreen"
)

// stage is a screen on which tests draw.
type stage struct {
	width, height int
	rng           *rand.Rand
	shown, next   []uint32
}

func newStage(rng *rand.Rand, width, height int) *stage {
	s := &stage{width: width, height: height, rng: rng, next: make([]uint32, width*height)}
	pictures["screen"](rng, s.next, width)
	s.shown = append([]uint32(nil), s.next...)
	return s
}

func (s *stage) bounds() image.Rectangle { return image.Rect(0, 0, s.width, s.height) }

// rect returns a random rectangle on the screen.
func (s *stage) rect() image.Rectangle {
	w, h := 1+s.rng.IntN(s.width), 1+s.rng.IntN(s.height)
	return image.Rect(0, 0, w, h).Add(image.Pt(s.rng.IntN(s.width-w+1), s.rng.IntN(s.height-h+1)))
}

// move copies a rectangle to somewhere near and draws into some of the place left.
func (s *stage) move() {
	r := s.rect()
	to := r.Add(image.Pt(s.rng.IntN(81)-40, s.rng.IntN(81)-40)).Intersect(s.bounds())
	if s.rng.IntN(2) == 0 {
		to = r.Add(image.Pt(0, -20)).Intersect(s.bounds())
	}
	if to.Empty() {
		return
	}
	old := append([]uint32(nil), s.next...)
	for y := range min(to.Dy(), r.Dy()) {
		copy(s.next[(to.Min.Y+y)*s.width+to.Min.X:][:min(to.Dx(), r.Dx())], old[(r.Min.Y+y)*s.width+r.Min.X:])
	}
}

// draw fills a rectangle with a colour, noise or stripes.
func (s *stage) draw() {
	r := s.rect()
	if s.rng.IntN(2) == 0 {
		r.Max = image.Pt(min(r.Max.X, r.Min.X+20), min(r.Max.Y, r.Min.Y+20))
	}
	c, kind := s.rng.Uint32()&0xffffff, s.rng.IntN(3)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if kind == 1 || kind == 2 && (x*y)%7 == 0 {
				c = s.rng.Uint32() & 0xffffff
			}
			s.next[y*s.width+x] = c
		}
	}
}

// dirty returns the cells that differ, and a few that do not.
func (s *stage) dirty() *frame.CellSet {
	var set frame.CellSet
	set.Resize(s.width, s.height)
	for i := range s.next {
		if s.next[i] != s.shown[i] || s.rng.IntN(5000) == 0 {
			x, y := i%s.width, i/s.width
			set.AddRect(image.Rect(x, y, x+1, y+1))
		}
	}
	return &set
}

// follow plans from shown to next and checks everything that a plan promises.
func (s *stage) follow(t *testing.T, p *Planner, copies bool) Plan {
	t.Helper()
	viewer := append([]uint32(nil), s.shown...)
	plan := p.Plan(s.shown, s.next, s.width, s.height, s.dirty(), copies)
	for _, c := range plan.Copies {
		if !copies || !c.Dst.In(s.bounds()) || !c.From().In(s.bounds()) || c.Dst.Empty() {
			t.Fatalf("copy %v", c)
		}
		old := append([]uint32(nil), viewer...)
		for y := range c.Dst.Dy() {
			copy(viewer[(c.Dst.Min.Y+y)*s.width+c.Dst.Min.X:][:c.Dst.Dx()], old[(c.Src.Y+y)*s.width+c.Src.X:])
		}
	}
	for i, r := range plan.Rects {
		if r.Empty() || !r.In(s.bounds()) {
			t.Fatalf("rectangle %v", r)
		}
		for _, o := range plan.Rects[:i] {
			if o.Overlaps(r) {
				t.Fatalf("%v overlaps %v", r, o)
			}
		}
		for y := r.Min.Y; y < r.Max.Y; y++ {
			copy(viewer[y*s.width+r.Min.X:y*s.width+r.Max.X], s.next[y*s.width+r.Min.X:])
		}
	}
	for i := range viewer {
		if viewer[i] != s.next[i] || s.shown[i] != s.next[i] {
			t.Fatalf("pixel %d,%d: viewer %#x, shown %#x, next %#x", i%s.width, i/s.width, viewer[i], s.shown[i], s.next[i])
		}
	}
	return plan
}

func TestPlanLeadsToNext(t *testing.T) {
	rng := rngOf(t)
	var p Planner
	copied := 0
	for _, size := range []image.Point{{320, 240}, {333, 251}, {16, 16}, {7, 5}, {1, 300}} {
		s := newStage(rng, size.X, size.Y)
		for i := range 150 {
			for range rng.IntN(3) {
				s.draw()
			}
			if rng.IntN(2) == 0 {
				s.move()
			}
			copied += len(s.follow(t, &p, i%10 > 0).Copies)
		}
	}
	if copied < 30 {
		t.Errorf("only %d copies in all", copied)
	}
}

// page paints something like text into a rectangle of the stage.
func (s *stage) page(r image.Rectangle) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			s.next[y*s.width+x] = 0xffffff
			if (y-r.Min.Y)%20 > 6 && s.rng.IntN(3) == 0 {
				s.next[y*s.width+x] = s.rng.Uint32() & 0x7f7f7f
			}
		}
	}
}

// TestScrollIsOneCopy scrolls a window by distances that fit no grid.
func TestScrollIsOneCopy(t *testing.T) {
	rng := rngOf(t)
	var p Planner
	s := newStage(rng, 640, 480)
	win := image.Rect(53, 37, 601, 451)
	s.page(win)
	copy(s.shown, s.next)
	for _, by := range []image.Point{{0, -60}, {0, -1}, {0, 17}, {0, 123}, {-40, 0}, {9, 0}, {3, -5}} {
		old := append([]uint32(nil), s.next...)
		s.page(win)
		to := win.Add(by).Intersect(win)
		for y := to.Min.Y; y < to.Max.Y; y++ {
			copy(s.next[y*s.width+to.Min.X:y*s.width+to.Max.X], old[(y-by.Y)*s.width+to.Min.X-by.X:])
		}
		plan := s.follow(t, &p, true)
		if len(plan.Copies) != 1 || !to.In(plan.Copies[0].Dst) {
			t.Errorf("by %v: copies %v, want %v", by, plan.Copies, to)
		}
		sent := 0
		for _, r := range plan.Rects {
			sent += size(r)
		}
		if fresh := size(win) - size(to); sent > fresh*3/2 {
			t.Errorf("by %v: %d pixels sent for %d fresh ones", by, sent, fresh)
		}
	}
}

// A page of real letters repeats itself: the same pairs of letters, the same lines,
// much white. Its scrolling has to be found all the same, at every place of a long page.
func TestScrolledTextIsCopied(t *testing.T) {
	const width, height = 1280, 800
	pages := map[string]func(seed uint64, width, height int) []uint32{"text": testscreen.Text, "terminal": testscreen.Terminal}
	for name, draw := range pages {
		for _, win := range []image.Rectangle{image.Rect(203, 101, 1003, 701), image.Rect(0, 64, 1280, 800)} {
			for _, step := range []int{16, 53} {
				var p Planner
				shown, next := make([]uint32, width*height), make([]uint32, width*height)
				pix := draw(3, win.Dx(), 6*win.Dy())
				show := func(from int) {
					for y := range win.Dy() {
						copy(next[(win.Min.Y+y)*width+win.Min.X:][:win.Dx()], pix[(from+y)*win.Dx():])
					}
				}
				show(0)
				copy(shown, next)
				var dirty frame.CellSet
				sent, fresh := 0, 0
				for from := step; from <= 5*win.Dy(); from += step {
					show(from)
					fresh += step * win.Dx()
					dirty.Resize(width, height)
					dirty.AddRect(win)
					for _, r := range p.Plan(shown, next, width, height, &dirty, true).Rects {
						sent += size(r)
					}
				}
				if sent > fresh*5/4 {
					t.Errorf("%s in %v by %d: %d pixels sent for %d fresh ones", name, win, step, sent, fresh)
				}
			}
		}
	}
}

// TestDragIsOneCopy moves a window over a picture, in all directions.
func TestDragIsOneCopy(t *testing.T) {
	rng := rngOf(t)
	var p Planner
	s := newStage(rng, 640, 480)
	ground := make([]uint32, len(s.next))
	pictures["noise"](rng, ground, s.width)
	window := newStage(rng, 200, 150)
	window.page(window.bounds())
	at := image.Pt(200, 150)
	show := func() {
		copy(s.next, ground)
		for y := range window.height {
			copy(s.next[(at.Y+y)*s.width+at.X:][:window.width], window.next[y*window.width:])
		}
	}
	show()
	copy(s.shown, s.next)
	for range 30 {
		by := image.Pt(rng.IntN(61)-30, rng.IntN(61)-30)
		if by == (image.Point{}) || !window.bounds().Add(at).Add(by).In(s.bounds()) {
			continue
		}
		at = at.Add(by)
		show()
		plan := s.follow(t, &p, true)
		if len(plan.Copies) != 1 || plan.Copies[0].Dst != window.bounds().Add(at) {
			t.Errorf("by %v: copies %v, want %v", by, plan.Copies, window.bounds().Add(at))
		}
	}
}

// TestStrewnChange changes single pixels all over a large screen: the plan stays
// short.
func TestStrewnChange(t *testing.T) {
	rng := rngOf(t)
	var p Planner
	s := newStage(rng, 1920, 1080)
	for range 20000 {
		s.next[rng.IntN(len(s.next))] ^= 0x123456
	}
	if plan := s.follow(t, &p, true); len(plan.Rects) > maxRects {
		t.Errorf("%d rectangles", len(plan.Rects))
	}
}

func TestCoverIsExact(t *testing.T) {
	rng := rngOf(t)
	var p Planner
	for range 200 {
		w, h := 1+rng.IntN(300), 1+rng.IntN(300)
		var set frame.CellSet
		set.Resize(w, h)
		for range rng.IntN(20) {
			x, y := rng.IntN(w), rng.IntN(h)
			set.AddRect(image.Rect(x, y, x+1+rng.IntN(60), y+1+rng.IntN(60)))
		}
		covered := make([]int, w*h)
		for _, r := range p.Cover(&set) {
			for y := r.Min.Y; y < r.Max.Y; y++ {
				for x := r.Min.X; x < r.Max.X; x++ {
					covered[y*w+x]++
				}
			}
		}
		for i, n := range covered {
			want := 0
			if set.Has(i%w/frame.CellSize, i/w/frame.CellSize) {
				want = 1
			}
			if n != want {
				t.Fatalf("pixel %d,%d of %dx%d is covered %d times, want %d", i%w, i/w, w, h, n, want)
			}
		}
	}
}

// TestCarry compares lossy marks with pixels that are known to be lossy.
func TestCarry(t *testing.T) {
	rng := rngOf(t)
	for range 300 {
		s := &stage{width: 1 + rng.IntN(90), height: 1 + rng.IntN(90), rng: rng}
		var lossy frame.CellSet
		lossy.Resize(s.width, s.height)
		bad := make([]bool, s.width*s.height)
		for range 12 {
			r := s.rect()
			if rng.IntN(2) == 0 {
				lossy.AddRect(r)
				fillBool(bad, s.width, r, true)
				continue
			}
			if rng.IntN(2) == 0 {
				b := Batch{rects: []encodedRect{{Rectangle: r}}}
				b.Mark(&lossy)
				fillBool(bad, s.width, r, false)
				continue
			}
			c := Copy{Dst: r, Src: image.Pt(rng.IntN(s.width-r.Dx()+1), rng.IntN(s.height-r.Dy()+1))}
			c.Carry(&lossy)
			old := append([]bool(nil), bad...)
			for y := range r.Dy() {
				copy(bad[(r.Min.Y+y)*s.width+r.Min.X:][:r.Dx()], old[(c.Src.Y+y)*s.width+c.Src.X:])
			}
		}
		for i, b := range bad {
			if b && !lossy.Has(i%s.width/frame.CellSize, i/s.width/frame.CellSize) {
				t.Fatalf("pixel %d,%d is lossy and not marked", i%s.width, i/s.width)
			}
		}
		b := Batch{rects: []encodedRect{{Rectangle: s.bounds()}}}
		if b.Mark(&lossy); !lossy.Empty() {
			t.Fatal("cells stay lossy after the whole screen was sent exactly")
		}
	}
}

func fillBool(p []bool, width int, r image.Rectangle, v bool) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			p[y*width+x] = v
		}
	}
}

// FuzzPlan lets the fuzzer script drawing and moving.
func FuzzPlan(f *testing.F) {
	f.Add(uint64(1), uint16(320), uint16(200), []byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add(uint64(9), uint16(65), uint16(33), []byte{9, 9, 9, 0, 255, 4})
	f.Fuzz(func(t *testing.T, seed uint64, width, height uint16, script []byte) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s := newStage(rng, 1+int(width)%400, 1+int(height)%400)
		var p Planner
		for _, op := range script[:min(len(script), 12)] {
			switch op % 4 {
			case 0, 1:
				s.move()
			case 2:
				s.draw()
			}
			s.follow(t, &p, op%5 > 0)
		}
	})
}
