package files

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/private"
	"github.com/falleng0d/computer-use-mcp/transfer"
)

func noProgress(api.Progress) {}

// unread is an archive that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the archive was read")
	return 0, io.EOF
}

// S0-119, S0-122, S0-125: an archive goes through children both ways, compressed or not.
func TestPutAndGet(t *testing.T) {
	b := newBench(t)
	b.file("from/a.txt", "text")
	b.file("from/sub/large", strings.Repeat("large ", 100_000))
	for _, compress := range []bool{false, true} {
		var archive bytes.Buffer
		if err := b.Get(t.Context(), b.home, api.GetArchiveRequest{Path: "from", Compress: compress}, &archive); err != nil {
			t.Fatal(err)
		}
		if small := archive.Len() < 100_000; small != compress {
			t.Errorf("compress %v: %d bytes", compress, archive.Len())
		}
		r, err := b.Put(t.Context(), filepath.Join(b.home, "from"), api.PutArchiveRequest{
			Path: "../to", Name: []byte("from"), Folder: true, Compress: compress, Overwrite: compress, Verify: true,
		}, &archive, noProgress)
		if err != nil || r.Path != filepath.Join(b.home, "to")+map[bool]string{true: "/from"}[compress] || r.Files != 2 || r.Folders != 2 || !r.Verified {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for _, dir := range []string{"to", "to/from"} {
		if b.content(dir+"/a.txt") != "text" || b.content(dir+"/sub/large") != b.content("from/sub/large") {
			t.Errorf("%s differs", dir)
		}
	}
}

// A copy of home, or of what home is in, leaves out the daemon's own folder, which
// programs cannot read, and says so. A folder of that name elsewhere is like any other.
func TestGetLeavesOutThePrivateFolder(t *testing.T) {
	b := newBench(t)
	b.file("notes", "text")
	b.file("work/"+private.Folder+"/theirs", "text")
	b.file(private.Folder+"/viewer-key", "secret")
	if err := os.Chmod(filepath.Join(b.home, private.Folder), 0); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(b.home), link); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(b.home)
	for from, skipped := range map[string]string{
		"~":      name + "/" + private.Folder,
		link:     "link/" + name + "/" + private.Folder,
		"~/work": "",
	} {
		var archive bytes.Buffer
		if err := b.Get(t.Context(), b.home, api.GetArchiveRequest{Path: from}, &archive); err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		a, err := transfer.NewArchive(&archive)
		if err != nil {
			t.Fatal(err)
		}
		to, err := transfer.Aim(transfer.Host, filepath.Join(t.TempDir(), "copy"), a.Origin, transfer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := to.Unpack(t.Context(), a, func(transfer.Progress) {})
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		got := ""
		for _, s := range r.Skipped {
			got += s.Path
		}
		if got != skipped {
			t.Errorf("%s: skipped %q, want %q", from, got, skipped)
		}
	}
}

// S0-139: a refusal comes before the archive is read.
func TestPutRefuses(t *testing.T) {
	b := newBench(t)
	b.file("there", "x")
	for path, want := range map[string]api.Code{"there": api.CodeExists, "~": api.CodeExists, "there/x": api.CodeNotAFolder, "new/": api.CodeNotFound, "": api.CodeBadRequest} {
		_, err := b.Put(t.Context(), b.home, api.PutArchiveRequest{Path: path, Name: []byte("there")}, unread{t}, noProgress)
		if e := api.AsError(err); err == nil || e.Code != want {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	for _, name := range []string{"", "a/b", "..", "\x00"} {
		if _, err := b.Put(t.Context(), b.home, api.PutArchiveRequest{Path: "new", Name: []byte(name)}, unread{t}, noProgress); api.AsError(err).Code != api.CodeBadRequest {
			t.Errorf("name %q: %v", name, err)
		}
	}
	var out bytes.Buffer
	if err := b.Get(t.Context(), b.home, api.GetArchiveRequest{Path: "missing"}, &out); api.AsError(err).Code != api.CodeNotFound || out.Len() > 0 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
}

// S0-140, S0-141: a call that ends, also with a reason of its own, returns at once and
// leaves nothing, although the archive goes on.
func TestPutIsCancelled(t *testing.T) {
	b := newBench(t)
	b.file("from", strings.Repeat("x", 1<<20))
	var archive bytes.Buffer
	if err := b.Get(t.Context(), b.home, api.GetArchiveRequest{Path: "from"}, &archive); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.home, "to"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, cause := range []error{nil, api.Errorf(api.CodeSessionEnded, "It ended.")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		in, feed := io.Pipe()
		go func() {
			feed.Write(archive.Bytes()[:archive.Len()/2])
			cancel(cause)
		}()
		_, err := b.Put(ctx, b.home, api.PutArchiveRequest{Path: "to", Name: []byte("from")}, in, noProgress)
		feed.Close()
		want := api.CodeCanceled
		if cause != nil {
			want = api.CodeSessionEnded
		}
		if e := api.AsError(err); e.Code != want {
			t.Errorf("%s: %v, want %s", e.Code, err, want)
		}
		if entries, err := os.ReadDir(filepath.Join(b.home, "to")); err != nil || len(entries) != 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	}
}
