package session

import (
	"context"
	"image"
	"slices"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

// fakeBrowser notes what it is to open, and shows it.
type fakeBrowser struct {
	screen *fakeScreen
	opened []string
}

func (b *fakeBrowser) Open(_ context.Context, address string) error {
	b.opened = append(b.opened, address)
	b.screen.paint(image.Rect(0, 0, 100, 100), uint32(len(b.opened)))
	return nil
}

func (b *fakeBrowser) Busy() bool                               { return false }
func (b *fakeBrowser) DevTools(context.Context) (string, error) { return "http://127.0.0.1:1", nil }
func (b *fakeBrowser) TakeNotes() []string                      { return nil }
func (b *fakeBrowser) Close(context.Context) error              { return nil }
func (b *fakeBrowser) Page(context.Context, int) (api.PageText, error) {
	return api.PageText{}, nil
}

// withBrowser runs a test with a session whose screen has a browser.
func withBrowser(t *testing.T, f func(t *testing.T, s *Session, b *fakeBrowser)) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		b := &fakeBrowser{screen: screen}
		s.Desktop().browser = b
		f(t, s, b)
	})
}

// S0-188, S0-190, S0-192: every way to name an address leads to the browser, past one check,
// and the answer is the screen after it.
func TestAddresses(t *testing.T) {
	withBrowser(t, func(t *testing.T, s *Session, b *fakeBrowser) {
		const address, checked = "HTTP://host/a b", "http://host/a%20b"
		o, images, err := s.OpenPath(t.Context(), api.OpenPathRequest{Path: address})
		if err != nil || len(images) != 1 || o.Image.State != api.ImageSent {
			t.Errorf("%+v, %v", o, err)
		}
		if kind, _ := s.Desktop().LastAction(); kind != "open_path" {
			t.Errorf("the last action is %q", kind)
		}
		if _, _, err := s.LaunchApp(t.Context(), api.LaunchAppRequest{Application: "Chromium", URI: address}); err != nil {
			t.Error(err)
		}
		act(t, s, `[{"kind":"focus","application":"browser","uri":"`+address+`"}]`)
		if err := s.table.Browse(t.Context(), "/nowhere", address); err != nil {
			t.Error(err)
		}
		if want := []string{checked, checked, checked, checked}; !slices.Equal(b.opened, want) {
			t.Errorf("opened %q", b.opened)
		}
		b.opened = nil
		for _, bad := range []string{"javascript:alert(1)", "data:text/html,x", "chrome://settings", "http:///x"} {
			_, _, err := s.OpenPath(t.Context(), api.OpenPathRequest{Path: bad})
			wantCode(t, err, api.CodeBadRequest)
			_, _, err = s.LaunchApp(t.Context(), api.LaunchAppRequest{Application: "browser", URI: bad})
			wantCode(t, err, api.CodeBadRequest)
			_, _, err = s.Act(t.Context(), actRequest(t, `[{"kind":"focus","application":"browser","uri":"`+bad+`"}]`), nil)
			wantCode(t, err, api.CodeBadRequest)
			wantCode(t, s.table.Browse(t.Context(), "/nowhere", bad), api.CodeBadRequest)
		}
		// S0-199: only the screen's own programs open its browser.
		for _, stranger := range []string{"", "/elsewhere", "/nowhere/"} {
			wantCode(t, s.table.Browse(t.Context(), stranger, address), api.CodePermissionDenied)
		}
		if len(b.opened) > 0 {
			t.Errorf("opened %q", b.opened)
		}
		if err := s.table.Browse(t.Context(), "/nowhere", ""); err != nil || !slices.Equal(b.opened, []string{""}) {
			t.Errorf("raised %q, %v", b.opened, err)
		}
	})
}

// A program in a full home fails without saying why, so we do, whether it failed or not.
func TestFullDisk(t *testing.T) {
	withBrowser(t, func(t *testing.T, s *Session, b *fakeBrowser) {
		const says = "The disk of the home folder is full (3.0 MB are free)"
		for _, free := range []uint64{3_000_000, 1 << 30} {
			s.table.freeSpace = func(string) (uint64, error) { return free, nil }
			full := free < lowSpace
			o, _, err := s.LaunchApp(t.Context(), api.LaunchAppRequest{Application: "browser"})
			if err != nil || strings.Contains(strings.Join(o.Notes, " "), says) != full {
				t.Errorf("%d bytes free: %q, %v", free, o.Notes, err)
			}
			_, _, err = s.LaunchApp(t.Context(), api.LaunchAppRequest{Application: "no-such-program"})
			if e := api.AsError(err); err == nil || strings.Contains(e.Fix, says) != full {
				t.Errorf("%d bytes free: %v", free, err)
			}
		}
	})
	if free, err := freeSpace(t.TempDir()); err != nil || free == 0 {
		t.Errorf("%d bytes, %v", free, err)
	}
}

// What needs a browser says so where there is none.
func TestWithoutBrowser(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, _ *fakeScreen) {
		_, _, err := s.OpenPath(t.Context(), api.OpenPathRequest{Path: "http://host/"})
		wantCode(t, err, api.CodeUnsupported)
		_, err = s.StartDevTools(t.Context(), api.StartDevToolsRequest{})
		wantCode(t, err, api.CodeUnsupported)
		if got, err := s.StopDevTools(t.Context(), struct{}{}); err != nil || got.Stopped {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// Issue 9, Done when 3: what cannot be opened is told with what is missing.
func TestNoApplication(t *testing.T) {
	for mimeType, want := range map[string]struct {
		code api.Code
		fix  string
	}{
		"application/vnd.oasis.opendocument.text":                                   {api.CodeUnsupported, "libreoffice-writer"},
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         {api.CodeUnsupported, "libreoffice-calc"},
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": {api.CodeUnsupported, "libreoffice-impress"},
		"application/octet-stream":                                                  {api.CodeUnsupported, "launch_app"},
		files.FolderType:                                                            {api.CodeIsAFolder, "list_files"},
	} {
		e := wantCode(t, noApplication(files.Identity{Path: "/home/a b", Type: mimeType}), want.code)
		if !strings.Contains(e.Message, `"/home/a b"`) || !strings.Contains(e.Fix, want.fix) {
			t.Errorf("%s: %v", mimeType, e)
		}
	}
}
