package rfb_test

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// sink receives what viewers copy.
type sink chan string

func (s sink) want(t *testing.T, text string) {
	t.Helper()
	select {
	case got := <-s:
		if got != text {
			t.Fatalf("clipboard %q, want %q", got, text)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("no clipboard, want %q", text)
	}
}

func clipboardClient(t *testing.T, list ...int32) (*rfbtest.Client, sink, *canvas) {
	t.Helper()
	c, s := newCanvas(10, 10), make(sink, 10)
	client := connect(t, rfb.Config{Screen: c.screen, Role: rfb.Controller, SetClipboard: func(text string) { s <- text }}, list...)
	return client, s, c
}

// Checklist 22 and trap 22: the classic form, both ways.
func TestClipboardLatin1(t *testing.T) {
	client, s, c := clipboardClient(t)
	must(t, client.CutText([]byte("caf\xe9\r\n\xa0\xff")))
	s.want(t, "caf\u00e9\n\u00a0\u00ff")
	must(t, client.CutText(nil))
	s.want(t, "")
	c.screen.SetClipboard("na\u00efve \u20ac\n")
	if got := next[rfbtest.CutText](t, client); string(got.Text) != "na\xefve ?\n" {
		t.Errorf("got %q", got.Text)
	}
	// What a viewer has copied is not told to it again.
	must(t, client.CutText([]byte("echo")))
	s.want(t, "echo")
	c.screen.SetClipboard("echo")
	c.screen.SetClipboard("other")
	if got := next[rfbtest.CutText](t, client); string(got.Text) != "other" {
		t.Errorf("got %q", got.Text)
	}
}

// Checklist 22: the extended form as noVNC uses it. Text is announced and fetched.
func TestChecklist22ExtendedClipboard(t *testing.T) {
	const text = "\u4e16\u754c \U0001f600\nsecond line"
	client, s, c := clipboardClient(t, rfbtest.ExtendedClipboard)
	caps := next[*rfbtest.Clip](t, client)
	if caps.Flags&0x1f000000 != 0x1f000000 || len(caps.Sizes) != 1 || caps.Sizes[0] != 0 {
		t.Errorf("capabilities %+v", caps)
	}
	// noVNC wants nothing that it did not ask for.
	actions := rfbtest.ClipCaps | rfbtest.ClipRequest | rfbtest.ClipPeek | rfbtest.ClipNotify | rfbtest.ClipProvide
	must(t, client.Clipboard(actions|rfbtest.ClipText, []byte{0, 0, 0, 0}))
	must(t, client.Clipboard(rfbtest.ClipPeek, nil))
	if got := next[*rfbtest.Clip](t, client); got.Flags != rfbtest.ClipNotify {
		t.Errorf("peek into nothing: %#x", got.Flags)
	}
	c.screen.SetClipboard(text)
	if got := next[*rfbtest.Clip](t, client); got.Flags != rfbtest.ClipNotify|rfbtest.ClipText {
		t.Errorf("notify: %#x", got.Flags)
	}
	must(t, client.Clipboard(rfbtest.ClipRequest|rfbtest.ClipText, nil))
	if got := next[*rfbtest.Clip](t, client); strings.ReplaceAll(got.Text, "\r\n", "\n") != text {
		t.Errorf("provide: %q", got.Text)
	}
	must(t, client.Clipboard(rfbtest.ClipPeek, nil))
	if got := next[*rfbtest.Clip](t, client); got.Flags != rfbtest.ClipNotify|rfbtest.ClipText {
		t.Errorf("peek: %#x", got.Flags)
	}
	// The other way: notify, request, provide.
	must(t, client.Clipboard(rfbtest.ClipNotify|rfbtest.ClipText, nil))
	if got := next[*rfbtest.Clip](t, client); got.Flags != rfbtest.ClipRequest|rfbtest.ClipText {
		t.Errorf("request: %#x", got.Flags)
	}
	for _, finish := range []bool{true, false} {
		must(t, client.Provide("a\r\nb \U0001f600", finish))
		s.want(t, "a\nb \U0001f600")
	}
	// A viewer that wants text at once gets it at once.
	must(t, client.Clipboard(actions|rfbtest.ClipText, []byte{0, 16, 0, 0}))
	must(t, client.Clipboard(rfbtest.ClipPeek, nil)) // in step
	next[*rfbtest.Clip](t, client)
	c.screen.SetClipboard("at once")
	if got := next[*rfbtest.Clip](t, client); got.Text != "at once" {
		t.Errorf("got %+v", got)
	}
	// Listed again, told again.
	must(t, client.SetEncodings(rfbtest.ExtendedClipboard))
	if got := next[*rfbtest.Clip](t, client); got.Flags&rfbtest.ClipCaps == 0 {
		t.Errorf("got %+v", got)
	}
}

// Checklist 22: what cannot be understood is passed over, and the connection lives.
func TestChecklist22BadMessages(t *testing.T) {
	client, s, _ := clipboardClient(t, rfbtest.ExtendedClipboard)
	next[*rfbtest.Clip](t, client)
	var sizes [64]byte
	must(t, client.Clipboard(rfbtest.ClipCaps|0xffff, sizes[:]))
	must(t, client.Clipboard(rfbtest.ClipCaps|rfbtest.ClipText, nil)) // without the size
	must(t, client.Clipboard(rfbtest.ClipNotify|rfbtest.ClipPeek|rfbtest.ClipText, nil))
	must(t, client.Clipboard(rfbtest.ClipProvide|2, []byte("x")))
	must(t, client.Clipboard(rfbtest.ClipProvide|rfbtest.ClipText, []byte("x")))
	must(t, client.Clipboard(0, nil))
	must(t, client.Send([]byte{6, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 7})) // one byte of flags
	must(t, client.Provide("still alive", true))
	s.want(t, "still alive")
}

// Checklist 23: text that is too long is dropped on both sides.
func TestChecklist23LongText(t *testing.T) {
	client, s, c := clipboardClient(t)
	long := bytes.Repeat([]byte("x"), 1<<20+1)
	must(t, client.CutText(long))
	must(t, client.CutText(long[1:]))
	s.want(t, string(long[1:]))
	c.screen.SetClipboard(string(long))
	c.screen.SetClipboard("short")
	if got := next[rfbtest.CutText](t, client); string(got.Text) != "short" {
		t.Errorf("got %d bytes", len(got.Text))
	}
}

// Checklist 21: a text that never comes ends the connection, not the memory.
func TestChecklist21SilenceInText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(10, 10)
		client, conn := connectConn(t, rfb.Config{Screen: c.screen, Role: rfb.Controller})
		must(t, client.Send(binary.BigEndian.AppendUint32([]byte{6, 0, 0, 0}, 0x7fffffff)))
		began := time.Now()
		<-conn.ended
		if took := time.Since(began); conn.err != rfb.ErrTimeout || took > time.Minute {
			t.Errorf("%v after %v", conn.err, took)
		}
	})
}

// Checklist 61: the log holds neither passwords nor what was copied.
func TestChecklist61Log(t *testing.T) {
	var log bytes.Buffer
	c := newCanvas(10, 10)
	cfg := rfb.Config{
		Screen: c.screen, Role: rfb.Controller, Password: "PassWord", SetClipboard: func(string) {},
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	client, conn := connectConn(t, cfg, rfbtest.ExtendedClipboard)
	must(t, client.CutText([]byte("ClipText")))
	must(t, client.Provide("ClipText", true))
	must(t, client.Clipboard(rfbtest.ClipProvide|rfbtest.ClipText, []byte("ClipText")))
	must(t, client.CutText(bytes.Repeat([]byte("ClipText"), 1<<18)))
	must(t, client.Send([]byte{99}))
	client.Next()
	client.Close()
	<-conn.ended
	if s := log.String(); s == "" || strings.Contains(s, "PassWord") || strings.Contains(s, "ClipText") {
		t.Errorf("log: %s", s)
	}
}
