package frame

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var sides = []int{1, 7, 8, 9, 16, 63, 64, 65}

// seeded returns a random source whose seed is in the test's log.
func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// model is the slow and obvious Buffer: it asks for every pixel alone.
type model struct {
	width, height int
	pix           []uint32
	gen           uint64
	pixelGen      []uint64 // the generation of the pixel's cell
}

func newModel(width, height int) *model {
	return &model{width: width, height: height, pix: make([]uint32, width*height), pixelGen: make([]uint64, width*height)}
}

func (m *model) cell(x, y int) image.Rectangle {
	c := image.Rect(0, 0, CellSize, CellSize).Add(image.Pt(x/CellSize*CellSize, y/CellSize*CellSize))
	return c.Intersect(image.Rect(0, 0, m.width, m.height))
}

func (m *model) publish(src []uint32, stride int, rects []image.Rectangle) (cells int) {
	taken := map[image.Rectangle]bool{}
	for y := range m.height {
		for x := range m.width {
			c := m.cell(x, y)
			if m.pix[y*m.width+x] != src[y*stride+x]&0xffffff && slices.ContainsFunc(rects, c.Overlaps) {
				taken[c] = true
			}
		}
	}
	if len(taken) == 0 {
		return 0
	}
	m.gen++
	for c := range taken {
		for y := c.Min.Y; y < c.Max.Y; y++ {
			for x := c.Min.X; x < c.Max.X; x++ {
				m.pix[y*m.width+x] = src[y*stride+x] & 0xffffff
				m.pixelGen[y*m.width+x] = m.gen
			}
		}
	}
	return len(taken)
}

func (m *model) check(t *testing.T, b *Buffer, epoch uint64, since uint64) {
	t.Helper()
	b.Read(func(v View) {
		if v.Width != m.width || v.Height != m.height || v.Stamp.Epoch != epoch || v.Stamp.Gen != m.gen {
			t.Fatalf("view %dx%d %+v, want %dx%d epoch %d gen %d", v.Width, v.Height, v.Stamp, m.width, m.height, epoch, m.gen)
		}
		if !slices.Equal(v.Pix, m.pix) {
			t.Fatal("other pixels than the model")
		}
		var set, all CellSet
		v.Changed(Stamp{Epoch: epoch, Gen: since}, &set)
		v.Changed(Stamp{Epoch: epoch + 1, Gen: since}, &all)
		for y := range m.height {
			for x := range m.width {
				if got, want := set.Has(x/CellSize, y/CellSize), m.pixelGen[y*m.width+x] > since; got != want {
					t.Fatalf("pixel %d,%d changed after gen %d: %v, want %v", x, y, since, got, want)
				}
				if !all.Has(x/CellSize, y/CellSize) {
					t.Fatalf("pixel %d,%d is not new in another epoch", x, y)
				}
			}
		}
	})
}

// randomRect is inside the screen, across its edge, outside or empty.
func randomRect(rnd *rand.Rand, width, height int) image.Rectangle {
	x, y := rnd.IntN(width+20)-10, rnd.IntN(height+20)-10
	return image.Rect(x, y, x+rnd.IntN(width+1), y+rnd.IntN(height+1))
}

// S3-21: cells of 8x8 pixels, compared exactly.
func TestPublishIsTheModel(t *testing.T) {
	rnd := seeded(t)
	for _, width := range sides {
		for _, height := range sides {
			t.Run(fmt.Sprintf("%dx%d", width, height), func(t *testing.T) {
				stride := width + rnd.IntN(3)
				src := make([]uint32, stride*height)
				for i := range src {
					src[i] = rnd.Uint32()
				}
				b, m := NewBuffer(), newModel(width, height)
				b.ResetTo(src, stride, width, height)
				for i := range m.pix {
					m.pix[i] = src[i/width*stride+i%width] & 0xffffff
				}
				m.check(t, b, 1, 0)
				for range 30 {
					for range rnd.IntN(4) {
						src[rnd.IntN(len(src))] = rnd.Uint32()
					}
					for i := range src {
						src[i] = src[i]&0xffffff | rnd.Uint32()<<24 // the unused byte
					}
					rects := make([]image.Rectangle, rnd.IntN(4))
					for i := range rects {
						rects[i] = randomRect(rnd, width, height)
					}
					before := m.gen
					want := m.publish(src, stride, rects)
					if got := b.Publish(src, stride, rects); got != want {
						t.Fatalf("Publish(%v) = %d cells, want %d", rects, got, want)
					}
					m.check(t, b, 1, before)
					m.check(t, b, 1, uint64(rnd.IntN(int(m.gen)+2)))
				}
			})
		}
	}
}

func TestReset(t *testing.T) {
	b := NewBuffer()
	if b.Stamp() != (Stamp{}) {
		t.Errorf("a new Buffer has stamp %+v", b.Stamp())
	}
	b.Reset(20, 10)
	b.Publish(slices.Repeat([]uint32{0xffffffff}, 200), 20, []image.Rectangle{image.Rect(0, 0, 20, 10)})
	b.SetCursor(Cursor{Serial: 3, X: 1})
	if want := (Stamp{1, 1, 1}); b.Stamp() != want {
		t.Errorf("stamp %+v, want %+v", b.Stamp(), want)
	}
	b.Reset(9, 8)
	newModel(9, 8).check(t, b, 2, 0)
	b.Read(func(v View) {
		if v.Cursor.Serial != 0 || v.Stamp.Cursor != 0 {
			t.Errorf("the cursor outlived the epoch: %+v, %+v", v.Cursor, v.Stamp)
		}
		if v.Bounds() != image.Rect(0, 0, 9, 8) {
			t.Errorf("bounds %v", v.Bounds())
		}
	})
}

func TestSetCursor(t *testing.T) {
	b := NewBuffer()
	b.Reset(100, 100)
	c := Cursor{Serial: 7, X: 10, Y: 20, HotX: 2, HotY: 3, Width: 16, Height: 24, Pix: make([]uint32, 16*24)}
	b.SetCursor(c)
	b.SetCursor(c)
	if got := b.Stamp(); got != (Stamp{Epoch: 1, Cursor: 1}) {
		t.Errorf("the same cursor again made stamp %+v", got)
	}
	c.Y = 21
	b.SetCursor(c)
	c.Serial = 8
	b.SetCursor(c)
	if got := b.Stamp(); got != (Stamp{Epoch: 1, Cursor: 3}) {
		t.Errorf("a move and a shape made stamp %+v", got)
	}
	if got, want := c.Bounds(), image.Rect(8, 18, 24, 42); got != want {
		t.Errorf("Bounds() = %v, want %v", got, want)
	}
}

func TestViewCopy(t *testing.T) {
	b := NewBuffer()
	src := make([]uint32, 12*5)
	for i := range src {
		src[i] = uint32(i)
	}
	b.ResetTo(src, 12, 12, 5)
	dst := make([]uint32, 2*4)
	b.Read(func(v View) { v.Copy(dst, 4, image.Rect(9, 2, 12, 4)) })
	if want := []uint32{33, 34, 35, 0, 45, 46, 47, 0}; !slices.Equal(dst, want) {
		t.Errorf("Copy gave %v, want %v", dst, want)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBuffer()
		ctx, cancel := context.WithCancel(t.Context())
		type result struct {
			stamp Stamp
			err   error
		}
		results := make(chan result, 1)
		wait := func(since Stamp) {
			go func() {
				stamp, err := b.Wait(ctx, since)
				results <- result{stamp, err}
			}()
			synctest.Wait()
		}

		wait(Stamp{})
		if b.Waiters() != 1 {
			t.Errorf("%d waiters, want 1", b.Waiters())
		}
		select {
		case <-b.Wanted():
		default:
			t.Error("Wanted is silent")
		}
		b.Reset(8, 8)
		if got := <-results; got.err != nil || got.stamp != (Stamp{Epoch: 1}) {
			t.Errorf("Wait for an epoch: %+v", got)
		}

		wait(Stamp{Epoch: 1})
		b.Publish(make([]uint32, 64), 8, []image.Rectangle{image.Rect(0, 0, 8, 8)})
		synctest.Wait()
		if len(results) != 0 {
			t.Error("Wait returned though nothing changed")
		}
		b.SetCursor(Cursor{Serial: 1})
		if got := <-results; got.err != nil || got.stamp != (Stamp{Epoch: 1, Cursor: 1}) {
			t.Errorf("Wait for a cursor: %+v", got)
		}

		wait(Stamp{Epoch: 7, Gen: 9}) // another epoch: do not wait
		if got := <-results; got.err != nil || got.stamp != (Stamp{Epoch: 1, Cursor: 1}) {
			t.Errorf("Wait with an old epoch: %+v", got)
		}

		wait(Stamp{Epoch: 1, Cursor: 1})
		cancel()
		if got := <-results; !errors.Is(got.err, context.Canceled) {
			t.Errorf("Wait with an ended context: %+v", got)
		}
		if b.Waiters() != 0 {
			t.Errorf("%d waiters are left", b.Waiters())
		}
	})
}

// Readers must see whole publications only; the race detector watches as well.
func TestReadWhilePublishing(t *testing.T) {
	const width, height = 65, 33
	b := NewBuffer()
	b.Reset(width, height)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	for range 3 {
		go func() {
			defer func() { done <- true }()
			var stamp Stamp
			for {
				var err error
				if stamp, err = b.Wait(ctx, stamp); err != nil {
					return
				}
				torn := false
				b.Read(func(v View) {
					torn = slices.ContainsFunc(v.Pix, func(p uint32) bool { return p != uint32(v.Stamp.Gen) })
				})
				if torn {
					t.Error("pixels of two generations in one view")
					return
				}
			}
		}()
	}
	for n := range uint32(500) {
		b.Publish(slices.Repeat([]uint32{n + 1}, width*height), width, []image.Rectangle{image.Rect(0, 0, width, height)})
	}
	cancel()
	for range 3 {
		<-done
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, size := range []image.Point{{1280, 800}, {1920, 1080}} {
		screen := image.Rectangle{Max: size}
		src := make([]uint32, size.X*size.Y)
		rnd := rand.New(rand.NewPCG(1, 2))
		for i := range src {
			src[i] = rnd.Uint32()
		}
		buf := NewBuffer()
		buf.ResetTo(src, size.X, size.X, size.Y)
		b.Run(fmt.Sprintf("static/%dx%d", size.X, size.Y), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(4 * len(src)))
			for b.Loop() {
				buf.Publish(src, size.X, []image.Rectangle{screen})
			}
		})
		b.Run(fmt.Sprintf("all/%dx%d", size.X, size.Y), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(4 * len(src)))
			for b.Loop() {
				for i := 0; i < len(src); i += CellSize {
					src[i]++
				}
				buf.Publish(src, size.X, []image.Rectangle{screen})
			}
		})
		b.Run(fmt.Sprintf("scroll/%dx%d", size.X, size.Y), func(b *testing.B) {
			text := func(scrolled int) []uint32 { // words with white lines and gaps between them
				pix := make([]uint32, size.X*size.Y)
				for i := range pix {
					x, y := i%size.X, i/size.X+scrolled
					pix[i] = 0xffffff
					if word := (x/40 + y/20*7) % 4; word != 0 && y%20 < 12 && (x*word+y*y)%7 < 3 {
						pix[i] = 0x222222
					}
				}
				return pix
			}
			pages := [][]uint32{text(0), text(60)}
			b.ReportAllocs()
			b.SetBytes(int64(4 * len(src)))
			for i := 0; b.Loop(); i++ {
				buf.Publish(pages[i%2], size.X, []image.Rectangle{screen})
			}
		})
	}
}
