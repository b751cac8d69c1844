package settle

import (
	"image"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// A picture of the pointer that changes by itself is an animation, and the animated
// pointers of every theme announce work.
const (
	frameGap    = 150 * time.Millisecond // the longest pause between two pictures
	framesToSee = 4                      // programs change the picture now and then
)

// pointer tells from the pictures of the pointer whether it is animated. Chromium and
// others give theirs no name.
type pointer struct {
	serial uint64
	frames int // in a row
	last   time.Time
}

// see looks at the pointer at a time.
func (p *pointer) see(at time.Time, c frame.Cursor) {
	if c.Serial == p.serial {
		return
	}
	if at.Sub(p.last) > frameGap {
		p.frames = 0
	}
	p.serial, p.last = c.Serial, at
	p.frames++
}

func (p *pointer) animated(now time.Time) bool {
	return p.frames >= framesToSee && now.Sub(p.last) <= frameGap
}

// busyName reports whether the name of a pointer announces work.
func busyName(name string) bool {
	switch name {
	case "watch", "wait", "progress", "left_ptr_watch", "half-busy":
		return true
	}
	return strings.HasSuffix(name, "_watch")
}

// overText reports whether the pointer is the upright bar that stands for text that
// can be selected or edited. One without a name is known by its shape: upright, its
// height at least one and a half times its width, and held in the middle.
func overText(c frame.Cursor) bool {
	if c.Name != "" {
		return c.Name == "xterm" || c.Name == "text" || c.Name == "ibeam"
	}
	shape := opaque(c)
	third := image.Pt(shape.Dx()/3, shape.Dy()/3)
	middle := image.Rectangle{Min: shape.Min.Add(third), Max: shape.Max.Sub(third)}
	return 2*shape.Dy() >= 3*shape.Dx() && image.Pt(c.HotX, c.HotY).In(middle)
}

// opaque bounds what a pointer's picture shows, its shadow left out.
func opaque(c frame.Cursor) (r image.Rectangle) {
	const half = 0x80
	for i, p := range c.Pix {
		if p>>24 >= half {
			x, y := i%c.Width, i/c.Width
			r = r.Union(image.Rect(x, y, x+1, y+1))
		}
	}
	return r
}
