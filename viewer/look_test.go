package viewer

import (
	"fmt"
	"image"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// paint draws a simple desktop, so that pictures look like something.
func paint(b *frame.Buffer, hue uint32) {
	var w, h int
	b.Read(func(v frame.View) { w, h = v.Width, v.Height })
	pix := make([]uint32, w*h)
	rect := func(r image.Rectangle, c uint32) {
		r = r.Intersect(image.Rect(0, 0, w, h))
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				pix[y*w+x] = c
			}
		}
	}
	rect(image.Rect(0, 0, w, h), hue)
	rect(image.Rect(w/8, h/8, w*3/4, h*7/8), 0xf0f0f0)
	rect(image.Rect(w/8, h/8, w*3/4, h/8+24), 0x405060)
	for i := range 14 {
		rect(image.Rect(w/8+20, h/8+44+i*22, w/8+20+(w/2)*(1+(i*37)%7)/8, h/8+56+i*22), 0x808890)
	}
	rect(image.Rect(0, h-24, w, h), 0x202830)
	b.Publish(pix, w, []image.Rectangle{image.Rect(0, 0, w, h)})
}

func busyComputer() *rfbComputer {
	now := time.Now()
	c := newRFBComputer()
	titles := []string{"Book the train to Lyon", "Compare invoices of March with the bank's list and mark what is missing", "Write release notes", "Check the shop in four browsers", "Résumé übersetzen"}
	for i := range 5 {
		c.open(Session{
			ID: fmt.Sprintf("s%d", i), Title: titles[i], Screen: i + 1, Width: 1280, Height: 800,
			StartedAt: now.Add(-time.Duration(i*37) * time.Minute), Viewers: i % 3,
			LastAction: []string{"click", "type", "", "scroll", "key"}[i], LastActionAt: now.Add(-time.Duration(i*i*11) * time.Second),
			Control: Control{By: []string{"agent", "human", "nobody", "agent", "nobody"}[i], Name: "A TigerVNC viewer"},
		})
		paint(c.Frame(i+1), []uint32{0x2f5d8a, 0x5a3f7a, 0x2d6a4f, 0x7a4a2f, 0x444c5c}[i])
	}
	c.edit(3, func(s *Session) { s.Request = &Request{Reason: "The bank asks for the code from your phone.", At: now} })
	c.edit(4, func(s *Session) { s.State = Ended })
	c.open(Session{ID: "s9", Title: "Just started", StartedAt: now})
	return c
}

func TestHowItLooks(t *testing.T) {
	b := startBrowser(t)
	c := busyComputer()
	s := serve(t, c)
	b.visit(s, "/#key="+testKey)
	b.Until("document.querySelectorAll('.shot img:not([hidden])').length === 5")
	for _, window := range [][2]int64{{360, 740}, {1280, 800}, {2560, 1440}} {
		for _, colours := range []string{"light", "dark"} {
			name := fmt.Sprintf("%d-%s", window[0], colours)
			b.Resize(window[0], window[1])
			b.Colours(colours)
			b.visit(s, "/#")
			b.Until("document.querySelectorAll('.shot img:not([hidden])').length >= 1")
			b.Save("grid-" + name)
			b.visit(s, "/#screen=3")
			b.entered()
			b.wantPicture(c.Frame(3))
			b.Save("locked-" + name)
			b.Click("#lock")
			b.Until("document.querySelector('#screen').hasAttribute('data-mine')")
			b.Save("unlocked-" + name)
		}
	}
}
