package screenshot

import (
	"bytes"
	"errors"
	"image"
	_ "image/jpeg"
	"image/png"
	"math"
	"sync"
	"testing"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/internal/testscreen"
)

// screen returns a Buffer that shows pix.
func screen(pix []uint32, width int) *frame.Buffer {
	buf := frame.NewBuffer()
	height := len(pix) / width
	buf.Reset(width, height)
	buf.Publish(pix, width, []image.Rectangle{image.Rect(0, 0, width, height)})
	return buf
}

// take takes a shot and decodes it.
func take(t *testing.T, buf *frame.Buffer, opt Options) (*Shot, image.Image) {
	t.Helper()
	shot, err := Take(buf, opt)
	if err != nil {
		t.Fatal(err)
	}
	return shot, checkFile(t, shot)
}

// checkFile checks that the file is what the shot says, and decodes it.
func checkFile(t *testing.T, shot *Shot) image.Image {
	t.Helper()
	img, format, err := image.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		t.Fatal(err)
	}
	if Format(format) != shot.Format || img.Bounds().Size() != image.Pt(shot.Width, shot.Height) {
		t.Fatalf("the file is a %s of %v, the shot says %s of %dx%d",
			format, img.Bounds().Size(), shot.Format, shot.Width, shot.Height)
	}
	return img
}

func colour(img image.Image, x, y int) uint32 {
	r, g, b, _ := img.At(x, y).RGBA()
	return r>>8<<16 | g>>8<<8 | b>>8
}

func TestWholeScreenIsExact(t *testing.T) {
	pix := testscreen.Desktop(1, 1280, 800)
	buf := screen(pix, 1280)
	shot, img := take(t, buf, Options{})
	if shot.Format != PNG || shot.Scale != 1 || shot.Region != image.Rect(0, 0, 1280, 800) ||
		shot.ScreenWidth != 1280 || shot.ScreenHeight != 800 || shot.Stamp != buf.Stamp() || shot.CapturedAt.IsZero() {
		t.Errorf("shot %+v", shot)
	}
	for i, want := range pix {
		if got := colour(img, i%1280, i/1280); got != want {
			t.Fatalf("pixel %d,%d is %06x, want %06x", i%1280, i/1280, got, want)
		}
	}
}

func TestRegion(t *testing.T) {
	pix := testscreen.Noise(1, 100, 60)
	region := image.Rect(13, 7, 50, 33)
	shot, img := take(t, screen(pix, 100), Options{Region: region})
	if shot.Region != region || shot.Width != 37 || shot.Height != 26 {
		t.Errorf("region %v of %dx%d", shot.Region, shot.Width, shot.Height)
	}
	for y := range 26 {
		for x := range 37 {
			if got, want := colour(img, x, y), pix[(y+7)*100+x+13]; got != want {
				t.Fatalf("pixel %d,%d is %06x, want %06x", x, y, got, want)
			}
		}
	}
}

func TestBadRegion(t *testing.T) {
	buf := screen(testscreen.Text(1, 100, 60), 100)
	for _, region := range []image.Rectangle{
		image.Rect(0, 0, 101, 60), image.Rect(-1, 0, 10, 10), image.Rect(200, 200, 210, 210),
		{Min: image.Pt(5, 5), Max: image.Pt(5, 9)},
		{Min: image.Pt(9, 9), Max: image.Pt(5, 5)},
	} {
		_, err := Take(buf, Options{Region: region})
		var bad *RegionError
		if !errors.As(err, &bad) || bad.Region != region || bad.ScreenWidth != 100 || bad.ScreenHeight != 60 {
			t.Errorf("region %v: error %v", region, err)
		}
	}
	_, err := Take(buf, Options{Region: image.Rect(90, 0, 120, 60)})
	if want := "region x=90 y=0 width=30 height=60 is not inside the screen of 100x60 pixels"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestNothingCaptured(t *testing.T) {
	if _, err := Take(frame.NewBuffer(), Options{}); !errors.Is(err, ErrNoFrame) {
		t.Errorf("error %v", err)
	}
}

func TestBadOptions(t *testing.T) {
	buf := screen(testscreen.Text(1, 100, 60), 100)
	for _, opt := range []Options{{MaxSide: -1}, {MaxBytes: 1023}, {Quality: 101}, {Quality: -1}, {Format: "gif"}} {
		if shot, err := Take(buf, opt); err == nil {
			t.Errorf("%+v gave %dx%d", opt, shot.Width, shot.Height)
		}
	}
}

// A cursor half outside the region: opaque, half transparent and clear pixels.
func TestCursor(t *testing.T) {
	pix := make([]uint32, 20*20)
	for i := range pix {
		pix[i] = 0x204060
	}
	buf := screen(pix, 20)
	cursor := frame.Cursor{
		Serial: 1, X: 11, Y: 10, HotX: 1, HotY: 0, Width: 3, Height: 1,
		Pix: []uint32{0xffff0000, 0x80008000, 0x00000000},
	}
	buf.SetCursor(cursor)
	_, img := take(t, buf, Options{Cursor: true})
	for x, want := range map[int]uint32{9: 0x204060, 10: 0xff0000, 11: 0x10a030, 12: 0x204060} {
		if got := colour(img, x, 10); got != want {
			t.Errorf("pixel %d is %06x, want %06x", x, got, want)
		}
	}
	shot, img := take(t, buf, Options{Cursor: true, Region: image.Rect(11, 10, 14, 12)})
	if got := colour(img, 0, 0); got != 0x10a030 {
		t.Errorf("in a region: %06x", got)
	}
	if shot.Cursor.X != 11 || shot.Cursor.Y != 10 {
		t.Errorf("cursor at %d,%d", shot.Cursor.X, shot.Cursor.Y)
	}
	_, img = take(t, buf, Options{})
	if got := colour(img, 10, 10); got != 0x204060 {
		t.Errorf("cursor drawn though not asked: %06x", got)
	}
}

// S2-49: clients refuse pictures above 2000 pixels a side or 1 MB, whatever is on the
// largest screen.
func TestHugeNoisyScreenFitsTheDefaults(t *testing.T) {
	const width, height = 7680, 4320
	noise := testscreen.Noise(1, width, 1)
	still := &Still{Region: image.Rect(0, 0, width, height), Pix: make([]uint32, 0, width*height)}
	for y := range height { // each row is the noise, begun elsewhere
		at := y * 7919 % width
		still.Pix = append(append(still.Pix, noise[at:]...), noise[:at]...)
	}
	shot, err := still.Encode(Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, shot)
	if len(shot.Data) > DefaultMaxBytes || shot.Width != DefaultMaxSide || shot.Format != JPEG {
		t.Errorf("%s of %dx%d, %d bytes", shot.Format, shot.Width, shot.Height, len(shot.Data))
	}
}

// S2-16, S3-16: a small target must be found where the mapping says, in each corner, at any scale.
func TestMappingFindsTargets(t *testing.T) {
	const width, height, target = 2560, 1600, 10
	corners := []image.Point{{30, 20}, {width - 40, 20}, {30, height - 50}, {width - 40, height - 50}}
	pix := make([]uint32, width*height)
	for _, c := range corners {
		for y := range target {
			for x := range target {
				pix[(c.Y+y)*width+c.X+x] = 0xffffff
			}
		}
	}
	buf := screen(pix, width)
	for _, maxSide := range []int{2560, 2000, 1280, 1000, 640} {
		for _, region := range []image.Rectangle{{}, image.Rect(7, 5, width-3, height-2)} {
			shot, img := take(t, buf, Options{MaxSide: maxSide, Region: region})
			for _, c := range corners {
				middle := c.Add(image.Pt(target/2, target/2)).Sub(shot.Region.Min)
				x, y := int(float64(middle.X)*shot.Scale), int(float64(middle.Y)*shot.Scale)
				if got := colour(img, x, y); got < 0x808080 {
					t.Errorf("max side %d: the target at %v is not at %d,%d of the picture", maxSide, c, x, y)
				}
			}
		}
	}
}

func TestBudget(t *testing.T) {
	photo := screen(testscreen.Photo(1, 640, 400), 640)
	for _, tc := range []struct {
		name    string
		opt     Options
		format  Format
		quality int
		whole   bool // not scaled
	}{
		{"fits as PNG", Options{}, PNG, 0, true},
		{"JPEG when PNG is too large", Options{MaxBytes: 200_000}, JPEG, DefaultQuality, true},
		{"lower quality next", Options{MaxBytes: 20_000}, JPEG, 60, true},
		{"smaller picture last", Options{MaxBytes: 8_000}, JPEG, 40, false},
		{"PNG asked for, so only smaller", Options{MaxBytes: 200_000, Format: PNG}, PNG, 0, false},
		{"JPEG asked for", Options{Format: JPEG, Quality: 95}, JPEG, 95, true},
		{"never better than asked", Options{Format: JPEG, Quality: 30, MaxBytes: 2000}, JPEG, 30, false},
		{"the smallest budget", Options{MaxBytes: MinMaxBytes}, JPEG, 40, false},
		{"the smallest budget as PNG", Options{MaxBytes: MinMaxBytes, Format: PNG}, PNG, 0, false},
	} {
		shot, _ := take(t, photo, tc.opt)
		limit := tc.opt.MaxBytes
		if limit == 0 {
			limit = DefaultMaxBytes
		}
		if len(shot.Data) > limit || shot.Format != tc.format || shot.Quality != tc.quality || (shot.Scale == 1) != tc.whole {
			t.Errorf("%s: %d bytes of %d, %s at quality %d, scale %.3f", tc.name,
				len(shot.Data), limit, shot.Format, shot.Quality, shot.Scale)
		}
	}
}

func TestShrink(t *testing.T) {
	flat := make([]uint32, 300*200)
	for i := range flat {
		flat[i] = 0xff01fe
	}
	for to := 1; to <= 200; to += 3 {
		for _, p := range shrink(flat, 300, 200, to+to/2, to) {
			if p != 0xff01fe {
				t.Fatalf("a flat picture became %06x at %d rows", p, to)
			}
		}
	}
	// Halves are exact averages.
	got := shrink([]uint32{0x000000, 0x0a0400, 0x141400, 0x0a0400}, 2, 2, 1, 1)
	if got[0] != 0x0a0700 {
		t.Errorf("average is %06x, want 0a0700", got[0])
	}
	// Any other scale keeps the brightness of the whole.
	noise := testscreen.Noise(3, 173, 97)
	if a, b := brightness(noise), brightness(shrink(noise, 173, 97, 100, 56)); math.Abs(a-b) > 0.6 {
		t.Errorf("brightness %.2f became %.2f", a, b)
	}
}

// However a line is shrunk, every tap is inside it and weights add up to one.
func TestAreas(t *testing.T) {
	for from := 1; from <= 80; from++ {
		for to := 1; to <= from; to++ {
			for i, tap := range areas(from, to) {
				sum := uint64(0)
				for _, w := range tap.weights {
					sum += w
				}
				if sum != one || tap.first < 0 || tap.first+len(tap.weights) > from {
					t.Fatalf("%d to %d: pixel %d has %+v", from, to, i, tap)
				}
			}
		}
	}
}

// Shots are taken while the screen changes, by several readers.
func TestTakeWhileWriting(t *testing.T) {
	const width, height = 160, 100
	black, white := make([]uint32, width*height), make([]uint32, width*height)
	for i := range white {
		white[i] = 0xffffff
	}
	buf := screen(black, width)
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for range 20 {
				shot, err := Take(buf, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				img, err := png.Decode(bytes.NewReader(shot.Data))
				if err != nil {
					t.Error(err)
					return
				}
				if a, b := colour(img, 0, 0), colour(img, width-1, height-1); a != b {
					t.Errorf("one shot of two states: %06x and %06x", a, b)
				}
			}
		})
	}
	for i := range 100 {
		pix := black
		if i%2 == 0 {
			pix = white
		}
		buf.Publish(pix, width, []image.Rectangle{image.Rect(0, 0, width, height)})
	}
	readers.Wait()
}

func brightness(pix []uint32) float64 {
	var sum float64
	for _, p := range pix {
		sum += float64(p>>16 + p>>8&0xff + p&0xff)
	}
	return sum / float64(3*len(pix))
}

func BenchmarkTake(b *testing.B) {
	for _, s := range []struct {
		name          string
		width, height int
		opt           Options
	}{
		{"1280x800", 1280, 800, Options{Cursor: true}},
		{"1280x800/jpeg", 1280, 800, Options{Cursor: true, Format: JPEG}},
		{"1920x1200", 1920, 1200, Options{Cursor: true}},
		{"2560x1600/side1280", 2560, 1600, Options{Cursor: true, MaxSide: 1280}},
	} {
		b.Run(s.name, func(b *testing.B) {
			buf := screen(testscreen.Desktop(1, s.width, s.height), s.width)
			b.SetBytes(int64(4 * s.width * s.height))
			b.ReportAllocs()
			var shot *Shot
			for b.Loop() {
				var err error
				if shot, err = Take(buf, s.opt); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(shot.Data)), "bytes")
		})
	}
}
