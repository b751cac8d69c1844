package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Issue 9, Done when 3: what a file is, before somebody shows it.
func TestIdentify(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"page.html": "x", "PICTURE.PNG": "x", "a b.pdf": "%PDF-1.4", "data.json": "{}", "list.xml": "<a/>", "table.csv": "a,b",
		"paper": "%PDF-1.4\n", "photo": "\x89PNG\r\n\x1a\n", "note": "hello", "empty": "", "blob": "\x00\x01\x02", "blob.qqq": "\x00\x01\x02",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := place{home: dir, dir: "/"}
	for name, want := range map[string]string{
		"page.html": "text/html", "PICTURE.PNG": "image/png", "a b.pdf": "application/pdf", "data.json": "application/json",
		"paper": "application/pdf", "photo": "image/png", "note": "text/plain", "empty": "text/plain",
		"blob": "application/octet-stream", "blob.qqq": "application/octet-stream", "": FolderType,
	} {
		got, err := identify(p, api.OpenPathRequest{Path: "~/" + name})
		if err != nil || got.Type != want || got.Path != filepath.Join(dir, name) {
			t.Errorf("%s: %+v, %v, want %s", name, got, err, want)
		}
	}
	for name, code := range map[string]api.Code{"missing.txt": api.CodeNotFound, "pipe": api.CodeUnsupported, "note/below": api.CodeNotAFolder} {
		if got, err := identify(p, api.OpenPathRequest{Path: "~/" + name}); err == nil || api.AsError(err).Code != code {
			t.Errorf("%s: %+v, %v, want %s", name, got, err, code)
		}
	}
	if _, err := acts[Identify](p, json.RawMessage(`{"path":"~/note"}`)); err != nil {
		t.Error(err)
	}
}

// What is at a path is there, whatever it is and whoever may read it.
func TestExists(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "closed"), nil, 0),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Symlink("nowhere", filepath.Join(dir, "link")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p := place{home: dir, dir: dir}
	for path, want := range map[string]bool{"~": true, "closed": true, "pipe": true, "link": true, "loop": true, "none": false, "closed/none": false, "link/none": false} {
		if got, err := lookFor(p, api.WaitRequest{Path: path}); err != nil || got != want {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if got, err := lookFor(p, api.WaitRequest{Path: "loop/none"}); err == nil || api.AsError(err).Code != api.CodeBadRequest {
		t.Errorf("a link to itself: %v, %v", got, err)
	}
}
