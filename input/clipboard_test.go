package input

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func openClipboard(t testing.TB, s *xvfbtest.Server, name string) *Clipboard {
	t.Helper()
	conn, err := x11.Dial(s.Display, s.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	c, err := NewClipboard(conn, name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return c
}

// xclipIn has xclip own a selection with this content; it returns when it does. The process ends
// when another program takes the selection.
func xclipIn(t testing.TB, s *xvfbtest.Server, c *Clipboard, content string, args ...string) *exec.Cmd {
	t.Helper()
	seen, _ := c.selection.Changed()
	cmd := s.Command("xclip", append([]string{"-i", "-quiet", "-selection", "clipboard"}, args...)...)
	cmd.Stdin = strings.NewReader(content)
	start(t, cmd)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.Wait(ctx, seen); err != nil {
		t.Fatalf("xclip did not take the selection: %v", err)
	}
	return cmd
}

func xclipOut(t testing.TB, s *xvfbtest.Server, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := s.Command("xclip", append([]string{"-o", "-selection", "clipboard"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	kill := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer kill()
	if err := cmd.Run(); err != nil {
		t.Errorf("xclip -o %q: %v %s", args, err, errs.Bytes())
	}
	return out.String()
}

var clipTexts = map[string]string{
	"one":     "x",
	"unicode": "をゆ 测试 Привет € 👩‍👩‍👧 e\u0301",
	"lines":   "a\r\nb\nc\td\n\n",
	"options": "--help -n $(id)",
	"64 KiB":  strings.Repeat("é", selectionPiece/2),
	"more":    strings.Repeat("é", selectionPiece/2) + "x",
	"1 MiB":   strings.Repeat("Привет € 👍 ", 1<<20/24),
}

const selectionPiece = 64 << 10

func TestClipboard(t *testing.T) {
	xvfbtest.Need(t, "xclip")
	s := xvfbtest.Start(t, xvfbtest.Options{})
	c := openClipboard(t, s, "CLIPBOARD")
	if text, err := c.Get(t.Context()); text != "" || err != nil {
		t.Errorf("an empty clipboard gave %q, %v", text, err)
	}
	for name, text := range clipTexts {
		t.Run(name, func(t *testing.T) {
			if err := c.Set(text); err != nil {
				t.Fatal(err)
			}
			if got, err := c.Get(t.Context()); got != text || err != nil {
				t.Errorf("what was set came back as %d bytes, not %d: %v", len(got), len(text), err)
			}
			if got := xclipOut(t, s, "-t", "UTF8_STRING"); got != text {
				t.Errorf("xclip got %d bytes, not %d", len(got), len(text))
			}
			xclipIn(t, s, c, text)
			if got, err := c.Get(t.Context()); got != text || err != nil {
				t.Errorf("what xclip set came as %d bytes, not %d: %v", len(got), len(text), err)
			}
		})
	}
}

func TestClipboardForms(t *testing.T) {
	xvfbtest.Need(t, "xclip")
	s := xvfbtest.Start(t, xvfbtest.Options{})
	c := openClipboard(t, s, "CLIPBOARD")
	if err := c.Set("é€"); err != nil {
		t.Fatal(err)
	}
	if got := xclipOut(t, s, "-t", "TARGETS"); !strings.Contains(got, "UTF8_STRING\n") || !strings.Contains(got, "STRING") {
		t.Errorf("targets: %q", got)
	}
	for form, want := range map[string]string{
		"STRING": "\xe9?", "TEXT": "é€", "UTF8_STRING": "é€", "text/plain;charset=utf-8": "é€",
	} {
		if got := xclipOut(t, s, "-t", form); got != want {
			t.Errorf("%s: got %q, want %q", form, got, want)
		}
	}
	if err := s.Command("xclip", "-o", "-selection", "clipboard", "-t", "image/png").Run(); err == nil {
		t.Error("text was given as an image")
	}

	xclipIn(t, s, c, "\x89PNG", "-t", "image/png")
	if text, err := c.Get(t.Context()); !errors.Is(err, x11.ErrNoText) {
		t.Errorf("an image is the text %q, %v", text, err)
	}
	xclipIn(t, s, c, "caf\xe9", "-t", "STRING")
	if text, err := c.Get(t.Context()); text != "café" || err != nil {
		t.Errorf("Latin-1 is the text %q, %v", text, err)
	}
}

func TestClipboardTooLarge(t *testing.T) {
	xvfbtest.Need(t, "xclip")
	s := xvfbtest.Start(t, xvfbtest.Options{})
	c := openClipboard(t, s, "CLIPBOARD")
	large := strings.Repeat("x", MaxClipboard+1)
	if err := c.Set(large); !errors.Is(err, x11.ErrTooLarge) {
		t.Errorf("Set: %v, want ErrTooLarge", err)
	}
	xclipIn(t, s, c, large)
	if text, err := c.Get(t.Context()); !errors.Is(err, x11.ErrTooLarge) {
		t.Errorf("Get: %d bytes, %v, want ErrTooLarge", len(text), err)
	}
	// What is left of the large text must not spoil the next one.
	if err := c.Set("small"); err != nil {
		t.Fatal(err)
	}
	xclipIn(t, s, c, "other")
	if text, err := c.Get(t.Context()); text != "other" || err != nil {
		t.Errorf("afterwards: %q, %v", text, err)
	}
}

func TestClipboardOwnerDies(t *testing.T) {
	xvfbtest.Need(t, "xclip")
	s := xvfbtest.Start(t, xvfbtest.Options{})
	c := openClipboard(t, s, "CLIPBOARD")
	owner := xclipIn(t, s, c, "here")
	seen, _ := c.selection.Changed()
	owner.Process.Kill()
	if _, err := c.Wait(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	if text, err := c.Get(t.Context()); text != "" || err != nil {
		t.Errorf("after its owner died the clipboard is %q, %v", text, err)
	}
}

// An owner that stops answering costs Get a few seconds, one that dies meanwhile less.
func TestClipboardOwnerHangs(t *testing.T) {
	xvfbtest.Need(t, "xclip")
	s := xvfbtest.Start(t, xvfbtest.Options{})
	c := openClipboard(t, s, "CLIPBOARD")
	owner := xclipIn(t, s, c, "here")
	stop(t, owner.Process.Pid)
	hanging := owner.Process
	time.AfterFunc(50*time.Millisecond, func() { hanging.Kill() })
	if _, err := c.Get(t.Context()); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("Get from an owner that hung and died: %v", err)
	}
	owner = xclipIn(t, s, c, "here")
	stop(t, owner.Process.Pid)
	if _, err := c.Get(t.Context()); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("Get from an owner that hangs: %v", err)
	}
	if err := c.Set("mine"); err != nil {
		t.Error(err)
	}
}

func TestClipboardWait(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{})
	c, other := openClipboard(t, s, "CLIPBOARD"), openClipboard(t, s, "CLIPBOARD")
	var seen uint64
	for _, text := range []string{"a", "a", ""} {
		if err := c.Set(text); err != nil {
			t.Fatal(err)
		}
		var err error
		if seen, err = other.Wait(t.Context(), seen); err != nil {
			t.Fatal(err)
		}
		if got, err := other.Get(t.Context()); got != text || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := other.Wait(ctx, seen); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait without a change: %v", err)
	}
	s.Kill()
	if _, err := other.Wait(t.Context(), seen); !errors.Is(err, x11.ErrClosed) {
		t.Errorf("Wait without an X server: %v", err)
	}
}

// Typing must leave both selections alone, and they each other.
func TestTypingLeavesClipboard(t *testing.T) {
	d, s := openDevice(t, "us")
	term := openTerminal(t, s)
	clipboard, primary := openClipboard(t, s, "CLIPBOARD"), openClipboard(t, s, "PRIMARY")
	clipboard.Set("copied")
	primary.Set("marked")
	text := mixed(300)
	if err := d.NewHolder().Type(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	term.expect(text)
	for want, c := range map[string]*Clipboard{"copied": clipboard, "marked": primary} {
		if got, err := c.Get(t.Context()); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
