// Package testscreen draws the screens that encoders are tested and measured on.
// It is for tests only. The same arguments always draw the same pixels, so sizes
// and speeds can be compared between machines and between commits.
package testscreen

import (
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"
)

// Screen is a named way to draw a screen of any size. Draw returns width*height
// pixels 0x00RRGGBB, row by row.
type Screen struct {
	Name string
	Draw func(seed uint64, width, height int) []uint32
}

// All lists the screens, from the most to the least compressible.
var All = []Screen{
	{"terminal", Terminal},
	{"text", Text},
	{"desktop", Desktop},
	{"gradient", Gradient},
	{"photo", Photo},
	{"noise", Noise},
}

// Terminal is full of anti-aliased text of one colour on black: few enough shades
// for a palette.
func Terminal(seed uint64, width, height int) []uint32 {
	c := newCanvas(seed, width, height)
	c.fill(c.img.Bounds(), 0x000000)
	c.paragraphs(image.Rect(2, 2, width, height), 0xc0c0c0, 0xc0c0c0)
	return c.pixels()
}

// Text is a page of a document: anti-aliased dark text on white, with links in
// another colour. Their shades together are more than a palette holds.
func Text(seed uint64, width, height int) []uint32 {
	c := newCanvas(seed, width, height)
	c.fill(c.img.Bounds(), 0xffffff)
	c.paragraphs(image.Rect(width/16, 8, width-width/16, height), 0x202124, 0x1a0dab)
	return c.pixels()
}

// Desktop is a wallpaper with overlapping windows (an editor, a terminal, a page
// with a small photo), icons and a task bar: more than 256 colours, mostly flat.
func Desktop(seed uint64, width, height int) []uint32 {
	c := newCanvas(seed, width, height)
	for y := range height { // a plain vertical gradient as wallpaper
		c.fill(image.Rect(0, y, width, y+1), mix(0x2b5876, 0x4e4376, y, height))
	}
	for i := range 8 {
		c.icon(image.Rect(16, 16+i*80, 64, 64+i*80))
	}
	inner := c.window(image.Rect(width/10, height/20, width*6/10, height*7/10))
	c.fill(inner, 0xffffff)
	c.paragraphs(inner.Inset(10), 0x202124, 0x1a0dab)
	photo := image.Rect(inner.Max.X-inner.Dx()/3, inner.Min.Y+20, inner.Max.X-20, inner.Min.Y+20+inner.Dy()/3)
	if !photo.Empty() {
		c.paste(photo, Photo(seed+1, photo.Dx(), photo.Dy()))
	}
	inner = c.window(image.Rect(width*4/10, height*3/10, width*95/100, height*8/10))
	c.fill(inner, 0x1e1e1e)
	c.source(inner.Inset(6))
	inner = c.window(image.Rect(width*2/10, height*6/10, width*6/10, height*93/100))
	c.fill(inner, 0x000000)
	c.paragraphs(inner.Inset(4), 0xc0c0c0, 0x55ff55)
	bar := image.Rect(0, height-28, width, height)
	for y := bar.Min.Y; y < bar.Max.Y; y++ {
		c.fill(image.Rect(0, y, width, y+1), mix(0xe8e8e8, 0xc4c4c8, y-bar.Min.Y, bar.Dy()))
	}
	c.text(8, height-10, 0x303030, c.words(8))
	return c.pixels()
}

// Gradient changes smoothly in both directions without noise.
func Gradient(seed uint64, width, height int) []uint32 {
	rng := rand.New(rand.NewPCG(seed, 3))
	a, b, d := rng.Uint32()&0xffffff, rng.Uint32()&0xffffff, rng.Uint32()&0xffffff
	pix := make([]uint32, width*height)
	for y := range height {
		left, right := mix(a, b, y, height), mix(b, d, y, height)
		for x := range width {
			pix[y*width+x] = mix(left, right, x, width)
		}
	}
	return pix
}

// Photo is smooth shapes of several sizes with a little grain, like a camera's.
func Photo(seed uint64, width, height int) []uint32 {
	rng := rand.New(rand.NewPCG(seed, 4))
	var planes [3][]int
	shared := cloud(rng, width, height)
	for i := range planes {
		planes[i] = cloud(rng, width, height)
	}
	pix := make([]uint32, width*height)
	for i := range pix {
		grain := int(rng.Uint32()%7) - 3
		for _, p := range planes {
			v := 128 + ((2*shared[i]+p[i])/3-128)*5/2 + grain
			pix[i] = pix[i]<<8 | uint32(min(max(v, 0), 255))
		}
	}
	return pix
}

// Noise has a random colour in every pixel.
func Noise(seed uint64, width, height int) []uint32 {
	rng := rand.New(rand.NewPCG(seed, 5))
	pix := make([]uint32, width*height)
	for i := range pix {
		pix[i] = rng.Uint32() & 0xffffff
	}
	return pix
}

// cloud returns values 0 to 255: lattices of random values, interpolated, from a
// coarse one with much weight to a fine one with little.
func cloud(rng *rand.Rand, width, height int) []int {
	out := make([]int, width*height)
	weight, total := 128, 0
	for cell := 256; cell >= 4 && weight > 0; cell, weight = cell/2, weight*3/5 {
		total += weight
		cols := width/cell + 2
		lattice := make([]int, cols*(height/cell+2))
		for i := range lattice {
			lattice[i] = int(rng.Uint32() % 256)
		}
		for y := range height {
			row, fy := lattice[y/cell*cols:], y%cell
			for x := range width {
				i, fx := x/cell, x%cell
				top := row[i]*(cell-fx) + row[i+1]*fx
				bottom := row[i+cols]*(cell-fx) + row[i+cols+1]*fx
				out[y*width+x] += (top*(cell-fy) + bottom*fy) / cell * weight / cell
			}
		}
	}
	for i := range out {
		out[i] /= total
	}
	return out
}

// mix returns the colour at i of n steps from a to b.
func mix(a, b uint32, i, n int) uint32 {
	var out uint32
	for shift := 16; shift >= 0; shift -= 8 {
		from, to := int(a>>shift&0xff), int(b>>shift&0xff)
		out = out<<8 | uint32(from+(to-from)*i/n)
	}
	return out
}

type canvas struct {
	img *image.RGBA
	rng *rand.Rand
}

func newCanvas(seed uint64, width, height int) *canvas {
	return &canvas{
		img: image.NewRGBA(image.Rect(0, 0, width, height)),
		rng: rand.New(rand.NewPCG(seed, 1)),
	}
}

func rgb(c uint32) color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff} }

func (c *canvas) fill(r image.Rectangle, colour uint32) {
	draw.Draw(c.img, r, image.NewUniform(rgb(colour)), image.Point{}, draw.Src)
}

func (c *canvas) paste(r image.Rectangle, pix []uint32) {
	for i, p := range pix {
		c.img.Set(r.Min.X+i%r.Dx(), r.Min.Y+i/r.Dx(), rgb(p))
	}
}

func (c *canvas) text(x, y int, colour uint32, s string) int {
	d := font.Drawer{Dst: c.img, Src: image.NewUniform(rgb(colour)), Face: inconsolata.Regular8x16, Dot: fixed.P(x, y)}
	d.DrawString(s)
	return d.Dot.X.Round()
}

func (c *canvas) words(n int) string {
	words := strings.Fields("the of and to in screen window file open save edit view help server " +
		"network address message error with from this that not page search result image 1024 v2.7 (see) note: pixel")
	var b strings.Builder
	for range n {
		b.WriteString(words[c.rng.IntN(len(words))] + " ")
	}
	return b.String()
}

// paragraphs fills r with lines of words, some of them in the link colour.
func (c *canvas) paragraphs(r image.Rectangle, colour, link uint32) {
	for y := r.Min.Y + 14; y < r.Max.Y; y += 18 {
		if c.rng.IntN(8) == 0 {
			continue // between paragraphs
		}
		for x, end := r.Min.X, r.Max.X-c.rng.IntN(1+r.Dx()/3)-8*12; x < end; {
			ink := colour
			if c.rng.IntN(12) == 0 {
				ink = link
			}
			x = c.text(x, y, ink, c.words(1))
		}
	}
}

// source fills r with lines that look like indented, coloured source text.
func (c *canvas) source(r image.Rectangle) {
	inks := []uint32{0xd4d4d4, 0x569cd6, 0xce9178, 0x6a9955, 0xdcdcaa}
	for y := r.Min.Y + 14; y < r.Max.Y; y += 18 {
		x := r.Min.X + 32*c.rng.IntN(4)
		for n := c.rng.IntN(6); n > 0 && x < r.Max.X-8*12; n-- {
			x = c.text(x, y, inks[c.rng.IntN(len(inks))], c.words(1))
		}
	}
}

// window draws a frame and a title bar and returns the area inside.
func (c *canvas) window(r image.Rectangle) image.Rectangle {
	c.fill(r, 0x505050)
	title := image.Rect(r.Min.X+1, r.Min.Y+1, r.Max.X-1, r.Min.Y+23)
	for y := title.Min.Y; y < title.Max.Y; y++ {
		c.fill(image.Rect(title.Min.X, y, title.Max.X, y+1), mix(0xf4f4f6, 0xd0d0d8, y-title.Min.Y, title.Dy()))
	}
	c.text(title.Min.X+8, title.Min.Y+16, 0x202020, c.words(3))
	for i := range 3 {
		c.icon(image.Rect(title.Max.X-20*i-18, title.Min.Y+3, title.Max.X-20*i-4, title.Min.Y+17))
	}
	return image.Rect(r.Min.X+1, title.Max.Y, r.Max.X-1, r.Max.Y-1)
}

// icon is a small shaded disc.
func (c *canvas) icon(r image.Rectangle) {
	colour, cx, cy, radius := c.rng.Uint32()&0xffffff, (r.Min.X+r.Max.X)/2, (r.Min.Y+r.Max.Y)/2, r.Dx()/2
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if d := (x-cx)*(x-cx) + (y-cy)*(y-cy); d <= radius*radius {
				c.img.Set(x, y, rgb(mix(0xffffff, colour, d, radius*radius+1)))
			}
		}
	}
}

func (c *canvas) pixels() []uint32 {
	pix := make([]uint32, len(c.img.Pix)/4)
	for i := range pix {
		p := c.img.Pix[4*i:]
		pix[i] = uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2])
	}
	return pix
}
