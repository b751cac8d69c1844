package e2e

import (
	"image"
	"math/rand/v2"

	"github.com/falleng0d/computer-use-mcp/internal/testscreen"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// workload is something that goes on on a screen, the same each time.
type workload struct {
	name string
	rate int // changes a second
	// make prepares it and returns what draws change i, which is not waited for.
	make func(c *canvas) func(i int)
}

// workloads are what people and programs do on screens of 1280x800.
var workloads = []workload{
	{"idle", 20, func(*canvas) func(int) { return func(int) {} }},
	{"typing", 20, typing},
	{"scroll", 12, scrolling},
	{"drag", 30, dragging},
	{"video", 25, video},
	{"photo", 4, photos},
	{"web", 4, pagesOfTheWeb},
}

// canvas draws on an X screen and keeps what the screen shows.
type canvas struct {
	paint *xvfbtest.Painter
	image.Rectangle
	pix    []uint32
	probes []probe // of the change that is being drawn
	rng    *rand.Rand
}

// probe is a pixel that a change gives another colour.
type probe struct {
	at       image.Point
	old, new uint32
}

func newCanvas(p *xvfbtest.Painter) *canvas {
	c := &canvas{paint: p, Rectangle: p.Bounds(), rng: rand.New(rand.NewPCG(1, 2))}
	c.pix = make([]uint32, c.Dx()*c.Dy())
	return c
}

// showDesktop is where every workload begins.
func (c *canvas) showDesktop() {
	desktop := drawn("desktop", func() [][]uint32 { return [][]uint32{testscreen.Desktop(1, c.Dx(), c.Dy())} })
	c.put(c.Rectangle, desktop[0])
}

// put draws pixels and notes some of those that become others.
func (c *canvas) put(r image.Rectangle, pix []uint32) {
	c.paint.Put(r, pix)
	c.keep(r, pix)
}

// move copies what a rectangle shows to another place.
func (c *canvas) move(from image.Rectangle, to image.Point) {
	c.paint.Copy(from, to)
	c.keep(from.Add(to.Sub(from.Min)), c.cut(from))
}

// keep takes over what was drawn, and looks at some of the pixels for probes.
func (c *canvas) keep(r image.Rectangle, pix []uint32) {
	const most = 40
	for range 4 * most {
		p := image.Pt(c.rng.IntN(r.Dx()), c.rng.IntN(r.Dy()))
		at := p.Add(r.Min)
		if old, now := c.pix[at.Y*c.Dx()+at.X], pix[p.Y*r.Dx()+p.X]; old != now && len(c.probes) < most {
			c.probes = append(c.probes, probe{at, old, now})
		}
	}
	for y := range r.Dy() {
		copy(c.pix[(r.Min.Y+y)*c.Dx()+r.Min.X:][:r.Dx()], pix[y*r.Dx():])
	}
}

// cut returns what a rectangle shows.
func (c *canvas) cut(r image.Rectangle) []uint32 { return part(c.pix, c.Dx(), r) }

// part returns a rectangle of pixels in rows of another width.
func part(pix []uint32, stride int, r image.Rectangle) (out []uint32) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		out = append(out, pix[y*stride+r.Min.X:][:r.Dx()]...)
	}
	return out
}

// typing puts one letter of 8x16 after the other into a terminal.
func typing(c *canvas) func(int) {
	const width, height = 640, 400
	window := image.Rect(300, 200, 300+width, 200+height)
	text, at := testscreen.Terminal(2, width, height), 0
	c.put(window, make([]uint32, width*height))
	return func(int) {
		for len(c.probes) == 0 { // a space shows nothing
			if at == width/8*height/16 {
				c.put(window, make([]uint32, width*height))
				at = 0
			}
			cell := image.Rect(0, 0, 8, 16).Add(image.Pt(at%(width/8)*8, at/(width/8)*16))
			c.put(cell.Add(window.Min), part(text, width, cell))
			at++
		}
	}
}

// scrolling moves a page of text of 800x600 up by three lines.
func scrolling(c *canvas) func(int) {
	const width, height, step, pages = 800, 600, 48, 8
	window := image.Rect(200, 100, 200+width, 100+height)
	text := testscreen.Text(3, width, pages*height)
	c.put(window, text[:width*height])
	return func(i int) {
		c.move(image.Rect(window.Min.X, window.Min.Y+step, window.Max.X, window.Max.Y), window.Min)
		y := (height + i*step) % ((pages - 1) * height)
		c.put(image.Rect(window.Min.X, window.Max.Y-step, window.Max.X, window.Max.Y), part(text, width, image.Rect(0, y, width, y+step)))
	}
}

// dragging pulls a window of 400x300 over the desktop, which has to be drawn again where
// the window was.
func dragging(c *canvas) func(int) {
	const width, height = 400, 300
	desktop := c.cut(c.Rectangle)
	// The way from one edge to the other and back.
	way := func(d, room int) int { return min(d%(2*room), 2*room-d%(2*room)) }
	at := image.Rect(0, 0, width, height)
	c.put(at, testscreen.Text(4, width, height))
	return func(i int) {
		to := image.Pt(way(9*(i+1), c.Dx()-width), way(5*(i+1), c.Dy()-height))
		c.move(at, to)
		next := image.Rectangle{to, to.Add(at.Size())}
		for _, bare := range []image.Rectangle{
			{at.Min, image.Pt(at.Max.X, next.Min.Y)},
			{image.Pt(at.Min.X, next.Max.Y), at.Max},
			{image.Pt(at.Min.X, max(at.Min.Y, next.Min.Y)), image.Pt(next.Min.X, min(at.Max.Y, next.Max.Y))},
			{image.Pt(next.Max.X, max(at.Min.Y, next.Min.Y)), image.Pt(at.Max.X, min(at.Max.Y, next.Max.Y))},
		} {
			if !bare.Empty() {
				c.put(bare, part(desktop, c.Dx(), bare))
			}
		}
		at = next
	}
}

// video plays 640x360: two pictures that pass over each other, so that nothing is a copy.
func video(c *canvas) func(int) {
	const width, height, room = 640, 360, 128
	window := image.Rect(320, 200, 320+width, 200+height)
	frames := drawn("video", func() (frames [][]uint32) {
		front, back := testscreen.Photo(5, width+room, height+room), testscreen.Photo(6, width+room, height+room)
		for i := range 32 {
			a := part(front, width+room, image.Rect(0, 0, width, height).Add(image.Pt(4*i, 2*i)))
			b := part(back, width+room, image.Rect(0, 0, width, height).Add(image.Pt(127-4*i, i)))
			for j := range a {
				a[j] = a[j]>>1&0x7f7f7f + b[j]>>1&0x7f7f7f
			}
			frames = append(frames, a)
		}
		return frames
	})
	return func(i int) { c.put(window, frames[i%len(frames)]) }
}

// photos shows one after the other, full screen.
func photos(c *canvas) func(int) { return c.slides("photos", testscreen.Photo) }

// pagesOfTheWeb goes from one page with text and pictures to the next.
func pagesOfTheWeb(c *canvas) func(int) { return c.slides("pages", testscreen.Desktop) }

func (c *canvas) slides(name string, draw func(seed uint64, width, height int) []uint32) func(int) {
	slides := drawn(name, func() (slides [][]uint32) {
		for seed := range uint64(4) {
			slides = append(slides, draw(10+seed, c.Dx(), c.Dy()))
		}
		return slides
	})
	return func(i int) { c.put(c.Rectangle, slides[i%len(slides)]) }
}

// drawn returns pictures that take long to draw, and are the same for every server.
func drawn(name string, draw func() [][]uint32) [][]uint32 {
	if album[name] == nil {
		album[name] = draw()
	}
	return album[name]
}

var album = map[string][][]uint32{}
