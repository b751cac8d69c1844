package encode

import "testing"

func TestPixelFormatBytes(t *testing.T) {
	wantHex(t, "the native format", Native.Append(nil), "20 18 00 01 00ff 00ff 00ff 10 08 00 000000")
	for name, f := range formats {
		got, err := ParsePixelFormat([PixelFormatSize]byte(f.Append(nil)))
		if err != nil || got != f {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestPixelFormatErrors(t *testing.T) {
	change := func(f func(*PixelFormat)) PixelFormat {
		p := Native
		f(&p)
		return p
	}
	for name, f := range map[string]PixelFormat{
		"0 bits":         change(func(f *PixelFormat) { f.BitsPerPixel = 0 }),
		"7 bits":         change(func(f *PixelFormat) { f.BitsPerPixel = 7 }),
		"24 bits":        change(func(f *PixelFormat) { f.BitsPerPixel = 24 }),
		"64 bits":        change(func(f *PixelFormat) { f.BitsPerPixel = 64 }),
		"255 bits":       change(func(f *PixelFormat) { f.BitsPerPixel = 255 }),
		"depth 0":        change(func(f *PixelFormat) { f.Depth = 0 }),
		"depth 33":       change(func(f *PixelFormat) { f.Depth = 33 }),
		"max 0":          change(func(f *PixelFormat) { f.GreenMax = 0 }),
		"max 254":        change(func(f *PixelFormat) { f.BlueMax = 254 }),
		"shift 32":       change(func(f *PixelFormat) { f.RedShift = 32 }),
		"shift 25":       change(func(f *PixelFormat) { f.RedShift = 25 }),
		"shift 255":      change(func(f *PixelFormat) { f.BlueShift = 255 }),
		"overlap":        change(func(f *PixelFormat) { f.BlueShift = 7 }),
		"map of depth 9": {BitsPerPixel: 8, Depth: 9},
	} {
		if _, err := ParsePixelFormat([PixelFormatSize]byte(f.Append(nil))); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// FuzzPixelFormat checks that whatever is accepted can be encoded.
func FuzzPixelFormat(f *testing.F) {
	for _, p := range formats {
		f.Add(p.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < PixelFormatSize {
			return
		}
		p, err := ParsePixelFormat([PixelFormatSize]byte(b))
		if err != nil {
			return
		}
		src := block([]uint32{0x000000, 0xffffff, 0x123456, 0x808080}, []uint32{0xff0000, 0x00ff00, 0x0000ff, 0x010101})
		for _, enc := range []Encoding{Raw, Hextile, Zlib, ZRLE, Tight} {
			v := newViewer(p, src.Dx(), src.Dy())
			var batch Batch
			var s Streams
			NewEncoder(Settings{Format: p, Encoding: enc, Level: 1}).Encode(&batch, src, src.Rectangle)
			if err := v.update(s.Append(nil, &batch), batch.Rects()); err != nil {
				t.Fatalf("%v, %v: %v", p, enc, err)
			}
			if err := v.differs(src.Pix); err != nil {
				t.Fatalf("%v, %v: %v", p, enc, err)
			}
		}
	})
}
