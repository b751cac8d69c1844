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
