package rfb_test

import (
	"image"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// shape returns a cursor of a size whose pixels are opaque red.
func shape(serial uint64, w, h, hotX, hotY int) frame.Cursor {
	c := frame.Cursor{Serial: serial, X: 20, Y: 20, Width: w, Height: h, HotX: hotX, HotY: hotY}
	for range w * h {
		c.Pix = append(c.Pix, 0xffff0000)
	}
	return c
}

// Checklist 40 and trap 5: the shape in all its kinds and sizes. The client checks
// hotspots, padding and premultiplication.
func TestChecklist40Shapes(t *testing.T) {
	const red = 0xff0000
	for _, kind := range []int32{rfbtest.RichCursor, rfbtest.XCursor, rfbtest.CursorWithAlpha, rfbtest.VMwareCursor} {
		c := newCanvas(100, 80)
		client := connect(t, rfb.Config{Screen: c.screen, Role: rfb.Controller}, kind)
		must(t, client.SetFormat(rfbtest.Formats["rgbx"]))
		must(t, client.Pointer(20, 20, 0))
		pixels(t, client, false)
		for i, cur := range []frame.Cursor{
			shape(1, 64, 64, 0, 0), shape(2, 64, 64, 63, 63), shape(3, 7, 5, 6, 0), shape(4, 9, 3, 0, 2), shape(5, 1, 1, 0, 0),
			shape(6, 0, 0, 0, 0), shape(7, 33, 17, 1, 1), arrow,
		} {
			cur.Serial = uint64(i + 1)
			cur.X, cur.Y = 20, 20
			c.SetCursor(cur)
			must(t, client.RequestAll(true))
			if u := next[*rfbtest.Update](t, client); u.Pixels() {
				t.Errorf("the cursor came with pixels: %v", u.Rects)
			}
			got := client.Cursor
			if got == nil || got.Width != cur.Width || got.Height != cur.Height || got.HotX != cur.HotX || got.HotY != cur.HotY {
				t.Fatalf("cursor %+v came as %+v", cur, got)
			}
			if len(got.Pix) == 0 || cur.Pix[0] != 0xffff0000 {
				continue
			}
			switch first := got.Pix[0]; kind {
			case rfbtest.RichCursor:
				if client.Format.RGB(first) != red || !got.Mask[0] {
					t.Errorf("a red pixel came as %#x", first)
				}
			case rfbtest.XCursor:
				if !got.Mask[0] {
					t.Error("an opaque pixel is masked")
				}
			default:
				if first != 0xff000000|red {
					t.Errorf("a red pixel came as %#x", first)
				}
			}
		}
	}
}

// Trap 5: noVNC is sent VMware's kind, in which it sees the right colours.
func TestNoVNCCursor(t *testing.T) {
	c := newCanvas(100, 80)
	c.SetCursor(shape(1, 2, 2, 0, 0))
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.NoVNC...)
	must(t, client.Pointer(20, 20, 0))
	pixels(t, client, false)
	if client.Cursor == nil || client.Cursor.Kind != "VMwareCursor" {
		t.Errorf("cursor %+v", client.Cursor)
	}
}

// painted tells whether the client's picture is the canvas's with the cursor on top
// of it (an opaque one) or without.
func (c *canvas) painted(t *testing.T, client *rfbtest.Client, cur frame.Cursor) bool {
	t.Helper()
	with, without := true, true
	for y := range c.height {
		for x := range c.width {
			want, got := c.pix[y*c.width+x], client.RGB(x, y)
			without = without && got == want
			if image.Pt(x, y).In(cur.Bounds()) {
				want = cur.Pix[0] & 0xffffff
			}
			with = with && got == want
		}
	}
	if with == without {
		t.Fatalf("the picture is neither with the cursor nor without it")
	}
	return with
}

// Trap 6 and checklist 40: a watcher sees the agent's pointer, its own while it moves
// that, and never both.
func TestChecklist40PointerOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(100, 80)
		c.paint(c.bounds(), text)
		cur := shape(1, 6, 9, 2, 3)
		c.SetCursor(cur)
		client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ZRLE, rfbtest.CopyRect, rfbtest.RichCursor)
		look := func(wantPainted bool) {
			t.Helper()
			synctest.Wait()
			must(t, client.RequestAll(true))
			next[*rfbtest.Update](t, client)
			if got := c.painted(t, client, cur); got != wantPainted {
				t.Fatalf("painted: %v", got)
			}
			if hidden := client.Cursor == nil || client.Cursor.Width == 0; hidden != wantPainted {
				t.Fatalf("own pointer hidden: %v", hidden)
			}
		}
		pixels(t, client, false)
		if !c.painted(t, client, cur) || client.Cursor.Width != 0 {
			t.Fatal("who never moved the pointer does not see it")
		}
		for _, at := range []image.Point{{50, 40}, {0, 0}, {99, 79}, {-1, 40}} {
			cur.X, cur.Y = at.X, at.Y
			c.SetCursor(cur)
			look(true)
		}
		// The person moves: its own pointer is enough while the agent rests.
		must(t, client.Pointer(70, 10, 0))
		look(false)
		must(t, client.RequestAll(true))
		if !client.Quiet(time.Minute) {
			t.Fatal("something changed")
		}
		// The agent moves: at once it would flicker, after a second it is painted.
		cur.X, cur.Y = 30, 30
		c.SetCursor(cur)
		next[*rfbtest.Update](t, client)
		if !c.painted(t, client, cur) {
			t.Fatal("not painted")
		}
		must(t, client.Pointer(71, 11, 0))
		look(false)
		began := time.Now()
		cur.X, cur.Y = 35, 30
		c.SetCursor(cur)
		look(true)
		if took := time.Since(began); took < 900*time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("painted after %v", took)
		}
		// Pictures change under it, and copies do not carry it along.
		for range 5 {
			c.scroll(8)
			look(true)
			c.paint(image.Rect(20, 20, 60, 60), noise(3))
			look(true)
		}
		// Hidden by the program that has the pointer: nowhere to be seen.
		c.SetCursor(frame.Cursor{Serial: 2, X: 35, Y: 30})
		must(t, client.RequestAll(true))
		next[*rfbtest.Update](t, client)
		c.same(t, client)
	})
}

// A viewer that cannot draw a pointer has it painted.
func TestPointerWithoutCursorEncoding(t *testing.T) {
	c := newCanvas(100, 80)
	c.paint(c.bounds(), text)
	cur := shape(1, 6, 9, 2, 3)
	c.SetCursor(cur)
	client := connect(t, rfb.Config{Screen: c.screen, Role: rfb.Controller}, rfbtest.Raw)
	must(t, client.Pointer(20, 20, 0))
	pixels(t, client, false)
	if !c.painted(t, client, cur) {
		t.Error("not painted")
	}
}

// A half-transparent cursor is laid over the pixels.
func TestPaintedAlpha(t *testing.T) {
	c := newCanvas(100, 80)
	c.paint(c.bounds(), flat(0x4080c0))
	c.SetCursor(frame.Cursor{Serial: 1, X: 5, Y: 5, Width: 4, Height: 1, Pix: []uint32{0, 0x80402010, 0xff123456, 0x80808080}})
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.Raw)
	pixels(t, client, false)
	for i, want := range []uint32{0x4080c0, 0x605f70, 0x123456, 0xa0bfdf} {
		got := client.RGB(5+i, 5)
		for _, shift := range []int{0, 8, 16} {
			if d := int(got>>shift&0xff) - int(want>>shift&0xff); d < -1 || d > 1 {
				t.Errorf("pixel %d is %06x, want %06x", i, got, want)
				break
			}
		}
	}
}

// A controller's own moves never paint its pointer.
func TestOwnPointerIsNotPainted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(100, 80)
		cur := shape(1, 6, 9, 2, 3)
		c.SetCursor(cur)
		client := connect(t, rfb.Config{Screen: c.screen, Role: rfb.Controller}, rfbtest.ZRLE, rfbtest.RichCursor)
		must(t, client.Pointer(20, 20, 0))
		pixels(t, client, false)
		must(t, client.RequestAll(true))
		for i := range 20 {
			must(t, client.Pointer(30+i, 40, 0))
			time.Sleep(10 * time.Millisecond)
			cur.X, cur.Y = 29+i, 40 // behind
			c.SetCursor(cur)
		}
		cur.X = 49
		c.SetCursor(cur)
		if !client.Quiet(time.Minute) {
			t.Error("the viewer's own move was painted")
		}
	})
}
