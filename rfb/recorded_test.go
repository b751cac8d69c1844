package rfb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hands notes keys and buttons.
type hands struct {
	deaf
	did []string
}

func (h *hands) Key(sym uint32, down bool) error {
	h.did = append(h.did, fmt.Sprintf("key %#x %v", sym, down))
	return nil
}

func (h *hands) Button(b int, down bool) error {
	h.did = append(h.did, fmt.Sprintf("button %d %v", b, down))
	return nil
}

// The viewers' own words, recorded once from programs that were watching a screen
// without a password: TigerVNC 1.12.0, gtk-vnc 1.3.1, libvncclient 0.9.14 and noVNC
// 1.7.0 in Chromium. Each watched, and most clicked and typed.
func TestRecordedViewers(t *testing.T) {
	for name, want := range map[string]struct {
		kind, encoding string
		did            []string
	}{
		"tigervnc":     {"TigerVNC", "Tight", []string{"button 1 true", "button 1 false", "key 0x71 true", "key 0x71 false"}},
		"gtk-vnc":      {"gtk-vnc", "Tight", []string{"button 1 true", "button 1 false", "key 0x71 true", "key 0x71 false"}},
		"libvncclient": {"libvncclient", "Tight", []string{"button 1 true", "button 1 false", "key 0x71 true", "key 0x71 false"}},
		"novnc":        {"noVNC", "Tight", []string{"key 0x61 true", "key 0x61 false"}},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := os.ReadFile(filepath.Join("testdata", "viewers", name+".bin"))
			if err != nil {
				t.Fatal(err)
			}
			h := new(hands)
			s := &script{Reader: bytes.NewReader(said)}
			var copied []string
			c := NewConn(s, Config{
				Screen: NewScreen(testBuffer(), "recorded"), NoAuth: true, Role: Controller, Input: h,
				SetClipboard: func(text string) { copied = append(copied, text) },
			})
			// A recording may stop within a message.
			if err := c.Run(context.Background()); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Error(err)
			}
			if got := c.Info().Kind; got != want.kind {
				t.Errorf("it was taken for %s", got)
			}
			if got := c.want.caps.encoding.String(); got != want.encoding {
				t.Errorf("it is sent %s", got)
			}
			if !slices.Equal(h.did, want.did) {
				t.Errorf("it did %v", h.did)
			}
			if name == "novnc" && !slices.ContainsFunc(copied, func(s string) bool { return strings.Contains(s, "\u00e9") }) {
				t.Errorf("it copied %q", copied)
			}
			if s.taken == 0 {
				t.Error("it was sent nothing")
			}
		})
	}
}
