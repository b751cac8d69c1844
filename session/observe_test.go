package session

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// look observes and returns the image's state.
func state(t *testing.T, s *Session, r api.ObserveRequest) api.Image {
	t.Helper()
	o, images := observe(t, s, r)
	if sent := o.Image.State == api.ImageSent; sent != (len(images) == 1) {
		t.Fatalf("image %s with %d images", o.Image.State, len(images))
	}
	return o.Image
}

// S0-66, S0-68, S2-20, S2-23: the first look opens the screen, of the size that was asked
// for, and shows all of it as one PNG, with its size, bytes and time.
func TestObserveOpensTheScreen(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, func(r *api.StartRequest) { r.ScreenSize = "640x400" })
	o, images := observe(t, s, api.ObserveRequest{})
	if len(screens.screens) != 1 || table.Sessions()[0].Screen != 1 {
		t.Fatal("no screen was opened")
	}
	if o.Frame.Width != 640 || o.Frame.Height != 400 || o.Frame.Epoch != 1 || time.Since(o.Frame.CapturedAt) > time.Minute {
		t.Errorf("frame %+v", o.Frame)
	}
	if o.Image.Format != "png" || o.Image.Scale != 1 || o.Image.Bytes != len(images[0].Data) || images[0].ContentType != "image/png" || o.Image.Changed != nil {
		t.Errorf("image %+v", o.Image)
	}
	if p, err := png.Decode(bytes.NewReader(images[0].Data)); err != nil || p.Bounds() != image.Rect(0, 0, 640, 400) {
		t.Errorf("png: %v", err)
	}
	table.End(s.ID())
}

// S0-67.
func TestObserveDescribesTheScreen(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, nil)
	observe(t, s, api.ObserveRequest{})
	f := screens.last()
	f.buf.SetCursor(frame.Cursor{Serial: 1, X: 7, Y: 9})
	f.windows = []x11.Window{
		{ID: 5, Title: "One", Class: "XTerm", Rect: image.Rect(-3, 4, 100, 50), Focused: true},
		{ID: 6, Title: "Two", Class: "Other", Hidden: true},
	}
	f.notes = []string{"The screen was started again."}
	o, _ := observe(t, s, api.ObserveRequest{})
	if o.Cursor != (api.Point{X: 7, Y: 9}) || o.ActiveWindow != "One" || len(o.Notes) != 1 {
		t.Errorf("%+v", o)
	}
	if len(o.Windows) != 2 || o.Windows[0] != (api.Window{Title: "One", Class: "XTerm", X: -3, Y: 4, Width: 103, Height: 46, Focused: true}) || !o.Windows[1].Hidden {
		t.Errorf("windows %+v", o.Windows)
	}
	if o, _ := observe(t, s, api.ObserveRequest{}); len(o.Notes) != 0 {
		t.Errorf("told twice: %+v", o)
	}
	table.End(s.ID())
}

// S0-67: a title that a web page chose does not fill the agent's context.
func TestObserveCutsLongTitles(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, nil)
	observe(t, s, api.ObserveRequest{})
	for _, length := range []int{maxWindowText, maxWindowText + 1, 4096} {
		title := strings.Repeat("é", length)
		want := title
		if length > maxWindowText {
			want = strings.Repeat("é", maxWindowText-1) + "…"
		}
		screens.last().windows = []x11.Window{{ID: 5, Title: title, Class: title, Focused: true}}
		o, _ := observe(t, s, api.ObserveRequest{})
		if w := o.Windows[0]; w.Title != want || w.Class != want || o.ActiveWindow != want {
			t.Errorf("%d characters: %q %q %q", length, w.Title, w.Class, o.ActiveWindow)
		}
	}
	table.End(s.ID())
}

// S0-72, S3-9, S3-25 and S3-37: an image that the agent still has is left out, unless it is asked for.
func TestUnchangedImageIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, screens := newTable(t)
		s := start(t, table, nil)
		step := func(want string, r api.ObserveRequest) api.Image {
			t.Helper()
			i := state(t, s, r)
			if i.State != want {
				t.Fatalf("image %s, want %s", i.State, want)
			}
			return i
		}
		full := api.ObserveRequest{}
		step(api.ImageSent, full)
		time.Sleep(7 * time.Second)
		if i := step(api.ImageUnchanged, full); i.AgeMS != 7000 || i.Width != 0 {
			t.Errorf("%+v", i)
		}
		step(api.ImageSent, api.ObserveRequest{Force: true})
		screens.last().paint(image.Rect(40, 50, 60, 60), 0xff0000)
		if i := step(api.ImageSent, full); i.Changed == nil || *i.Changed != (api.Region{X: 40, Y: 48, Width: 24, Height: 16}) {
			t.Errorf("changed %+v", i.Changed)
		}
		step(api.ImageUnchanged, full)

		// S2-21, S2-22: another view of the same screen is another picture.
		zoomed := api.ObserveRequest{ImageOptions: api.ImageOptions{Region: &api.Region{X: 0, Y: 0, Width: 32, Height: 32}}}
		if i := step(api.ImageSent, zoomed); i.Region == nil || i.Width != 32 {
			t.Errorf("%+v", i)
		}
		screens.last().paint(image.Rect(200, 200, 210, 210), 0x00ff00)
		step(api.ImageUnchanged, zoomed) // what changed is elsewhere
		screens.last().paint(image.Rect(0, 0, 8, 8), 0x00ff00)
		step(api.ImageSent, zoomed)
		step(api.ImageSent, api.ObserveRequest{ImageOptions: api.ImageOptions{MaxSide: 100}})
		step(api.ImageSent, api.ObserveRequest{ImageOptions: api.ImageOptions{Format: "jpeg"}})
		step(api.ImageSent, full)

		// A pointer that moves counts where it is drawn.
		screens.last().buf.SetCursor(frame.Cursor{Serial: 1, X: 9, Y: 9})
		step(api.ImageSent, full)
		screens.last().buf.SetCursor(frame.Cursor{Serial: 2, X: 9, Y: 9}) // busy
		screens.last().buf.SetCursor(frame.Cursor{Serial: 1, X: 9, Y: 9}) // and no more
		step(api.ImageUnchanged, full)
		screens.last().buf.SetCursor(frame.Cursor{Serial: 2, X: 9, Y: 9})
		step(api.ImageSent, full)
		screens.last().buf.SetCursor(frame.Cursor{Serial: 1, X: 9, Y: 9})
		step(api.ImageSent, full)
		bare := api.ObserveRequest{ImageOptions: api.ImageOptions{Cursor: ptr(false)}}
		step(api.ImageSent, bare)
		screens.last().buf.SetCursor(frame.Cursor{Serial: 1, X: 10, Y: 9})
		step(api.ImageUnchanged, bare)

		// After 45 s the model may have lost the image.
		step(api.ImageSent, full)
		time.Sleep(api.DefaultElideTTL - time.Millisecond)
		step(api.ImageUnchanged, full)
		time.Sleep(time.Millisecond)
		step(api.ImageSent, full)

		// A new X server may look the same and is another screen.
		screens.last().buf.Reset(320, 320)
		if i := step(api.ImageSent, full); i.Changed == nil || i.Changed.Width != 320 {
			t.Errorf("changed %+v", i.Changed)
		}
		table.End(s.ID())
	})
}

// S3-37, S3-46
func TestElideTTLZeroNeverLeavesOut(t *testing.T) {
	table, _ := newTable(t)
	s := start(t, table, func(r *api.StartRequest) { r.ElideTTLMS = ptr(int64(0)) })
	for range 3 {
		if i := state(t, s, api.ObserveRequest{}); i.State != api.ImageSent {
			t.Errorf("image %s", i.State)
		}
	}
	table.End(s.ID())
}

// S3-43
func TestMaxSideBoundsImages(t *testing.T) {
	table, _ := newTable(t)
	s := start(t, table, func(r *api.StartRequest) { r.ScreenSize, r.MaxSide = "800x400", 200 })
	for _, ask := range []int{0, 100, 700} {
		want := map[int]int{0: 200, 100: 100, 700: 200}[ask]
		i := state(t, s, api.ObserveRequest{Force: true, ImageOptions: api.ImageOptions{MaxSide: ask}})
		if i.Width != want || i.Scale != float64(want)/800 {
			t.Errorf("max_side %d: %+v", ask, i)
		}
	}
	table.End(s.ID())
}

// S3-44: a lower quality makes a smaller JPEG, and leaves a PNG alone.
func TestQualityOfJPEG(t *testing.T) {
	table, screens := newTable(t)
	bytes := map[int]int{}
	for _, quality := range []int{0, 20, 80} {
		s := start(t, table, func(r *api.StartRequest) { r.JPEGQuality = quality })
		observe(t, s, api.ObserveRequest{})
		screens.last().noise(1)
		bytes[quality] = state(t, s, api.ObserveRequest{ImageOptions: api.ImageOptions{Format: "jpeg"}}).Bytes
		table.End(s.ID())
	}
	if bytes[0] != bytes[80] || bytes[20]*2 > bytes[80] {
		t.Errorf("bytes by quality: %v", bytes)
	}
}

func TestObserveRefusesRegions(t *testing.T) {
	table, _ := newTable(t)
	s := start(t, table, nil)
	for _, r := range []api.Region{{X: 0, Y: 0, Width: 321, Height: 1}, {X: 319, Y: 319, Width: 2, Height: 1}, {X: -1, Width: 1, Height: 1}} {
		_, _, err := s.Observe(t.Context(), api.ObserveRequest{ImageOptions: api.ImageOptions{Region: &r}})
		wantCode(t, err, api.CodeBadRequest)
	}
	table.End(s.ID())
}

func TestScreenErrors(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, nil)
	screens.fail = api.Errorf(api.CodeNoFreeScreen, "All 16 screens are in use.")
	_, _, err := s.Observe(t.Context(), api.ObserveRequest{})
	wantCode(t, err, api.CodeNoFreeScreen)
	screens.fail = errors.New("open screen 1: no Xvfb")
	_, _, err = s.Observe(t.Context(), api.ObserveRequest{})
	if e := wantCode(t, err, api.CodeScreenFailed); !e.Retryable || !strings.Contains(e.Message, "no Xvfb") {
		t.Errorf("%v", e)
	}
	screens.fail = nil
	observe(t, s, api.ObserveRequest{})
	table.End(s.ID())
}

// Fifty observes of one session at once: each is answered, one after the other, and the
// image is sent once.
func TestConcurrentObserves(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, nil)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		sent int
	)
	for range 50 {
		wg.Go(func() {
			o, images, err := s.Observe(t.Context(), api.ObserveRequest{})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			sent += len(images)
			if o.Frame.Width != 320 {
				t.Errorf("%+v", o.Frame)
			}
		})
	}
	wg.Wait()
	if sent != 1 || len(screens.screens) != 1 {
		t.Errorf("%d images of %d screens", sent, len(screens.screens))
	}
	table.End(s.ID())
}
