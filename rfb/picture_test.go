package rfb_test

import (
	"fmt"
	"image"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// losslessEncodings are the encodings in which a picture arrives exactly.
var losslessEncodings = []int32{rfbtest.Raw, rfbtest.Hextile, rfbtest.Zlib, rfbtest.ZRLE, rfbtest.Tight}

// pictures are contents that encoders treat differently.
var pictures = map[string]func(x, y int) uint32{
	"flat": flat(0x336699), "gradient": gradient, "noise": noise(7), "text": text,
	"2 colours": colours(2), "16 colours": colours(16), "17 colours": colours(17), "127 colours": colours(127),
	"128 colours": colours(128), "256 colours": colours(256), "257 colours": colours(257),
}

// Checklist 28 and 29: every encoding in every pixel format shows every picture as it
// is, at first and after changes.
func TestChecklist28And29EncodingsAndFormats(t *testing.T) {
	for _, e := range losslessEncodings {
		for name, format := range rfbtest.Formats {
			t.Run(fmt.Sprint(e, "/", name), func(t *testing.T) {
				c := newCanvas(150, 77)
				client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.CopyRect, e, rfbtest.LastRect)
				must(t, client.SetFormat(format))
				full := true
				for what, f := range pictures {
					c.paint(c.bounds(), f)
					pixels(t, client, !full)
					full = false
					if d := c.differ(client); !d.Empty() {
						t.Fatalf("%s: the picture differs in %v", what, d)
					}
					c.paint(image.Rect(13, 9, 14, 12), flat(0xff0000))
					c.paint(image.Rect(100, 50, 150, 77), f)
					pixels(t, client, true)
					c.same(t, client)
				}
			})
		}
	}
}

// Checklist 30 and 31: without LastRect the count of rectangles is exact.
func TestChecklist30WithoutLastRect(t *testing.T) {
	c := newCanvas(1000, 700)
	c.paint(c.bounds(), noise(1))
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.Tight)
	c.sync(t, client)
	if client.Count["LastRect"] > 0 || client.Count["Tight"] < 2 {
		t.Errorf("rectangles: %v", client.Count)
	}
}

// Checklist 31: with it a large update begins before all of it is encoded.
func TestChecklist31LastRect(t *testing.T) {
	c := newCanvas(1000, 700)
	c.paint(c.bounds(), noise(1))
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.Tight, rfbtest.LastRect)
	c.sync(t, client)
	if client.Count["LastRect"] == 0 {
		t.Errorf("rectangles: %v", client.Count)
	}
}

// Trap 9: nothing is sent that was not listed, whatever the list. The client sees
// to it.
func TestEveryListAlone(t *testing.T) {
	for _, e := range append([]int32{99999}, rfbtest.NoVNC...) {
		c := newCanvas(60, 50)
		c.paint(c.bounds(), text)
		c.setCursor(arrow)
		client := connect(t, rfb.Config{Screen: c.screen})
		must(t, client.SetEncodings(e))
		pixels(t, client, false)
		c.paint(image.Rect(0, 0, 30, 20), gradient)
		c.screen.SetName("another")
		c.screen.SetLEDs(rfb.CapsLock)
		c.screen.Bell()
		pixels(t, client, true)
		// Raw is always right, and a fence may still be on its way.
		if e != rfbtest.Raw && e != rfbtest.FenceSupport {
			client.Forget(e)
		}
		must(t, client.SetEncodings())
		pixels(t, client, false)
	}
}

// Checklist 33 and trap 17: damage without a difference is no update.
func TestChecklist33NothingChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(64, 64)
		client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ZRLE)
		pixels(t, client, false)
		must(t, client.RequestAll(true))
		c.paint(c.bounds(), flat(0)) // as it was
		if !client.Quiet(time.Minute) {
			t.Error("an update without a change")
		}
		c.paint(image.Rect(0, 0, 1, 1), flat(1))
		next[*rfbtest.Update](t, client)
		c.same(t, client)
	})
}

// Checklist 34: without a quality level nothing is lossy; with one everything is
// exact within a second of rest.
func TestChecklist34LosslessRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(400, 300)
		c.paint(c.bounds(), photo)
		client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.Tight, rfbtest.LastRect, rfbtest.Quality0+3)
		pixels(t, client, false)
		if client.Count["Tight JPEG"] == 0 {
			t.Fatalf("no JPEG: %v", client.Count)
		}
		if c.differ(client).Empty() {
			t.Fatal("JPEG is exact")
		}
		// A part that keeps changing is not worth it; the rest is, but not as soon as
		// on a screen at rest.
		moving := image.Rect(8, 8, 104, 104)
		for i := range 40 {
			must(t, client.RequestAll(true))
			for !client.Quiet(50 * time.Millisecond) {
				next[*rfbtest.Update](t, client) // a refresh
				must(t, client.RequestAll(true))
			}
			if blurred := !c.differ(client).In(moving); blurred != (i < 30) {
				t.Fatalf("after %d changes in 50 ms each: the rest is blurred: %v", i, blurred)
			}
			c.paint(moving, func(x, y int) uint32 { return photo(x+i+1, y) })
			next[*rfbtest.Update](t, client)
		}
		jpegs := client.Count["Tight JPEG"]
		began := time.Now()
		for !c.differ(client).Empty() {
			pixels(t, client, true)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("exact after %v", took)
		}
		if client.Count["Tight JPEG"] != jpegs {
			t.Error("the refresh was JPEG")
		}
		must(t, client.RequestAll(true))
		if !client.Quiet(time.Minute) {
			t.Error("the refresh goes on")
		}
	})
}

// Checklist 35, 36 and trap 1: the zlib streams outlive changes of level, encoding
// and format.
func TestChecklist35And36StreamsGoOn(t *testing.T) {
	c := newCanvas(120, 90)
	client := connect(t, rfb.Config{Screen: c.screen})
	for round := range 3 {
		for _, e := range losslessEncodings {
			for level := range int32(10) {
				must(t, client.SetEncodings(e, rfbtest.Compression0+level))
				c.paint(c.bounds(), noise(uint64(round)))
				pixels(t, client, level > 0)
				c.paint(image.Rect(10, 10, 90, 60), text)
				pixels(t, client, true)
				c.same(t, client)
			}
		}
		for _, name := range []string{"332", "565", "map", "rgbx", "bgrx"} {
			must(t, client.SetFormat(rfbtest.Formats[name]))
			c.sync(t, client)
		}
	}
}

// Trap 3: what is asked for after a change of format comes in the new one, and each
// request is answered by one update at most.
func TestFormatChangeBetweenRequests(t *testing.T) {
	c := newCanvas(100, 100)
	c.paint(c.bounds(), gradient)
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.Raw)
	pixels(t, client, false)
	for i, name := range []string{"332", "rgbx", "565-be", "bgrx"} {
		// Nothing has changed, so the request is open when the format changes.
		must(t, client.RequestAll(true))
		must(t, client.SetFormat(rfbtest.Formats[name]))
		next[*rfbtest.Update](t, client)
		c.same(t, client)
		c.paint(image.Rect(i, i, 50, 50), noise(uint64(i)))
		pixels(t, client, true)
		c.same(t, client)
	}
}

// Checklist 37: the first update covers the whole screen.
func TestChecklist37FirstUpdateIsWhole(t *testing.T) {
	c := newCanvas(200, 100)
	c.paint(c.bounds(), gradient)
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ZRLE)
	must(t, client.RequestAll(false))
	next[*rfbtest.Update](t, client)
	c.same(t, client)
}

// Checklist 38: a screen at rest sends nothing, and is not even looked at when no
// request is open.
func TestChecklist38Rest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(200, 100)
		client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.NoVNC...)
		c.sync(t, client)
		for !client.Quiet(time.Second) { // the fence after the update
			next[rfbtest.Fence](t, client)
		}
		if n := c.Waiters(); n != 0 {
			t.Errorf("%d waiters without a request", n)
		}
		must(t, client.RequestAll(true))
		if !client.Quiet(time.Minute) {
			t.Error("something was sent")
		}
		if n := c.Waiters(); n != 1 {
			t.Errorf("%d waiters with a request", n)
		}
	})
}

// Checklist 39: a blinking text cursor costs little.
func TestChecklist39Blink(t *testing.T) {
	for _, e := range []int32{rfbtest.ZRLE, rfbtest.Tight} {
		c := newCanvas(640, 480)
		c.paint(c.bounds(), text)
		client := connect(t, rfb.Config{Screen: c.screen}, e)
		pixels(t, client, false)
		before := client.Received()
		const blinks = 50
		for i := range blinks {
			if i%2 == 0 {
				c.paint(image.Rect(100, 100, 102, 115), flat(0))
			} else {
				c.paint(image.Rect(100, 100, 102, 115), text)
			}
			pixels(t, client, true)
		}
		c.same(t, client)
		if per := (client.Received() - before) / blinks; per > 200 {
			t.Errorf("encoding %d: %d bytes for each blink", e, per)
		}
	}
}

// Trap 7: Tight rectangles are not too wide for viewers.
func TestWideScreen(t *testing.T) {
	c := newCanvas(5000, 50)
	for _, f := range []func(x, y int) uint32{flat(0xffffff), photo, text, noise(3)} {
		c.paint(c.bounds(), f)
		client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.Tight, rfbtest.Quality0+9)
		pixels(t, client, false)
	}
}

// Checklist 32: updates of a part, and what is left is sent when it is asked for.
func TestChecklist32PartOfTheScreen(t *testing.T) {
	c := newCanvas(200, 200)
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ZRLE)
	pixels(t, client, false)
	c.paint(c.bounds(), gradient)
	must(t, client.Request(true, 0, 0, 100, 200))
	for _, r := range next[*rfbtest.Update](t, client).Rects {
		if !r.In(image.Rect(0, 0, 104, 200)) {
			t.Errorf("asked for the left half, got %v", r)
		}
	}
	must(t, client.Request(true, 100, 0, 100, 200))
	next[*rfbtest.Update](t, client)
	c.same(t, client)
}

// Checklist 32: scrolling is a copy, and the picture stays exact.
func TestChecklist32CopyRect(t *testing.T) {
	c := newCanvas(640, 480)
	c.paint(c.bounds(), noise(5))
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.CopyRect, rfbtest.ZRLE)
	pixels(t, client, false)
	before := client.Received()
	for range 10 {
		c.scroll(16)
		pixels(t, client, true)
		c.same(t, client)
	}
	if client.Count["CopyRect"] == 0 || client.Received()-before > 10*640*4*40 {
		t.Errorf("scrolling took %d bytes: %v", client.Received()-before, client.Count)
	}
}

// scroll moves the picture up; new noise comes in below.
func (c *canvas) scroll(lines int) {
	copy(c.pix, c.pix[lines*c.width:])
	fresh := noise(c.Stamp().Gen + 100)
	for i := (c.height - lines) * c.width; i < len(c.pix); i++ {
		c.pix[i] = fresh(0, 0) & 0xffffff
	}
	c.Publish(c.pix, c.width, []image.Rectangle{c.bounds()})
}

// Trap 18: a full request is answered although nothing changed, and without copies.
func TestFullRequest(t *testing.T) {
	c := newCanvas(640, 480)
	c.paint(c.bounds(), noise(5))
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.CopyRect, rfbtest.ZRLE)
	pixels(t, client, false)
	clear(client.Pix) // the viewer has lost it
	c.scroll(16)
	must(t, client.RequestAll(false))
	next[*rfbtest.Update](t, client)
	c.same(t, client)
	if client.Count["CopyRect"] > 0 {
		t.Error("a copy of what the viewer does not have")
	}
	must(t, client.Request(false, 10, 10, 20, 20))
	if u := next[*rfbtest.Update](t, client); !u.Pixels() {
		t.Error("an answer without pixels")
	}
}

// Trap 18: the size comes in an update of its own, and a viewer that only asks for
// everything is not kept from the pixels by it.
func TestFullRequestsTellTheSize(t *testing.T) {
	c := newCanvas(64, 64)
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ZRLE, rfbtest.ExtendedDesktopSize)
	for range 5 {
		for _, wantPixels := range []bool{false, true} {
			must(t, client.RequestAll(false))
			u := next[*rfbtest.Update](t, client)
			if u.Pixels() != wantPixels || len(u.Rects) == 0 {
				t.Fatalf("pixels: %v in %v", u.Pixels(), u.Rects)
			}
			if !wantPixels && (len(u.Rects) != 1 || u.Rects[0].Encoding != rfbtest.ExtendedDesktopSize) {
				t.Fatalf("the size comes with %v", u.Rects)
			}
		}
	}
}

// Checklist 18 and trap 19: requests from anywhere, and many at once.
func TestChecklist18RequestsAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(100, 80)
		client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ZRLE, rfbtest.DesktopName)
		pixels(t, client, false)
		must(t, client.Request(false, 0, 0, 65535, 65535))
		next[*rfbtest.Update](t, client)
		// Nothing of the screen is meant: only what is not pixels is told.
		for _, r := range []image.Rectangle{image.Rect(65535, 65535, 65536, 65536), image.Rect(5, 5, 5, 9), image.Rect(100, 0, 200, 80)} {
			must(t, client.Request(false, r.Min.X, r.Min.Y, r.Dx(), r.Dy()))
			c.paint(image.Rect(0, 0, 9, 9), noise(uint64(r.Min.X)))
			if !client.Quiet(time.Second) {
				t.Errorf("pixels were sent for %v", r)
			}
		}
		c.screen.SetName("new")
		if u := next[*rfbtest.Update](t, client); client.Name != "new" || u.Pixels() {
			t.Errorf("name %q in %v", client.Name, u.Rects)
		}
		pixels(t, client, true)
		for range 10_000 {
			must(t, client.RequestAll(true))
		}
		synctest.Wait()
		c.paint(image.Rect(0, 0, 9, 9), noise(98))
		next[*rfbtest.Update](t, client)
		c.same(t, client)
		c.paint(c.bounds(), noise(99))
		if !client.Quiet(time.Minute) {
			t.Error("a burst of requests was answered more than once")
		}
	})
}

var arrow = frame.Cursor{Serial: 1, X: 30, Y: 20, Width: 3, Height: 2, HotX: 1, Pix: []uint32{
	0xff000000, 0x80800000, 0, 0xffffffff, 0xff0000ff, 0x40101010,
}}

func (c *canvas) setCursor(cur frame.Cursor) { c.SetCursor(cur) }

// photo has many colours and soft edges.
func photo(x, y int) uint32 {
	n := uint32(x*2654435761+y*40503) >> 7 & 7
	r, g, b := uint32(x*255/400)+n, uint32(y*255/300)+n, uint32((x+y)/3)+n
	return min(r, 255)<<16 | min(g, 255)<<8 | min(b, 255)
}
