package session

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// noise covers the screen with pixels that no encoder can shrink.
func (s *fakeScreen) noise(seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := rand.NewPCG(seed, seed)
	for i := range s.pix {
		s.pix[i] = uint32(r.Uint64()) & 0xffffff
	}
	s.buf.Publish(s.pix, s.width, []image.Rectangle{image.Rect(0, 0, s.width, len(s.pix)/s.width)})
}

// The largest screen, full of noise, is within what clients accept in every format, and
// the answer says how to get from the picture to the screen.
func TestLargestScreenFitsClients(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, func(r *api.StartRequest) { r.ScreenSize = "7680x4320" })
	observe(t, s, api.ObserveRequest{})
	screens.last().noise(1)
	for _, format := range []string{"", "png", "jpeg"} {
		o, images := observe(t, s, api.ObserveRequest{Force: true, ImageOptions: api.ImageOptions{Format: format}})
		if len(images) != 1 {
			t.Fatalf("%q: %d images", format, len(images))
		}
		i, data := o.Image, images[0].Data
		if len(data) > 1_000_000 || i.Bytes != len(data) || format != "" && i.Format != format {
			t.Errorf("%q: %d bytes, %+v", format, len(data), i)
		}
		got, kind, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || kind != i.Format || got.Width != i.Width || got.Height != i.Height || max(got.Width, got.Height) > api.DefaultMaxSide {
			t.Errorf("%q: %+v (%v), stated %+v", format, got, err, i)
		}
		if o.Frame.Width != 7680 || o.Frame.Height != 4320 || i.Scale <= 0 || int(7680*i.Scale+0.5) != i.Width {
			t.Errorf("%q: screen %dx%d, scale %v, picture %d wide", format, o.Frame.Width, o.Frame.Height, i.Scale, i.Width)
		}
		t.Logf("%q: %s %dx%d, %d bytes", format, i.Format, i.Width, i.Height, i.Bytes)
	}
	table.End(s.ID())
}

// A batch that wants an image of each of its steps stays far below what clients accept,
// and says what it left out.
func TestImagesOfABatchAreBounded(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, func(r *api.StartRequest) { r.ScreenSize = "1280x800" })
	observe(t, s, api.ObserveRequest{})
	screen := screens.last()
	seed := uint64(1)
	screen.onInput = func(string) { seed++; screen.noise(seed) }
	var moves []string
	for i := range api.MaxActions {
		moves = append(moves, fmt.Sprintf(`{"kind":"move","x":%d,"y":1}`, i))
	}
	result, images, err := s.Act(t.Context(), actRequest(t, `{"settle":"off","screenshot":"each","actions":[`+strings.Join(moves, ",")+`]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, i := range images {
		total += len(i.Data)
	}
	if total > 5_000_000 || len(images) < 3 || result.Image.State != api.ImageSent {
		t.Errorf("%d images of %d bytes, the closing one %s", len(images), total, result.Image.State)
	}
	if last := result.Steps[api.MaxActions-2].Image; last == nil || last.State != api.ImageNone {
		t.Errorf("%+v", last)
	}
	if !strings.Contains(strings.Join(result.Notes, " "), "left out") {
		t.Errorf("notes %q", result.Notes)
	}
	table.End(s.ID())
}
