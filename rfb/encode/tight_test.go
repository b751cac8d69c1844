package encode

import (
	"image"
	"testing"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// paint makes a picture of one of the test contents.
func paint(t *testing.T, content string, width, height int) Block {
	pix := make([]uint32, width*height)
	pictures[content](rngOf(t), pix, width)
	return Block{image.Rect(0, 0, width, height), pix, width}
}

// show encodes src for a new viewer and returns the viewer.
func show(t *testing.T, set Settings, src Block) (*viewer, *Batch) {
	t.Helper()
	var b Batch
	var s Streams
	NewEncoder(set).Encode(&b, src, src.Rectangle)
	v := newViewer(set.Format, src.Dx(), src.Dy())
	v.lossy = set.JPEG.Quality > 0
	if err := v.update(s.Append(nil, &b), b.Rects()); err != nil {
		t.Fatal(err)
	}
	return v, &b
}

// TestTightSmallPrint covers every size up to 9 by 9 with palettes around each limit:
// short data, fills, mono rows, palettes.
func TestTightSmallPrint(t *testing.T) {
	rng := rngOf(t)
	e := NewEncoder(Settings{Format: formats["rgbx"], Encoding: Tight, Level: 2, Gradient: true})
	var s Streams
	v := newViewer(formats["rgbx"], 0, 0)
	for w := 1; w <= 9; w++ {
		for h := 1; h <= 9; h++ {
			for n := 1; n <= min(w*h, 40); n++ {
				src := Block{image.Rect(0, 0, w, h), make([]uint32, w*h), w}
				for i := range src.Pix {
					src.Pix[i] = uint32(rng.IntN(n)) * 0x50301
				}
				var b Batch
				e.Encode(&b, src, src.Rectangle)
				v.width, v.height, v.pix = w, h, make([]uint32, w*h)
				if err := v.update(s.Append(nil, &b), b.Rects()); err != nil {
					t.Fatalf("%dx%d, %d colours: %v", w, h, n, err)
				}
				if err := v.differs(src.Pix); err != nil {
					t.Fatalf("%dx%d, %d colours: %v", w, h, n, err)
				}
			}
		}
	}
	for _, kind := range []string{"fill", "short", "mono", "palette", "full"} {
		if v.seen[kind] == 0 {
			t.Errorf("%s was not tested: %v", kind, v.seen)
		}
	}
}

// TestTightWidth sends a very wide screen in each kind; the viewer refuses
// rectangles wider than 2048.
func TestTightWidth(t *testing.T) {
	for content, kind := range map[string]string{"1 colours": "fill", "text": "palette", "photo": "gradient", "noise": "gradient"} {
		src := paint(t, content, 5000, 50)
		v, b := show(t, Settings{Format: Native, Encoding: Tight, Level: 2, Gradient: true}, src)
		if err := v.differs(src.Pix); err != nil {
			t.Error(err)
		}
		if v.seen[kind] == 0 || b.Rects() < 3 {
			t.Errorf("%s was sent as %v", content, v.seen)
		}
	}
	v, _ := show(t, Settings{Format: Native, Encoding: Tight, Level: 2}, paint(t, "photo", 5000, 50))
	if v.seen["full"] < 3 || v.seen["gradient"] > 0 {
		t.Errorf("a photo without the gradient filter was sent as %v", v.seen)
	}
	v, _ = show(t, Settings{Format: Native, Encoding: Tight, Level: 2, JPEG: QualityLevel(5)}, paint(t, "photo", 5000, 50))
	if v.seen["jpeg"] < 3 {
		t.Errorf("a photo was sent as %v", v.seen)
	}
}

// TestJPEG checks that JPEG is for photos, for formats that allow it, and that the
// batch tells which cells are inexact.
func TestJPEG(t *testing.T) {
	set := Settings{Format: Native, Encoding: Tight, Level: 2, JPEG: QualityLevel(6)}
	for content, lossy := range map[string]bool{"photo": true, "noise": true, "text": false, "127 colours": false} {
		src := paint(t, content, 300, 200)
		v, b := show(t, set, src)
		if (v.seen["jpeg"] > 0) != lossy {
			t.Errorf("%s was sent as %v", content, v.seen)
		}
		var cells frame.CellSet
		cells.Resize(300, 200)
		b.Mark(&cells)
		wrong := 0
		for i, p := range src.Pix {
			if v.pix[i] != v.want(p) && !cells.Has(i%300/frame.CellSize, i/300/frame.CellSize) {
				wrong++
			}
		}
		if wrong > 0 || lossy == cells.Empty() {
			t.Errorf("%s: %d inexact pixels are not marked, %d cells are", content, wrong, cells.Count())
		}
	}
	for _, name := range []string{"map 8", "bgr233", "map 16 be"} {
		set.Format = formats[name]
		if v, _ := show(t, set, paint(t, "photo", 300, 200)); v.seen["jpeg"] > 0 {
			t.Errorf("%s got a JPEG", name)
		}
	}
	set.Format, set.JPEG = Native, JPEG{}
	if v, _ := show(t, set, paint(t, "photo", 300, 200)); v.seen["jpeg"] > 0 {
		t.Error("a JPEG without a quality level")
	}
}

func TestQualityLevels(t *testing.T) {
	last := 0
	for level := range 10 {
		q := QualityLevel(level)
		if q.Quality <= last || (q.Subsampling == Sub444) != (level >= 6) {
			t.Errorf("level %d is %+v", level, q)
		}
		last = q.Quality
	}
	if QualityLevel(-3) != QualityLevel(0) || QualityLevel(12) != QualityLevel(9) {
		t.Error("levels outside 0 to 9 are not the nearest")
	}
}

// TestSplitsAreExact checks that split leaves nothing out and keeps its limits.
func TestSplitsAreExact(t *testing.T) {
	rng := rngOf(t)
	for range 200 {
		r := image.Rect(0, 0, 1+rng.IntN(5000), 1+rng.IntN(500)).Add(image.Pt(rng.IntN(50), rng.IntN(50)))
		area := 0
		split(r, 2048, 65536, func(p image.Rectangle) {
			if !p.In(r) || p.Dx() > 2048 || size(p) > 65536 {
				t.Fatalf("%v of %v", p, r)
			}
			area += size(p)
		})
		if area != size(r) {
			t.Fatalf("%d pixels of %v", area, r)
		}
	}
}
