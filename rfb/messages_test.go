package rfb

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// parse returns the messages of a stream and what ended it.
func parse(r io.Reader) (msgs []any, err error) {
	p := &parser{r: bufio.NewReaderSize(r, 128), extendedButtons: func() bool { return true }}
	for {
		msg, err := p.next()
		if err != nil {
			return msgs, err
		}
		msgs = append(msgs, msg)
	}
}

func be16(v ...int) string {
	var b []byte
	for _, v := range v {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	return string(b)
}

func be32(v ...uint32) string {
	var b []byte
	for _, v := range v {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return string(b)
}

func encodings(list ...int32) string {
	var s strings.Builder
	s.WriteString("\x02\x00" + be16(len(list)))
	for _, e := range list {
		s.WriteString(be32(uint32(e)))
	}
	return s.String()
}

func pixelFormat(f encode.PixelFormat) string {
	return "\x00\x00\x00\x00" + string(f.Append(nil))
}

const clipboardNumber = -0x3f5e1a32

// every holds one of each message, some twice, and what they mean.
var every = []struct {
	bytes string
	want  any
}{
	{pixelFormat(encode.Native), setPixelFormat{encode.Native}},
	{"\x03\x01" + be16(1, 2, 3, 4), updateRequest{true, image.Rect(1, 2, 4, 6)}},
	{"\x03\x00" + be16(65535, 65535, 65535, 0), updateRequest{false, image.Rect(65535, 65535, 131070, 65535)}},
	{"\x04\x01\x00\x00" + be32(0xff0d), keyEvent{down: true, keysym: 0xff0d}},
	{"\x05\x05" + be16(7, 8), pointerEvent{5, image.Pt(7, 8)}},
	{"\x05\x81" + be16(7, 8) + "\x03", pointerEvent{0x181, image.Pt(7, 8)}},
	{"\x06\x00\x00\x00" + be32(2) + "\xe4\n", cutText{[]byte("\xe4\n")}},
	{"\x06\x00\x00\x00" + be32(0), cutText{[]byte{}}},
	{encodings(clipboardNumber, 1), nil}, // compared apart
	{"\x06\x00\x00\x00" + be32(0xfffffffc) + be32(clipPeek), clipboardMessage{[]byte(be32(clipPeek))}},
	{"\x96\x01" + be16(1, 2, 3, 4), enableContinuousUpdates{true, image.Rect(1, 2, 4, 6)}},
	{"\xf8\x00\x00\x00" + be32(fenceRequest) + "\x00", fenceMessage{flags: fenceRequest}},
	{"\xf8\x00\x00\x00" + be32(7) + "\x40" + strings.Repeat("p", 64), fenceMessage{7, []byte(strings.Repeat("p", 64))}},
	{"\xfb\x00" + be16(9, 9) + "\x00\x00", setDesktopSize{false}},
	{"\xfb\x00" + be16(9, 9) + "\x01\x00" + be32(1) + be16(0, 0, 9, 9) + be32(0), setDesktopSize{true}},
	{"\xff\x00\x00\x01" + be32(0x61, 30), keyEvent{true, 0x61, 30}},
}

func allBytes() string {
	var s strings.Builder
	for _, m := range every {
		s.WriteString(m.bytes)
	}
	return s.String()
}

// Checklist 12: a message means the same however the stream is cut.
func TestChecklist12SplitAnywhere(t *testing.T) {
	stream := allBytes()
	whole, err := parse(strings.NewReader(stream))
	if err != io.EOF || len(whole) != len(every) {
		t.Fatalf("%d messages, then %v", len(whole), err)
	}
	for i, m := range every {
		if m.want != nil && !reflect.DeepEqual(whole[i], m.want) {
			t.Errorf("message %d is %+v, want %+v", i, whole[i], m.want)
		}
	}
	if m := whole[8].(setEncodings); !m.caps.extendedClipboard || !m.caps.copyRect {
		t.Errorf("SetEncodings is %+v", m)
	}
	same := func(r io.Reader, how string) {
		if got, err := parse(r); err != io.EOF || !reflect.DeepEqual(got, whole) {
			t.Errorf("%s: other messages, then %v", how, err)
		}
	}
	same(iotest.OneByteReader(strings.NewReader(stream)), "byte by byte")
	for i := range stream {
		same(io.MultiReader(strings.NewReader(stream[:i]), strings.NewReader(stream[i:])), fmt.Sprint("cut at ", i))
	}
	// And one that ends early is no clean end, except between messages.
	at := 0
	for _, m := range every {
		for n := range len(m.bytes) {
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			if _, err := parse(strings.NewReader(stream[:at+n])); err != want {
				t.Errorf("ended %d bytes into message %q: %v, want %v", n, m.bytes[:1], err, want)
			}
		}
		at += len(m.bytes)
	}
}

// Checklist 14, 26 and 27: what is not known ends the connection.
func TestChecklist14And27UnknownTypes(t *testing.T) {
	known := map[byte]bool{0: true, 2: true, 3: true, 4: true, 5: true, 6: true, 150: true, 248: true, 251: true, 255: true}
	for kind := range 256 {
		if known[byte(kind)] {
			continue
		}
		_, err := parse(strings.NewReader(string([]byte{byte(kind)}) + strings.Repeat("\x00", 100)))
		if slip := (*ProtocolError)(nil); !errors.As(err, &slip) {
			t.Errorf("type %d: %v", kind, err)
		}
	}
	for _, sub := range []string{"\xff\x01", "\xff\x02", "\xff\xff"} {
		if _, err := parse(strings.NewReader(sub + strings.Repeat("\x00", 100))); !strings.Contains(err.Error(), "QEMU") {
			t.Errorf("QEMU message %q: %v", sub, err)
		}
	}
}

// Checklist 15: long lists, repeated and unknown numbers.
func TestChecklist15EncodingLists(t *testing.T) {
	many := make([]int32, 65535)
	for i := range many {
		many[i] = int32(i%3*100000 + 5000)
	}
	many[65534] = int32(encode.ZRLE)
	many[65533] = int32(encode.ZRLE)
	msgs, err := parse(strings.NewReader(encodings() + encodings(many...) + encodings(-32, -23, -256, -247)))
	if err != io.EOF || len(msgs) != 3 {
		t.Fatalf("%d messages, then %v", len(msgs), err)
	}
	if caps := msgs[0].(setEncodings).caps; caps != noCapabilities {
		t.Errorf("an empty list is %+v", caps)
	}
	if caps := msgs[1].(setEncodings).caps; caps.encoding != encode.ZRLE {
		t.Errorf("a full list is %+v", caps)
	}
	if caps := msgs[2].(setEncodings).caps; caps.quality != 9 || caps.level != 9 {
		t.Errorf("levels are %+v", caps)
	}
}

// Checklist 16: impossible pixel formats.
func TestChecklist16PixelFormats(t *testing.T) {
	change := func(f func(p *encode.PixelFormat)) string {
		p := encode.Native
		f(&p)
		return pixelFormat(p)
	}
	for name, msg := range map[string]string{
		"bpp 7":          change(func(p *encode.PixelFormat) { p.BitsPerPixel = 7 }),
		"bpp 0":          change(func(p *encode.PixelFormat) { p.BitsPerPixel = 0 }),
		"bpp 24":         change(func(p *encode.PixelFormat) { p.BitsPerPixel = 24 }),
		"bpp 64":         change(func(p *encode.PixelFormat) { p.BitsPerPixel = 64 }),
		"bpp 255":        change(func(p *encode.PixelFormat) { p.BitsPerPixel = 255 }),
		"depth 33":       change(func(p *encode.PixelFormat) { p.Depth = 33 }),
		"max 0":          change(func(p *encode.PixelFormat) { p.RedMax = 0 }),
		"max 100":        change(func(p *encode.PixelFormat) { p.GreenMax = 100 }),
		"shift 32":       change(func(p *encode.PixelFormat) { p.BlueShift = 32 }),
		"shift 255":      change(func(p *encode.PixelFormat) { p.BlueShift = 255 }),
		"beyond the top": change(func(p *encode.PixelFormat) { p.RedShift = 25 }),
		"overlap":        change(func(p *encode.PixelFormat) { p.RedShift = 12 }),
	} {
		_, err := parse(strings.NewReader(msg))
		if slip := (*ProtocolError)(nil); !errors.As(err, &slip) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Checklist 21: lengths of clipboard text that would hurt.
func TestChecklist21ClipboardLengths(t *testing.T) {
	const beyond = maxClipboard + 1
	for _, tt := range []struct {
		length   uint32
		extended bool
		want     any // nil: the stream ends before the text does
	}{
		{beyond, false, skipped{beyond}},
		{0x7fffffff, false, nil},
		{0x80000000, false, nil},
		{0xffffffff, false, nil},
		{0x80000000, true, nil},
		{0xffffffff, true, clipboardMessage{[]byte{0}}},
		{1<<32 - beyond, true, skipped{beyond}},
	} {
		list := encodings(1)
		if tt.extended {
			list = encodings(clipboardNumber)
		}
		head := strings.NewReader(list + "\x06\x00\x00\x00" + be32(tt.length))
		p := &parser{r: bufio.NewReaderSize(io.MultiReader(head, io.LimitReader(zeros{}, 4*maxClipboard)), 4096)}
		p.next()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := p.next()
		runtime.ReadMemStats(&after)
		wantErr := error(nil)
		if tt.want == nil {
			wantErr = io.ErrUnexpectedEOF
			got = nil
		}
		if !reflect.DeepEqual(got, tt.want) || err != wantErr {
			t.Errorf("length %#x: %+v, %v", tt.length, got, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("length %#x: %d bytes were allocated", tt.length, n)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Checklist 23: a fence's payload is bounded.
func TestChecklist23FencePayload(t *testing.T) {
	for _, n := range []int{65, 255} {
		_, err := parse(strings.NewReader("\xf8\x00\x00\x00" + be32(fenceRequest) + string([]byte{byte(n)}) + strings.Repeat("p", n)))
		if slip := (*ProtocolError)(nil); !errors.As(err, &slip) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// Checklist 25: which layouts make sense.
func TestChecklist25Layouts(t *testing.T) {
	screen := func(id uint32, x, y, w, h int) string { return be32(id) + be16(x, y, w, h) + be32(0) }
	layout := func(w, h int, screens ...string) string {
		return "\xfb\x00" + be16(w, h) + string([]byte{byte(len(screens)), 0}) + strings.Join(screens, "")
	}
	var full []string
	for i := range 255 {
		full = append(full, screen(uint32(i), i, 0, 1, 1))
	}
	for name, tt := range map[string]struct {
		msg  string
		want bool
	}{
		"one":          {layout(10, 10, screen(1, 0, 0, 10, 10)), true},
		"255":          {layout(300, 10, full...), true},
		"none":         {layout(10, 10), false},
		"0x0":          {layout(0, 0, screen(1, 0, 0, 0, 0)), false},
		"greatest":     {layout(65535, 65535, screen(1, 0, 0, 65535, 65535)), true},
		"same id":      {layout(10, 10, screen(1, 0, 0, 5, 5), screen(1, 5, 5, 5, 5)), false},
		"outside":      {layout(10, 10, screen(1, 5, 5, 6, 5)), false},
		"empty screen": {layout(10, 10, screen(1, 5, 5, 0, 5)), false},
	} {
		msgs, err := parse(strings.NewReader(tt.msg))
		if err != io.EOF || len(msgs) != 1 || msgs[0] != any(setDesktopSize{tt.want}) {
			t.Errorf("%s: %v, %v", name, msgs, err)
		}
	}
}

// Checklist 22 and 23: texts of the extended clipboard, good and bad.
func TestChecklist22Provide(t *testing.T) {
	deflated := func(finish bool, parts ...string) []byte {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		io.WriteString(z, strings.Join(parts, ""))
		if finish {
			z.Close()
		} else {
			z.Flush()
		}
		return b.Bytes()
	}
	const good = "h\u00e9 \U0001f600\r\nzwei\rdrei\x00"
	size := be32(uint32(len(good)))
	for _, finish := range []bool{true, false} {
		text, err := parseProvide(clipText|clipProvide, deflated(finish, size, good))
		if err != nil || text != "h\u00e9 \U0001f600\nzwei\ndrei" {
			t.Errorf("finished %v: %q, %v", finish, text, err)
		}
		// Another format after the text is not looked at.
		if text, err := parseProvide(clipText|2|clipProvide, deflated(finish, size, good, be32(5), "<b>x")); err != nil || text == "" {
			t.Errorf("with a second format: %q, %v", text, err)
		}
	}
	if text, err := parseProvide(clipText|clipProvide, deflated(true, be32(1), "\x00")); err != nil || text != "" {
		t.Errorf("an empty text: %q, %v", text, err)
	}
	if text, err := parseProvide(clipText|clipProvide, deflated(true, be32(3), "a\xffb")); err != nil || text != "a\ufffdb" {
		t.Errorf("no UTF-8: %q, %v", text, err)
	}
	bomb := deflated(true, be32(1<<30), strings.Repeat("\x00", 16<<20))
	for name, bad := range map[string][]byte{
		"bomb": bomb, "not zlib": []byte("hello"), "nothing": nil, "short": deflated(true, be32(10), "abc"),
		"without a length": deflated(true, "\x00\x00"), "greatest length": deflated(true, be32(0xffffffff), "abc"),
	} {
		if text, err := parseProvide(clipText|clipProvide, bad); err == nil {
			t.Errorf("%s: %q", name, text)
		}
	}
	if _, err := parseProvide(2|clipProvide, deflated(true, size, good)); err == nil {
		t.Error("a provide without text")
	}
}

// What is sent comes back as it was.
func TestProvideRoundTrip(t *testing.T) {
	for _, text := range []string{"", "a", "two\nlines\n", "\u00e9\u4e16\U0001f600", strings.Repeat("long ", 100000)} {
		msg := provide(text)
		if n := int32(binary.BigEndian.Uint32(msg[4:])); int(-n) != len(msg)-8 {
			t.Fatalf("length %d of %d", n, len(msg)-8)
		}
		got, err := parseProvide(binary.BigEndian.Uint32(msg[8:]), msg[12:])
		if err != nil || got != text {
			t.Errorf("%.20q came back as %.20q, %v", text, got, err)
		}
	}
}

func TestLatin1(t *testing.T) {
	if got := fromLatin1([]byte("a\xa0\xff\r\nb")); got != "a\u00a0\u00ff\nb" {
		t.Errorf("from Latin-1: %q", got)
	}
	if got := string(appendLatin1(nil, "\u00e9\u20ac\U0001f600\n")); got != "\xe9??\n" {
		t.Errorf("to Latin-1: %q", got)
	}
}

// FuzzMessages feeds the parser anything. It must end, and what it keeps must be
// bounded by what came.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(allBytes()))
	for _, m := range every {
		f.Add([]byte(m.bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		msgs, err := parse(bytes.NewReader(b))
		if err == nil || len(msgs) > len(b) {
			t.Fatalf("%d messages of %d bytes, %v", len(msgs), len(b), err)
		}
	})
}

// FuzzProvide feeds the clipboard's inflater anything.
func FuzzProvide(f *testing.F) {
	msg := provide("hello\nworld")
	f.Add(binary.BigEndian.Uint32(msg[8:]), msg[12:])
	f.Add(uint32(clipText|clipProvide), []byte("\x78\x9c"))
	f.Fuzz(func(t *testing.T, flags uint32, body []byte) {
		if text, err := parseProvide(flags, body); err == nil && len(text) > 3*maxClipboard {
			t.Fatalf("a text of %d bytes", len(text)) // 3: invalid bytes become U+FFFD
		}
	})
}

// FuzzVersion feeds the version line anything.
func FuzzVersion(f *testing.F) {
	for _, v := range []string{"RFB 003.008\n", "RFB 003.003\n", "RFB 003.889\n", "RFB 004.001\n", "GET / HTTP/1"} {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := agreeVersion(bytes.NewReader(b), io.Discard)
		if err == nil && v != version33 && v != version37 && v != version38 {
			t.Fatalf("%q is version %d", b, v)
		}
	})
}
