package encode

import (
	"encoding/hex"
	"image"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// block makes a Block at 0, 0 of rows of equal length.
func block(rows ...[]uint32) Block {
	b := Block{Stride: len(rows[0])}
	b.Max = image.Pt(len(rows[0]), len(rows))
	for _, r := range rows {
		b.Pix = append(b.Pix, r...)
	}
	return b
}

func wantHex(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	want = strings.ReplaceAll(want, " ", "")
	if g := hex.EncodeToString(got); g != want {
		t.Errorf("%s\n got %s\nwant %s", what, g, want)
	}
}

// TestPixels writes red, green and blue in the three kinds of pixel. CPIXEL
// follows the format, TPIXEL is red, green, blue.
func TestPixels(t *testing.T) {
	rgb := []uint32{0xff0000, 0x00ff00, 0x0000ff}
	for _, c := range []struct{ format, pixel, cpixel, tpixel string }{
		{"bgrx", "0000ff00 00ff0000 ff000000", "0000ff 00ff00 ff0000", "ff0000 00ff00 0000ff"},
		{"rgbx", "ff000000 00ff0000 0000ff00", "ff0000 00ff00 0000ff", "ff0000 00ff00 0000ff"},
		{"xrgb", "00ff0000 0000ff00 000000ff", "ff0000 00ff00 0000ff", "ff0000 00ff00 0000ff"},
		{"xbgr", "000000ff 0000ff00 00ff0000", "0000ff 00ff00 ff0000", "ff0000 00ff00 0000ff"},
		{"high le", "000000ff 0000ff00 00ff0000", "0000ff 00ff00 ff0000", "ff0000 00ff00 0000ff"},
		{"high be", "ff000000 00ff0000 0000ff00", "ff0000 00ff00 0000ff", "ff0000 00ff00 0000ff"},
		{"depth 32", "0000ff00 00ff0000 ff000000", "0000ff00 00ff0000 ff000000", "0000ff00 00ff0000 ff000000"},
		{"565 le", "00f8 e007 1f00", "00f8 e007 1f00", "00f8 e007 1f00"},
		{"565 be", "f800 07e0 001f", "f800 07e0 001f", "f800 07e0 001f"},
		{"565 in 32", "00f80000 e0070000 1f000000", "00f800 e00700 1f0000", "00f80000 e0070000 1f000000"},
		{"bgr233", "07 38 c0", "07 38 c0", "07 38 c0"},
		{"rgb222", "30 0c 03", "30 0c 03", "30 0c 03"},
		{"map 8", "b4 1e 05", "b4 1e 05", "b4 1e 05"},
		{"map 16 be", "00b4 001e 0005", "00b4 001e 0005", "00b4 001e 0005"},
	} {
		for kind, want := range map[pixelKind]string{wholePixel: c.pixel, compactPixel: c.cpixel, tightPixel: c.tpixel} {
			var conv converter
			conv.reset(formats[c.format], kind)
			var one []byte
			for _, p := range rgb {
				one = conv.pixel(one, p)
			}
			wantHex(t, c.format, one, want)
			wantHex(t, c.format+", row", conv.row(nil, rgb), want)
		}
	}
}

func TestGoldenRects(t *testing.T) {
	const w, r, k = 0xffffff, 0xff0000, 0x000000
	noise := []uint32{0x010203, 0x405060, 0x7f8090, 0xa1b2c3, 0x0a0b0c, 0xfedcba}
	for _, c := range []struct {
		name string
		enc  Encoding
		src  Block
		want string
	}{
		{"raw", Raw, block([]uint32{r, w}), "0000 0000 0002 0001 00000000 0000ff00 ffffff00"},
		{"hextile solid", Hextile, block([]uint32{r, r}), "0000 0000 0002 0001 00000005 02 0000ff00"},
		{"hextile two colours", Hextile, block([]uint32{w, w, w, r}, []uint32{w, w, w, w}), "0000 0000 0004 0002 00000005 0e ffffff00 0000ff00 01 30 00"},
		{"hextile colours", Hextile, block([]uint32{w, w, w, r}, []uint32{w, w, w, k}), "0000 0000 0004 0002 00000005 1a ffffff00 02 0000ff00 30 00 00000000 31 00"},
		{"hextile raw", Hextile, block([]uint32{r, k, w}), "0000 0000 0003 0001 00000005 01 0000ff00 00000000 ffffff00"},
		{"tight fill", Tight, block([]uint32{r, r}), "0000 0000 0002 0001 00000007 80 ff0000"},
		{"tight short pixels", Tight, block(noise[:3]), "0000 0000 0003 0001 00000007 00 010203 405060 7f8090"},
		{
			"tight short mono", Tight, block([]uint32{w, w, w, w, w, w, w, w, r}, []uint32{r, w, w, w, w, w, w, w, w}),
			"0000 0000 0009 0002 00000007 50 01 01 ffffff ff0000 0080 8000",
		},
	} {
		var b Batch
		NewEncoder(Settings{Format: Native, Encoding: c.enc, Level: 2}).Encode(&b, c.src, c.src.Rectangle)
		var s Streams
		wantHex(t, c.name, s.Append(nil, &b), c.want)
	}
}

// TestGoldenStream writes two rectangles of one stream: the zlib header stands before
// the first only, and each ends with the empty block of a sync flush.
func TestGoldenStream(t *testing.T) {
	src := block([]uint32{0x010203, 0x405060}, []uint32{0x7f8090, 0xa1b2c3})
	for _, c := range []struct {
		enc           Encoding
		first, second string // lengths, and the zlib header
		data          string
	}{
		{Zlib, "00000019 7801", "00000017", "62 6662 6448 0870 6098 d050 cf70 78d3 4206 00 000000ffff"},
		{ZRLE, "00000018 7801", "00000016", "62 6166 624c 0870 98d0 507f 78d3 4281 0d00 000000ffff"},
	} {
		e := NewEncoder(Settings{Format: Native, Encoding: c.enc})
		var s Streams
		for _, length := range []string{c.first, c.second} {
			var b Batch
			e.Encode(&b, src, src.Rectangle)
			head := AppendRectHeader(nil, src.Rectangle, c.enc)
			wantHex(t, c.enc.String(), s.Append(nil, &b), hex.EncodeToString(head)+length+c.data)
		}
	}
}

func TestCompactLength(t *testing.T) {
	for n, want := range map[int]string{0: "00", 1: "01", 127: "7f", 128: "8001", 16383: "ff7f", 16384: "808001", 1<<22 - 1: "ffffff"} {
		wantHex(t, "compact length", appendCompact(nil, n), want)
	}
}

// arrow is a cursor of 9 by 2: opaque white, half red, opaque black, clear.
func arrow() frame.Cursor {
	c := frame.Cursor{Width: 9, Height: 2, HotX: 1, HotY: 1, Pix: make([]uint32, 18)}
	c.Pix[0], c.Pix[1], c.Pix[8], c.Pix[9] = 0xffffffff, 0x80800000, 0xff000000, 0x40000040
	return c
}

func TestGoldenCursors(t *testing.T) {
	c := arrow()
	clear := func(n int) string { return strings.Repeat("00000000", n) }
	wantHex(t, "Cursor", AppendCursor(nil, Native, c),
		"0001 0001 0009 0002 ffffff11 ffffff00 0000ff00"+clear(6)+"00000000 ff000000"+clear(8)+"c080 0000")
	wantHex(t, "XCursor", AppendXCursor(nil, c),
		"0001 0001 0009 0002 ffffff10 000000 ffffff 4080 0000 c080 0000")
	wantHex(t, "CursorWithAlpha", AppendCursorWithAlpha(nil, c),
		"0001 0001 0009 0002 fffffec6 00000000 ffffffff 80000080"+clear(6)+"000000ff 00004040"+clear(8))
	wantHex(t, "VMwareCursor", AppendVMwareCursor(nil, c),
		"0001 0001 0009 0002 574d5664 01 00 ffffffff ff000080"+clear(6)+"000000ff 0000ff40"+clear(8))
	var hidden frame.Cursor
	wantHex(t, "hidden Cursor", AppendCursor(nil, Native, hidden), "0000 0000 0000 0000 ffffff11")
	wantHex(t, "hidden XCursor", AppendXCursor(nil, hidden), "0000 0000 0000 0000 ffffff10")
	wantHex(t, "hidden CursorWithAlpha", AppendCursorWithAlpha(nil, hidden), "0000 0000 0000 0000 fffffec6 00000000")
	wantHex(t, "hidden VMwareCursor", AppendVMwareCursor(nil, hidden), "0000 0000 0000 0000 574d5664 0100")
}

func TestColourMap(t *testing.T) {
	m := AppendColourMap(nil)
	if len(m) != 6+216*6 {
		t.Fatalf("%d bytes", len(m))
	}
	wantHex(t, "header and black", m[:12], "01 00 0000 00d8 0000 0000 0000")
	wantHex(t, "pure red", m[6+180*6:][:6], "ffff 0000 0000")
	wantHex(t, "a mixed colour", m[6+(2*36+3*6+4)*6:][:6], "6666 9999 cccc")
}

func TestCopyBytes(t *testing.T) {
	c := Copy{Dst: image.Rect(10, 20, 310, 220), Src: image.Pt(10, 80)}
	wantHex(t, "CopyRect", c.Append(nil), "000a 0014 012c 00c8 00000001 000a 0050")
}
