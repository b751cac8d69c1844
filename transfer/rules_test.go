package transfer

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/treetest"
)

// S0-126: the destination rule of cp -r, and S0-127: folders that are missing.
func TestDestination(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"file": "f", "folder/in": "i", "there/": ""})
	for _, c := range []struct{ from, to, want string }{
		{"file", "there", "there/file"},
		{"file", "new", "new"},
		{"file", "a/b/new", "a/b/new"},
		{"folder", "there", "there/folder"},
		{"folder", "fresh", "fresh"},
		{"folder", "slash/", "slash"},
		{"folder", "c/d/fresh", "c/d/fresh"},
	} {
		to := filepath.Join(dir, c.to)
		if strings.HasSuffix(c.to, "/") {
			to += "/"
		}
		r := send(t, filepath.Join(dir, c.from), to, Options{})
		want := filepath.Join(dir, filepath.FromSlash(c.want))
		if r.Path != want || treetest.List(t, want) != treetest.List(t, filepath.Join(dir, c.from)) {
			t.Errorf("%s to %s: %s, want %s", c.from, c.to, r.Path, want)
		}
	}
	refused(t, api.CodeNotFound, filepath.Join(dir, "file"), filepath.Join(dir, "nowhere")+"/", Options{})
	refused(t, api.CodeNotAFolder, filepath.Join(dir, "file"), filepath.Join(dir, "file", "below"), Options{})
}

// What helps depends on what is in the way, on what was to be done, and where.
func TestFixes(t *testing.T) {
	for _, c := range []struct {
		end  End
		verb string
		err  error
		code api.Code
		fix  string
	}{
		{Computer, "read", fs.ErrPermission, api.CodePermissionDenied, "beside it"},
		{Computer, "write to", fs.ErrPermission, api.CodePermissionDenied, "in home"},
		{Host, "read", fs.ErrPermission, api.CodePermissionDenied, "ask the user"},
		{Host, "write to", fs.ErrPermission, api.CodePermissionDenied, "ask the user"},
		{Host, "write to", syscall.ENOTDIR, api.CodeNotAFolder, "slash"},
	} {
		if errors.Is(c.err, fs.ErrNotExist) {
			continue // Windows has one error for a part of a path that is no folder and for a missing one
		}
		e := c.end.pathError(c.verb, "/x", c.err)
		if e.Code != c.code || !strings.Contains(e.Message, "/x") || !strings.Contains(e.Fix, c.fix) {
			t.Errorf("%s on the %s, %v: %+v", c.verb, c.end, c.err, e)
		}
	}
}

// S0-128 to S0-130, S0-139: what exists, with and without overwrite.
func TestOverwrite(t *testing.T) {
	setUp := func(t *testing.T) (from, to string) {
		dir := t.TempDir()
		tree(t, dir, map[string]string{
			"from/file": "new", "from/folder/a": "new a", "from/folder/sub/b": "new b",
			"to/file": "old", "to/folder/a": "old a", "to/folder/kept": "kept", "to/folder/sub/kept": "kept",
		})
		return filepath.Join(dir, "from"), filepath.Join(dir, "to")
	}
	t.Run("off", func(t *testing.T) {
		from, to := setUp(t)
		for _, name := range []string{"file", "folder"} {
			e := refused(t, api.CodeExists, filepath.Join(from, name), to, Options{})
			if !strings.Contains(e.Message, filepath.Join(to, name)) {
				t.Errorf("does not name %s: %s", name, e)
			}
		}
		refused(t, api.CodeExists, filepath.Join(from, "file"), filepath.Join(to, "file"), Options{})
	})
	t.Run("on", func(t *testing.T) {
		from, to := setUp(t)
		if err := os.Chmod(filepath.Join(from, "file"), 0o755); err != nil {
			t.Fatal(err)
		}
		send(t, filepath.Join(from, "file"), to, Options{Overwrite: true})
		send(t, filepath.Join(from, "folder"), to, Options{Overwrite: true})
		want := tree(t, t.TempDir(), map[string]string{
			"file": "new", "folder/a": "new a", "folder/kept": "kept", "folder/sub/b": "new b", "folder/sub/kept": "kept",
		})
		if err := os.Chmod(filepath.Join(want, "file"), 0o755); err != nil {
			t.Fatal(err)
		}
		// The folders that hold all this differ in their modes.
		for _, name := range []string{"file", "folder"} {
			if got, want := treetest.List(t, filepath.Join(to, name)), treetest.List(t, filepath.Join(want, name)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		}
	})
	t.Run("kinds", func(t *testing.T) {
		from, to := setUp(t)
		tree(t, to, map[string]string{"folder-here/file/": "", "file-here/folder": "x"})
		o := Options{Overwrite: true}
		refused(t, api.CodeIsAFolder, filepath.Join(from, "file"), filepath.Join(to, "folder-here"), o)
		refused(t, api.CodeNotAFolder, filepath.Join(from, "folder"), filepath.Join(to, "file-here"), o)
		refused(t, api.CodeNotAFolder, filepath.Join(from, "folder"), filepath.Join(to, "file"), o)
	})
}

// S0-131: a conflict midway ends the copy; what was copied stays and the error says how
// much.
func TestConflictMidway(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		"from/a": "a", "from/b": "bb", "from/c": "c", "from/d": "d", "from/s/f": "f",
		"to/from/c/": "", "to/from/old": "old",
	})
	_, err := unpack(bytes.NewReader(pack(t, filepath.Join(dir, "from"))), filepath.Join(dir, "to"), Options{Overwrite: true})
	e := api.AsError(err)
	if e.Code != api.CodeIsAFolder || !strings.Contains(e.Message, filepath.Join(dir, "to", "from", "c")) ||
		!strings.Contains(e.Message, "By then 2 files, 1 folder, 3 bytes had been copied") {
		t.Errorf("%s: %v", e.Code, e)
	}
	if got, _ := os.ReadDir(filepath.Join(dir, "to/from")); len(got) != 4 {
		t.Errorf("entries %v", got)
	}
}

// What cannot be packed is refused before anything moves.
func TestRefusedSources(t *testing.T) {
	dir := tree(t, t.TempDir(), map[string]string{"file": "x"})
	if runtime.GOOS != "windows" {
		tree(t, dir, map[string]string{"dangling": "-> nowhere"})
	}
	below := api.CodeNotAFolder
	if runtime.GOOS == "windows" {
		below = api.CodeNotFound // it does not say more
	}
	for _, c := range []struct {
		path string
		code api.Code
	}{
		{filepath.Join(dir, "missing"), api.CodeNotFound},
		{filepath.Join(dir, "dangling"), api.CodeNotFound},
		{filepath.Join(dir, "file", "below"), below},
		{filepath.VolumeName(dir) + string(filepath.Separator), api.CodeBadRequest},
	} {
		source, err := Open(Host, c.path)
		if e := api.AsError(err); err == nil || e.Code != c.code || e.Fix == "" {
			t.Errorf("%s: %v, want %s", c.path, err, c.code)
		}
		if err == nil {
			source.Close()
		}
	}
}

// S0-133: the names that Windows does not take.
func TestWindowsNames(t *testing.T) {
	windows := rules{windows: true}
	for _, name := range []string{
		"CON", "con", "Con.txt", "nul.tar.gz", "PRN", "AUX", "COM1", "com9.log", "COM0", "LPT1", "lpt³", "COM¹.x", "CON .txt", "CONIN$", "conout$",
		"a:b", "what?", "*", `"quoted"`, "<", ">", "pipe|", `back\slash`, "new\nline", "\x01", "dot.", "space ", "bad\xff",
	} {
		if windows.refuse(name) == "" {
			t.Errorf("%q is allowed", name)
		}
		if why := (rules{}).refuse(name); why != "" {
			t.Errorf("%q is refused elsewhere: %s", name, why)
		}
	}
	for _, name := range []string{
		"CONSOLE", "COM", "COM10", "COMA", "COM1x", "LPT", "xCON", "a.CON", ".con", "nulls", "日本語", "with space", "-rf", "$HOME", "a'b", "...x", ".x", "~", "é",
	} {
		if why := windows.refuse(name); why != "" {
			t.Errorf("%q is refused: %s", name, why)
		}
	}
}

// S0-133 to S0-135: what a Windows host leaves out is listed, a folder with all in it;
// names that are the same there never overwrite each other.
func TestWindowsSkips(t *testing.T) {
	dir := t.TempDir()
	a, err := NewArchive(bytes.NewReader(forgeWhole(t,
		dirHeader("from/"), fileHeader("from/CON"), fileHeader("from/Makefile"),
		dirHeader("from/aux.d/"), dirHeader("from/aux.d/deeper/"), fileHeader("from/aux.d/deeper/in"), fileHeader("from/aux.d/in"),
		fileHeader("from/good"), linkHeader("from/link", "good"), fileHeader("from/makefile"),
		dirHeader("from/sub/"), dirHeader("from/sub/Same/"), fileHeader("from/sub/Same/a"), dirHeader("from/sub/same/"), fileHeader("from/sub/same/b"),
		fileHeader("from/what?"))))
	if err != nil {
		t.Fatal(err)
	}
	target, err := Aim(Host, filepath.Join(dir, "to"), a.Origin, Options{})
	if err != nil {
		t.Fatal(err)
	}
	target.rules = rules{windows: true, fold: true}
	target.symlink = func(*os.Root, string, string) error { return errors.New("a privilege is not held") }
	r, err := target.Unpack(t.Context(), a, ignore)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range r.Skipped {
		names = append(names, s.Path)
	}
	if got := strings.Join(names, " "); got != "from/CON from/aux.d from/link from/makefile from/sub/same from/what?" || r.SkippedTotal != 6 {
		t.Errorf("skipped %s, %d", got, r.SkippedTotal)
	}
	want := tree(t, filepath.Join(dir, "want"), map[string]string{"Makefile": "from/Makefile", "good": "from/good", "sub/Same/a": "from/sub/Same/a"})
	if got, want := treetest.List(t, filepath.Join(dir, "to")), treetest.List(t, want); strings.ReplaceAll(got, "rw-rw-rw-", "rw-r--r--") != strings.ReplaceAll(want, "rw-rw-rw-", "rw-r--r--") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.Files != 3 || r.Folders != 3 || r.Links != 0 {
		t.Errorf("%+v", r)
	}
}

// S0-135: at most 50 skipped entries are named, the others counted.
func TestManySkipped(t *testing.T) {
	var s skipped
	for range 1000 {
		s.add(strings.Repeat("\x01", 255), "it is a pipe")
	}
	if len(s.Entries) != api.MaxSkipped || s.Total != 1000 {
		t.Errorf("%d entries of %d", len(s.Entries), s.Total)
	}
	var long skipped
	for range 60 {
		long.add(strings.Repeat("\x01", 4000), "it is a pipe")
	}
	if long.Total != 60 || len(long.Entries) != 4 {
		t.Errorf("%d entries of %d", len(long.Entries), long.Total)
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 999949: "999.9 kB", 999950: "1.0 MB", 4 << 30: "4.3 GB", 1 << 62: "4.6 EB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %s, want %s", n, got, want)
		}
	}
	if got := (Progress{Files: 1, Folders: 2, Links: 1, Bytes: 5}).String(); got != "1 file, 2 folders, 1 link, 5 bytes" {
		t.Error(got)
	}
}
