package rfb_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// Checklist 25 and trap 20: every wish for another size gets an answer of its own,
// with the present size.
func TestChecklist25SetDesktopSize(t *testing.T) {
	c := newCanvas(100, 80)
	client := connect(t, rfb.Config{Screen: c.screen, Role: rfb.Controller}, rfbtest.ExtendedDesktopSize, rfbtest.Raw)
	pixels(t, client, false)
	const prohibited, invalid = 1, 3
	full := make([]rfbtest.Screen, 255)
	for i := range full {
		full[i] = rfbtest.Screen{ID: uint32(i), W: 1, H: 1}
	}
	for name, tt := range map[string]struct {
		w, h    int
		screens []rfbtest.Screen
		want    int
	}{
		"another size": {200, 100, []rfbtest.Screen{{W: 200, H: 100}}, prohibited},
		"the same":     {100, 80, []rfbtest.Screen{{W: 100, H: 80}}, prohibited},
		"255 screens":  {100, 80, full, prohibited},
		"none":         {100, 80, nil, invalid},
		"same ids":     {100, 80, []rfbtest.Screen{{W: 1, H: 1}, {W: 1, H: 1}}, invalid},
		"outside":      {100, 80, []rfbtest.Screen{{X: 50, W: 51, H: 1}}, invalid},
		"0x0":          {0, 0, []rfbtest.Screen{{}}, invalid},
		"greatest":     {65535, 65535, []rfbtest.Screen{{W: 65535, H: 65535}}, prohibited},
	} {
		client.Layout = -1
		must(t, client.SetDesktopSize(tt.w, tt.h, tt.screens...))
		must(t, client.RequestAll(true))
		u := next[*rfbtest.Update](t, client)
		if client.Layout != tt.want || u.Resized || len(u.Rects) != 1 {
			t.Errorf("%s: status %d, want %d, in %v", name, client.Layout, tt.want, u.Rects)
		}
	}
	// Several at once are answered one by one.
	for range 3 {
		must(t, client.SetDesktopSize(200, 100, rfbtest.Screen{W: 200, H: 100}))
	}
	must(t, client.Key('a', true)) // in step: the reader has dealt with them
	must(t, client.RequestAll(true))
	n := 0
	for n < 3 {
		n += len(next[*rfbtest.Update](t, client).Rects)
		must(t, client.RequestAll(true))
	}
}

// Trap 20: two viewers that each want their own size do not change it for ever.
func TestTwoViewersWantTheirSize(t *testing.T) {
	c := newCanvas(100, 80)
	for _, w := range []int{200, 300} {
		client := connect(t, rfb.Config{Screen: c.screen, Role: rfb.Controller}, rfbtest.ExtendedDesktopSize, rfbtest.Raw)
		for range 10 {
			must(t, client.SetDesktopSize(w, 100, rfbtest.Screen{W: w, H: 100}))
			must(t, client.RequestAll(true))
			next[*rfbtest.Update](t, client)
		}
		if client.Width != 100 || client.Height != 80 {
			t.Errorf("the size is %dx%d", client.Width, client.Height)
		}
	}
}

// Trap 20: a viewer that wants sizes for ever, without asking for an update in which it
// could be answered, is kept few answers for.
func TestAnswersThatNobodyTakes(t *testing.T) {
	c := newCanvas(100, 80)
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ExtendedDesktopSize, rfbtest.Raw, rfbtest.FenceSupport)
	pixels(t, client, false)
	for range 20 {
		for range 30 {
			must(t, client.SetDesktopSize(50, 50, rfbtest.Screen{W: 50, H: 50}))
		}
		// The echo comes from the writer, which has seen the wishes then.
		must(t, client.Fence(rfbtest.FenceRequest|rfbtest.FenceBlockBefore, nil))
		next[rfbtest.Fence](t, client)
	}
	must(t, client.RequestAll(true))
	if n := len(next[*rfbtest.Update](t, client).Rects); n != 64 {
		t.Errorf("%d answers to 600 wishes", n)
	}
}

// Checklist 44 and trap 21: the size may change at any moment. The client checks that
// nothing lies outside and that a new size comes alone.
func TestChecklist44Resize(t *testing.T) {
	for _, list := range [][]int32{
		{rfbtest.DesktopSize, rfbtest.Raw},
		{rfbtest.ExtendedDesktopSize, rfbtest.DesktopSize, rfbtest.Tight, rfbtest.CopyRect, rfbtest.LastRect, rfbtest.Quality0 + 9},
		{rfbtest.ExtendedDesktopSize, rfbtest.ZRLE, rfbtest.RichCursor},
	} {
		c := newCanvas(300, 200)
		c.setCursor(arrow)
		client := connect(t, rfb.Config{Screen: c.screen}, list...)
		pixels(t, client, false)
		for i := range 30 {
			c.resize(100+i*53%400, 80+i*31%300)
			c.setCursor(arrow)
			c.paint(c.bounds(), noise(uint64(i)))
			if i%3 > 0 {
				must(t, client.RequestAll(false))
				next[*rfbtest.Update](t, client)
			}
		}
		for !matches(c, client) {
			must(t, client.RequestAll(true))
			next[*rfbtest.Update](t, client)
		}
	}
}

// matches tells whether the client shows the canvas, cursor aside.
func matches(c *canvas, client *rfbtest.Client) bool {
	if client.Width != c.width || client.Height != c.height {
		return false
	}
	wrong := c.differ(client)
	return wrong.In(arrow.Bounds())
}

// Trap 21: a viewer that cannot be told is let go.
func TestResizeOfAViewerThatCannot(t *testing.T) {
	c := newCanvas(300, 200)
	client, conn := connectConn(t, rfb.Config{Screen: c.screen}, rfbtest.Raw)
	pixels(t, client, false)
	must(t, client.RequestAll(true))
	c.resize(200, 300)
	<-conn.ended
	if conn.err == nil || !strings.Contains(conn.err.Error(), "cannot follow") {
		t.Errorf("ended with %v", conn.err)
	}
}

// Checklist 54: the X server starts again. Viewers see the new picture and do not
// notice more.
func TestChecklist54Restart(t *testing.T) {
	c := newCanvas(300, 200)
	c.paint(c.bounds(), noise(1))
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.NoVNC...)
	c.sync(t, client)
	sizes := client.Count["ExtendedDesktopSize"]
	c.resize(300, 200)
	c.paint(c.bounds(), noise(2))
	must(t, client.RequestAll(true))
	next[*rfbtest.Update](t, client)
	for !c.differ(client).Empty() {
		pixels(t, client, true)
	}
	if n := client.Count["ExtendedDesktopSize"]; n != sizes {
		t.Errorf("the size was told %d times although it is the same", n-sizes)
	}
}

// A viewer may come before the screen has a size.
func TestViewerComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buffer := frame.NewBuffer()
		client := rfbtest.New(serve(t, rfb.Config{Screen: rfb.NewScreen(buffer, "early"), NoAuth: true}))
		time.AfterFunc(5*time.Second, func() { buffer.Reset(30, 20) })
		must(t, client.Handshake(rfbtest.Options{}))
		if client.Width != 30 || client.Height != 20 {
			t.Errorf("%dx%d", client.Width, client.Height)
		}
	})
}

// Checklist 41, 42 and 43: name, bell and lights.
func TestChecklist41To43State(t *testing.T) {
	for _, leds := range []int32{rfbtest.QEMULEDs, rfbtest.VMwareLEDs} {
		synctest.Test(t, func(t *testing.T) {
			c := newCanvas(20, 20)
			client := connect(t, rfb.Config{Screen: c.screen}, leds, rfbtest.DesktopName, rfbtest.Raw)
			pixels(t, client, false)
			if client.LEDs != -1 {
				t.Errorf("lights %d before anybody knows", client.LEDs)
			}
			c.screen.SetLEDs(rfb.NumLock)
			must(t, client.RequestAll(true))
			next[*rfbtest.Update](t, client)
			if client.LEDs != int(rfb.NumLock) {
				t.Errorf("lights %d", client.LEDs)
			}
			must(t, client.RequestAll(true))
			c.screen.SetName("caf\u00e9 \u4e16\u754c")
			next[*rfbtest.Update](t, client)
			if client.Name != "caf\u00e9 \u4e16\u754c" {
				t.Errorf("name %q", client.Name)
			}
			must(t, client.RequestAll(true))
			c.screen.SetLEDs(rfb.CapsLock | rfb.ScrollLock)
			next[*rfbtest.Update](t, client)
			if client.LEDs != 5 {
				t.Errorf("lights %d", client.LEDs)
			}
			must(t, client.RequestAll(true))
			c.screen.SetLEDs(rfb.CapsLock | rfb.ScrollLock) // as they are
			c.screen.SetName("caf\u00e9 \u4e16\u754c")
			if !client.Quiet(time.Minute) {
				t.Error("nothing changed, and yet something came")
			}
			c.screen.Bell()
			next[rfbtest.Bell](t, client)
		})
	}
}
