package rfb

import (
	"bytes"
	"context"
	"image"
	"io"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// script is a viewer that says what it has to say and takes whatever comes.
type script struct {
	io.Reader
	taken int
}

func (s *script) Write(p []byte) (int, error) { s.taken += len(p); return len(p), nil }
func (s *script) Close() error                { return nil }

// deaf takes input and does nothing with it.
type deaf struct{}

func (deaf) Key(uint32, bool) error        { return nil }
func (deaf) Keycode(byte, bool) error      { return nil }
func (deaf) Move(int, int) error           { return nil }
func (deaf) Button(int, bool) error        { return nil }
func (deaf) Release(context.Context) error { return nil }

// testBuffer is a small screen with something on it.
func testBuffer() *frame.Buffer {
	const w, h = 40, 30
	pix := make([]uint32, w*h)
	for i := range pix {
		pix[i] = uint32(i * 77777)
	}
	b := frame.NewBuffer()
	b.Reset(w, h)
	b.Publish(pix, w, []image.Rectangle{image.Rect(0, 0, w, h)})
	b.SetCursor(frame.Cursor{Serial: 1, X: 5, Y: 5, Width: 1, Height: 1, Pix: []uint32{0xff00ff00}})
	return b
}

// FuzzConn says anything at all to a connection. It has to end, in little time and
// with an answer that is bounded by what was said.
func FuzzConn(f *testing.F) {
	const login = versionLine + "\x01" + "\x01"
	f.Add([]byte(login + allBytes()))
	f.Add([]byte("RFB 003.003\n\x01" + allBytes()))
	for _, e := range []encode.Encoding{encode.Raw, encode.Hextile, encode.Zlib, encode.Tight, encode.ZRLE} {
		f.Add([]byte(login + encodings(int32(e), 1, -224, -308, -312, -313, -23, -239) + "\x03\x00" + be16(0, 0, 40, 30) +
			pixelFormat(encode.Native) + "\x03\x01" + be16(0, 0, 40, 30) + "\x96\x01" + be16(0, 0, 40, 30)))
	}
	buffer := testBuffer()
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &script{Reader: bytes.NewReader(b)}
		c := NewConn(s, Config{Screen: NewScreen(buffer, "fuzz"), NoAuth: true, Role: Controller, Input: deaf{}, SetClipboard: func(string) {}})
		began := time.Now()
		c.Run(context.Background())
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%d bytes took %v", len(b), took)
		}
		// The whole screen in any encoding is under 16 KiB, and asking for it takes
		// 10 bytes; a message of any kind has a short answer.
		if most := 1<<12 + 1<<12*len(b); s.taken > most {
			t.Errorf("%d bytes were answered by %d", len(b), s.taken)
		}
	})
}
