package transfer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/treetest"
)

func ignore(Progress) {}

// pack returns the archive of a file or folder.
func pack(t testing.TB, path string) []byte {
	t.Helper()
	source, err := Open(Host, path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var b bytes.Buffer
	if err := source.Pack(context.Background(), &b, ignore); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpack unpacks an archive as a whole transfer does.
func unpack(archive io.Reader, path string, o Options) (api.TransferResult, error) {
	a, err := NewArchive(archive)
	if err != nil {
		return api.TransferResult{}, err
	}
	target, err := Aim(Computer, path, a.Origin, o)
	if err != nil {
		return api.TransferResult{}, err
	}
	return target.Unpack(context.Background(), a, ignore)
}

// send copies a file or folder that must arrive.
func send(t testing.TB, from, to string, o Options) api.TransferResult {
	t.Helper()
	r, err := unpack(bytes.NewReader(pack(t, from)), to, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused copies what must be refused with a code.
func refused(t testing.TB, code api.Code, from, to string, o Options) *api.Error {
	t.Helper()
	before := treetest.List(t, filepath.Dir(to))
	_, err := unpack(bytes.NewReader(pack(t, from)), to, o)
	e := api.AsError(err)
	if err == nil || e.Code != code || e.Fix == "" {
		t.Fatalf("%s to %s: %v (%s), want code %s", from, to, err, e.Code, code)
	}
	if after := treetest.List(t, filepath.Dir(to)); after != before {
		t.Errorf("a refusal changed\n%s\nto\n%s", before, after)
	}
	return e
}

// tree makes files under a folder: a name that ends in / is a folder, a content that
// begins with "-> " a link, with "#!" an executable.
func tree(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		to, link := strings.CutPrefix(content, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(to, path)
		case strings.HasPrefix(content, "#!"):
			err = os.WriteFile(path, []byte(content), 0o755)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// random returns bytes that do not compress and that only this seed gives.
func random(seed, n int) string {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return string(b)
}

// S0-119, S0-123, S0-124, S0-136: folders keep contents, empty folders, executable bits
// and links, and the result counts them.
func TestCopyFolder(t *testing.T) {
	from := tree(t, filepath.Join(t.TempDir(), "source"), map[string]string{
		"a.txt": "text", "empty": "", "run.sh": "#!/bin/sh\n", "binary": random(1, 1000),
		"large": random(2, 3*bufferSize+17), "exact": random(3, bufferSize), "none/": "", "deep/er/est/": "",
		"deep/er/file": "x", "deep-er": "sorted between deep and deep/", "deep.er": "too",
	})
	files, links := 9, 0
	if runtime.GOOS != "windows" {
		tree(t, from, map[string]string{
			"relative": "-> a.txt", "absolute": "-> /etc/hostname", "dangling": "-> nowhere/at all",
			"loop": "-> loop", "up": "-> ../../..", "to-folder": "-> deep",
		})
		links = 6
	}
	to := filepath.Join(t.TempDir(), "copy")
	r := send(t, from, to, Options{})
	if got, want := treetest.List(t, to), treetest.List(t, from); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	bytes := int64(4 + 10 + 1000 + 3*bufferSize + 17 + bufferSize + 1 + 29 + 3)
	if r.Path != to || r.Files != files || r.Folders != 5 || r.Links != links || r.Bytes != bytes || !strings.HasPrefix(r.Checksum, "crc32c:") || r.SkippedTotal != 0 {
		t.Errorf("%+v, want %d bytes", r, bytes)
	}
}

// S0-125: the size of a file makes no difference to the memory that a copy takes.
func TestMemory(t *testing.T) {
	from := filepath.Join(t.TempDir(), "file")
	allocated := func(size int) uint64 {
		if err := os.WriteFile(from, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		source, err := Open(Host, from)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, w := io.Pipe()
		go func() { w.CloseWithError(source.Pack(context.Background(), w, ignore)) }()
		_, err = unpack(r, filepath.Join(t.TempDir(), "copy"), Options{})
		_, end := io.Copy(io.Discard, r)
		if err := errors.Join(err, end); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := allocated(1<<20), allocated(64<<20); large > small+4<<20 {
		t.Errorf("a copy of 1 MB takes %d bytes of memory, one of 64 MB %d", small, large)
	}
}
