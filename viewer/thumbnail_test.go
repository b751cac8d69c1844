package viewer

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// fill publishes a picture of one colour.
func fill(b *frame.Buffer, colour uint32) {
	var w, h int
	b.Read(func(v frame.View) { w, h = v.Width, v.Height })
	pix := make([]uint32, w*h)
	for i := range pix {
		pix[i] = colour
	}
	b.Publish(pix, w, []image.Rectangle{image.Rect(0, 0, w, h)})
}

func TestThumbnailsComeWhenTheScreenChanges(t *testing.T) {
	c := newFakeComputer(Session{ID: "a", Screen: 3}, Session{ID: "b", Screen: 4})
	s := serve(t, c)
	channel, _ := s.openPage(t)
	fill(c.Frame(3), 0xff0000)
	picture := func() (screen int, at time.Time) {
		t.Helper()
		for {
			kind, data, err := channel.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			if kind != websocket.BinaryMessage {
				continue
			}
			if img, err := jpeg.Decode(bytes.NewReader(data[1:])); err != nil || img.Bounds().Dx() != 160 || img.Bounds().Dy() != 100 {
				t.Fatalf("picture: %v, %v", img, err)
			}
			return int(data[0]), time.Now()
		}
	}
	channel.WriteJSON(command{Type: cmdThumbnails, Screens: []int{3, 5, 0, -1, 1000}, Width: 160})
	screen, first := picture()
	if screen != 3 {
		t.Errorf("picture of screen %d", screen)
	}
	fill(c.Frame(4), 0x00ff00) // nobody looks
	fill(c.Frame(3), 0x0000ff)
	screen, second := picture()
	if screen != 3 {
		t.Errorf("picture of screen %d", screen)
	}
	if d := second.Sub(first); d < thumbEvery/2 {
		t.Errorf("the next picture came after %v", d)
	}
	// Another screen under the same number is noticed.
	c.change(func() {
		c.frames[3] = frame.NewBuffer()
		c.frames[3].Reset(640, 400)
	})
	if screen, _ := picture(); screen != 3 {
		t.Errorf("picture of screen %d", screen)
	}
	channel.WriteJSON(command{Type: cmdThumbnails, Screens: []int{4}, Width: 160})
	if screen, _ := picture(); screen != 4 {
		t.Errorf("picture of screen %d", screen)
	}
	channel.WriteJSON(command{Type: cmdThumbnails})
	deadline := time.Now().Add(5 * time.Second)
	for c.Frame(4).Waiters() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("somebody still waits for a screen that nobody looks at")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestShrinkingKeepsColours(t *testing.T) {
	// Halves of two colours, at sizes that do not divide.
	const w, h = 1281, 797
	pix := make([]uint32, w*h)
	for i := range pix {
		pix[i] = 0x204060
		if i%w >= w/2 {
			pix[i] = 0xfeffff
		}
	}
	small := shrink(nil, pix, w, h, 321, 200)
	if left, right := small[0], small[320]; left != 0x204060 || right != 0xfeffff {
		t.Errorf("corners %06x %06x", left, right)
	}
	mixed := shrink(nil, []uint32{0x000000, 0xff0000, 0x00ff00, 0x0000ff}, 2, 2, 1, 1)
	if mixed[0] != 0x3f3f3f {
		t.Errorf("mean %06x", mixed[0])
	}
	if one := shrink(nil, []uint32{0x123456}, 1, 1, 1, 1); one[0] != 0x123456 {
		t.Errorf("a single pixel became %06x", one[0])
	}
}

func BenchmarkThumbnail(b *testing.B) {
	buffer := frame.NewBuffer()
	buffer.Reset(1280, 800)
	fill(buffer, 0x336699)
	var dst []byte
	var small []uint32
	b.ReportAllocs()
	for b.Loop() {
		dst, small = appendThumbnail(dst[:0], buffer, 320, small)
	}
}
