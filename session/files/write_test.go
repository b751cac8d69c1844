package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// S0-115, S0-116: a file is made with the folders above it, and replaced as a whole.
func TestWrite(t *testing.T) {
	b := newBench(t)
	r := do[api.WriteFileResult](b, Write, api.WriteFileRequest{Path: "a/b/c.txt", Content: "ÆØÅ\n"})
	if !r.Created || r.Bytes != 7 || r.Path != filepath.Join(b.home, "a/b/c.txt") || b.content("a/b/c.txt") != "ÆØÅ\n" {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(r.Path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	r = do[api.WriteFileResult](b, Write, api.WriteFileRequest{Path: "a/b/c.txt", Content: ""})
	if r.Created || b.content("a/b/c.txt") != "" {
		t.Errorf("%+v", r)
	}
	b.refused(api.CodeNotAFolder, Write, api.WriteFileRequest{Path: "a/b/c.txt/d", Content: "x"})
	b.refused(api.CodeTooLarge, Write, api.WriteFileRequest{Path: "large", Content: strings.Repeat("x", api.MaxWriteFile+1)})
	do[api.WriteFileResult](b, Write, api.WriteFileRequest{Path: "large", Content: strings.Repeat("x", api.MaxWriteFile)})
}

// S0-117: mode and owner stay, and nobody sees a part of the new content.
func TestWriteKeepsModeAndOwner(t *testing.T) {
	b := newBench(t)
	path := b.file("script", "old")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 12345, 23456); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	do[api.WriteFileResult](b, Write, api.WriteFileRequest{Path: "script", Content: "new content"})
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if after.Mode() != before.Mode() || was.Uid != is.Uid || was.Gid != is.Gid || was.Ino == is.Ino {
		t.Errorf("before %v %d:%d, after %v %d:%d", before.Mode(), was.Uid, was.Gid, after.Mode(), is.Uid, is.Gid)
	}
	old := make([]byte, 10)
	if n, _ := reader.Read(old); string(old[:n]) != "old" {
		t.Errorf("who had the file open sees %q", old[:n])
	}
	if entries, _ := os.ReadDir(b.home); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// A file of /proc is written though no other can be made beside it.
func TestWriteIntoProc(t *testing.T) {
	b := newBench(t)
	r := do[api.WriteFileResult](b, Write, api.WriteFileRequest{Path: "/proc/self/comm", Content: "written"})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "in place") {
		t.Errorf("%+v", r)
	}
	b.refused(api.CodeNotFound, Write, api.WriteFileRequest{Path: "/proc/self/nothing", Content: "x"})
}

// S0-118: a folder is refused, and stays.
func TestWriteRefusesFolders(t *testing.T) {
	b := newBench(t)
	b.file("folder/a", "x")
	b.refused(api.CodeIsAFolder, Write, api.WriteFileRequest{Path: "folder", Content: "x"})
	b.refused(api.CodeIsAFolder, Write, api.WriteFileRequest{Path: "/", Content: "x"})
	if b.content("folder/a") != "x" {
		t.Error("the folder changed")
	}
}

// A link stays a link, also one that leads nowhere yet; a circle is refused.
func TestWriteThroughLinks(t *testing.T) {
	b := newBench(t)
	b.file("real/file", "old")
	os.Symlink("real", filepath.Join(b.home, "dir"))
	os.Symlink("../real/file", filepath.Join(b.home, "real/up"))
	os.Symlink("dir/up", filepath.Join(b.home, "link"))
	os.Symlink("real/new", filepath.Join(b.home, "dangling"))
	os.Symlink("circle", filepath.Join(b.home, "circle"))
	r := do[api.WriteFileResult](b, Write, api.WriteFileRequest{Path: "link", Content: "new"})
	if b.content("real/file") != "new" || r.Created || r.Path != filepath.Join(b.home, "real/file") {
		t.Errorf("%+v, %q", r, b.content("real/file"))
	}
	if r := do[api.WriteFileResult](b, Write, api.WriteFileRequest{Path: "dangling", Content: "made"}); !r.Created || b.content("real/new") != "made" {
		t.Errorf("%+v", r)
	}
	b.refused(api.CodeBadRequest, Write, api.WriteFileRequest{Path: "circle", Content: "x"})
	for _, name := range []string{"link", "dangling", "real/up", "circle"} {
		if info, err := os.Lstat(filepath.Join(b.home, name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", name)
		}
	}
}

func TestEdit(t *testing.T) {
	b := newBench(t)
	b.file("a", "one\ntwo\ntwo and a half\nÆØÅ\r\n")
	r := do[api.EditFileResult](b, Edit, api.EditFileRequest{Path: "a", OldText: "two and", NewText: "2 &"})
	if r.Replaced != 1 || r.Lines[0] != 3 || b.content("a") != "one\ntwo\n2 & a half\nÆØÅ\r\n" || r.Bytes != len(b.content("a")) {
		t.Errorf("%+v, %q", r, b.content("a"))
	}
	r = do[api.EditFileResult](b, Edit, api.EditFileRequest{Path: "a", OldText: "o", NewText: "00", All: true})
	if r.Replaced != 2 || fmt.Sprint(r.Lines) != "[1 2]" || b.content("a") != "00ne\ntw00\n2 & a half\nÆØÅ\r\n" {
		t.Errorf("%+v, %q", r, b.content("a"))
	}
	do[api.EditFileResult](b, Edit, api.EditFileRequest{Path: "a", OldText: "\n2 & a half", NewText: ""})
	if b.content("a") != "00ne\ntw00\nÆØÅ\r\n" {
		t.Errorf("%q", b.content("a"))
	}
}

// An edit that is not clear changes nothing and says what is in the way.
func TestEditRefusals(t *testing.T) {
	b := newBench(t)
	const text = "func a() {\n\treturn 1\n}\nfunc b() {\n\treturn 1\n}\n"
	b.file("a.go", text)
	e := b.refused(api.CodeBadRequest, Edit, api.EditFileRequest{Path: "a.go", OldText: "return 1", NewText: "x"})
	if !strings.Contains(e.Message, "2 places") || !strings.Contains(e.Message, "2, 5") {
		t.Errorf("%v", e)
	}
	for _, c := range []struct{ name, text, old, hint string }{
		{"absent", text, "nothing like it", "read_file"},
		{"white space", text, "func b() {\n    return 1\n}", "Line 4"},
		{"case", text, "FUNC B", "Line 4"},
		{"line ends", "one\r\ntwo\r\n", "one\ntwo", "CR LF"},
	} {
		b.file("f", c.text)
		if e := b.refused(api.CodeNotFound, Edit, api.EditFileRequest{Path: "f", OldText: c.old, NewText: "x"}); !strings.Contains(e.Fix, c.hint) {
			t.Errorf("%s: %v", c.name, e)
		}
		if b.content("f") != c.text {
			t.Errorf("%s: the file changed", c.name)
		}
	}
	for text, want := range map[string]string{"aXbXc\nXd\n": ", in the lines 1, 2.", "XX": ", in line 1."} {
		b.file("f", text)
		if e := b.refused(api.CodeBadRequest, Edit, api.EditFileRequest{Path: "f", OldText: "X", NewText: "x"}); !strings.HasSuffix(e.Message, want) {
			t.Errorf("%q: %v, want the end %q", text, e, want)
		}
	}
	b.file("latin", "caf\xe9")
	b.refused(api.CodeUnsupported, Edit, api.EditFileRequest{Path: "latin", OldText: "caf", NewText: "x"})
	b.refused(api.CodeBadRequest, Edit, api.EditFileRequest{Path: "a.go", OldText: "", NewText: "x"})
	b.refused(api.CodeBadRequest, Edit, api.EditFileRequest{Path: "a.go", OldText: "a", NewText: "a"})
	b.refused(api.CodeNotFound, Edit, api.EditFileRequest{Path: "none", OldText: "a", NewText: "b"})
	b.refused(api.CodeIsAFolder, Edit, api.EditFileRequest{Path: "~", OldText: "a", NewText: "b"})
}
