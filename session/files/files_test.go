package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// The test binary is its own child.
const childArgument = "serve-files"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaktest.Main(m)
}

// bench is a home with a Runner on it.
type bench struct {
	t    testing.TB
	home string
	Runner
}

func newBench(t testing.TB) *bench {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, home, Runner{
		Command: []string{"/proc/self/exe", childArgument}, Home: home, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")},
	}}
}

// file makes a file in home.
func (b *bench) file(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// content returns what is in a file.
func (b *bench) content(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.home, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// do does an act that must succeed.
func do[R any](b *bench, act string, args interface{ Check() error }) (result R) {
	b.t.Helper()
	if _, err := b.Call(b.t.Context(), act, b.home, args, &result); err != nil {
		b.t.Fatalf("%s %+v: %v", act, args, err)
	}
	return result
}

// refused does an act that must fail with a code, and returns the error.
func (b *bench) refused(code api.Code, act string, args interface{ Check() error }) *api.Error {
	b.t.Helper()
	var result any
	_, err := b.Call(b.t.Context(), act, b.home, args, &result)
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != code || e.Message == "" || e.Fix == "" {
		b.t.Errorf("%s %+v: %+v (%v), want %s with a fix", act, args, e, err, code)
		return &api.Error{}
	}
	return e
}

// S0-105: relative paths start in the session's folder, ~ is home, absolute ones work.
func TestPaths(t *testing.T) {
	b := newBench(t)
	b.file("a", "in home")
	b.file("sub/a", "in sub")
	sub := filepath.Join(b.home, "sub")
	for path, want := range map[string]string{
		"a": "in sub", "./a": "in sub", "../a": "in home", "~/a": "in home", "~/sub/a": "in sub", filepath.Join(b.home, "a"): "in home", "~/../" + filepath.Base(b.home) + "/a": "in home",
	} {
		var r api.ReadFileResult
		if _, err := b.Call(t.Context(), Read, sub, api.ReadFileRequest{Path: path}, &r); err != nil || r.Text != want {
			t.Errorf("%s: %q, %v", path, r.Text, err)
		}
	}
}

// S0-102 to S0-104.
func TestEnter(t *testing.T) {
	b := newBench(t)
	b.file("sub/a", "")
	for path, want := range map[string]string{"sub": b.home + "/sub", "~": b.home, "sub/..": b.home, "/": "/", "~/sub/": b.home + "/sub"} {
		if r := do[api.SetCwdResult](b, Enter, api.SetCwdRequest{Path: path}); r.Cwd != want {
			t.Errorf("%s: %s, want %s", path, r.Cwd, want)
		}
	}
	b.refused(api.CodeNotFound, Enter, api.SetCwdRequest{Path: "none"})
	b.refused(api.CodeNotAFolder, Enter, api.SetCwdRequest{Path: "sub/a"})
	b.refused(api.CodeBadRequest, Enter, api.SetCwdRequest{Path: strings.Repeat("x", 300)})
}

// S0-107, S0-108: folders first, with type, size and time; names with any bytes are
// shown in a form that bash takes.
func TestList(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"b", "a b", "new\nline", "bad\xff", "it's", "ÆØÅ", ".hidden", "$'x'"} {
		b.file(name, "12345")
	}
	os.Mkdir(filepath.Join(b.home, "zoo"), 0o755)
	os.Symlink("b", filepath.Join(b.home, "link"))
	syscall.Mkfifo(filepath.Join(b.home, "pipe"), 0o600)
	r := do[api.ListFilesResult](b, List, api.ListFilesRequest{})
	var got []string
	for _, e := range r.Entries {
		got = append(got, e.Type+" "+e.Name+e.Target)
		if e.ModifiedAt.IsZero() || time.Since(e.ModifiedAt) > time.Hour || e.Type == api.TypeFile && e.Size != 5 {
			t.Errorf("%+v", e)
		}
	}
	want := []string{
		"folder zoo", `file $'$\'x\''`, "file .hidden", "file a b", "file b", `file $'bad\xff'`, "file it's", "link linkb", `file $'new\nline'`, "other pipe", "file ÆØÅ",
	}
	if !slices.Equal(got, want) || r.Path != b.home || r.Total != len(want) || r.Cut {
		t.Errorf("%s, %d entries:\n%q\nwant\n%q", r.Path, r.Total, got, want)
	}
	b.refused(api.CodeNotAFolder, List, api.ListFilesRequest{Path: "b"})
	b.refused(api.CodeNotAFolder, List, api.ListFilesRequest{Path: "pipe"})
	e := b.refused(api.CodeNotFound, List, api.ListFilesRequest{Path: "no/such"})
	if !strings.Contains(e.Fix, b.home) {
		t.Errorf("fix %q", e.Fix)
	}
}

// S0-109: a listing stops at 1000 entries and says how many there are.
func TestListIsCut(t *testing.T) {
	b := newBench(t)
	for i := range api.MaxEntries + 5 {
		b.file(fmt.Sprintf("many/f%04d", i), "")
	}
	b.file("many/zz/x", "")
	r := do[api.ListFilesResult](b, List, api.ListFilesRequest{Path: "many"})
	if len(r.Entries) != api.MaxEntries || r.Total != api.MaxEntries+6 || !r.Cut || r.Entries[0].Name != "zz" || r.Entries[1].Name != "f0000" {
		t.Errorf("%d of %d entries, cut %v", len(r.Entries), r.Total, r.Cut)
	}
}

// A folder or a file of another user is closed as it is to that user's programs, also
// behind a link that an agent has planted.
func TestRightsOfTheProgramsUser(t *testing.T) {
	xvfbtest.NeedThat(t, os.Geteuid() == 0, "root, to have programs of another user")
	b := newBench(t)
	for dir := b.home; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode()&1 == 0 {
			if err := os.Chmod(dir, info.Mode()|0o111); err != nil {
				t.Fatal(err)
			}
		}
	}
	home := filepath.Join(b.home, "home")
	os.Mkdir(home, 0o755)
	os.Chown(home, 12345, 12345)
	secret := b.file("secret/token", "0123456789abcdef")
	os.Chmod(secret, 0o600)
	os.Chmod(filepath.Dir(secret), 0o700)
	os.Symlink(secret, filepath.Join(home, "link"))
	os.Symlink(filepath.Dir(secret), filepath.Join(home, "folder"))
	os.Symlink("/etc/computer-use-planted", filepath.Join(home, "new"))
	b.home, b.Home, b.User = home, home, &supervise.Credential{UID: 12345, GID: 12345}
	// The child must be able to read its own program.
	exe, _ := os.Executable()
	if !reachable(exe) {
		data, _ := os.ReadFile(exe)
		copied := filepath.Join(filepath.Dir(home), "child")
		if err := os.WriteFile(copied, data, 0o755); err != nil {
			t.Fatal(err)
		}
		b.Command[0] = copied
	}

	denied := api.CodePermissionDenied
	b.refused(denied, Read, api.ReadFileRequest{Path: "link"})
	b.refused(denied, Read, api.ReadFileRequest{Path: secret})
	b.refused(denied, Read, api.ReadFileRequest{Path: "folder/token"})
	b.refused(denied, List, api.ListFilesRequest{Path: "folder"})
	b.refused(denied, Enter, api.SetCwdRequest{Path: "folder"})
	b.refused(denied, Write, api.WriteFileRequest{Path: "link", Content: "x"})
	b.refused(denied, Write, api.WriteFileRequest{Path: "folder/other", Content: "x"})
	b.refused(denied, Write, api.WriteFileRequest{Path: "new", Content: "x"})
	b.refused(denied, Edit, api.EditFileRequest{Path: "link", OldText: "0", NewText: "1"})
	b.refused(denied, Search, api.SearchFilesRequest{Path: "folder/token", Pattern: "."})
	b.refused(denied, Exists, api.WaitRequest{For: api.WaitFile, Path: "folder/token"})
	b.refused(denied, Exists, api.WaitRequest{For: api.WaitFile, Path: "folder/missing"})
	b.refused(denied, Read, api.ReadFileRequest{Path: fmt.Sprintf("/proc/%d/environ", os.Getpid())})
	if r := do[api.SearchFilesResult](b, Search, api.SearchFilesRequest{Pattern: "0123"}); len(r.Matches) != 0 {
		t.Errorf("found %v", r.Matches)
	}
	if r := do[api.ReadFileResult](b, Read, api.ReadFileRequest{Path: "/proc/self/status"}); !strings.Contains(r.Text, "Uid:\t12345\t12345\t12345\t12345\n") || !strings.Contains(r.Text, "Groups:\t \n") {
		t.Errorf("the child:\n%s", r.Text)
	}
	do[api.WriteFileResult](b, Write, api.WriteFileRequest{Path: "mine", Content: "x"})
	info, err := os.Stat(filepath.Join(home, "mine"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 12345 {
		t.Errorf("a new file: %v, %v", info, err)
	}
	// What to do about a file in home is not to use one in home.
	os.WriteFile(filepath.Join(home, "theirs"), nil, 0o600)
	if e := b.refused(denied, Read, api.ReadFileRequest{Path: "theirs"}); !strings.Contains(e.Fix, "ls -ld") {
		t.Errorf("%v", e)
	}
	if exists("/etc/computer-use-planted") {
		t.Error("a file was made behind the planted link")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// reachable reports whether every user can execute the file.
func reachable(path string) bool {
	for ; path != "/"; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || info.Mode()&1 == 0 {
			return false
		}
	}
	return true
}

func TestCallEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	b.Command = []string{"/bin/sh", "-c", "sleep 1000"}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := b.Call(ctx, List, b.home, api.ListFilesRequest{}, new(any)); api.AsError(err).Code != api.CodeCanceled {
		t.Errorf("%v", err)
	}
	ctx, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(api.Errorf(api.CodeSessionEnded, "It ended."))
	if _, err := b.Call(ctx, List, b.home, api.ListFilesRequest{}, new(any)); api.AsError(err).Code != api.CodeSessionEnded {
		t.Errorf("%v", err)
	}
}

// A child that is not believed: whatever it answers, the caller gets an error.
func TestBadChild(t *testing.T) {
	b := newBench(t)
	for _, script := range []string{"exit 1", "echo oops >&2; exit 2", "echo no json", "yes", `printf '{"Result":[1]}'`, "kill -9 $$"} {
		b.Command = []string{"/bin/sh", "-c", script}
		if script == "yes" {
			b.Command[2] = "head -c 40000000 /dev/zero"
		}
		_, err := b.Call(t.Context(), List, b.home, api.ListFilesRequest{}, new(api.ListFilesResult))
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeInternal {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// FuzzActs: whatever the paths and numbers, an act answers or refuses with a code and
// valid text, and never panics.
func FuzzActs(f *testing.F) {
	home := f.TempDir()
	os.WriteFile(filepath.Join(home, "a"), []byte("one\ntwo\n"), 0o644)
	os.Symlink("loop", filepath.Join(home, "loop"))
	for i, path := range []string{"a", "~", "~x", "", "/", "loop", "a/b", "\x00", "../../../..", "/proc/self/mem", "/dev/zero", strings.Repeat("x/", 3000), "\xff", "a\n"} {
		f.Add(i, path, i, i, "o", "[a-")
	}
	f.Fuzz(func(t *testing.T, kind int, path string, offset, limit int, text, glob string) {
		t.Chdir(home) // undoes what Enter does
		p := place{home: home, dir: home}
		requests := []struct {
			act  string
			args interface{ Check() error }
		}{
			{Enter, api.SetCwdRequest{Path: path}},
			{List, api.ListFilesRequest{Path: path}},
			{Read, api.ReadFileRequest{Path: path, Offset: offset, Limit: limit}},
			{Edit, api.EditFileRequest{Path: "a", OldText: text, NewText: glob}},
			{Search, api.SearchFilesRequest{Path: "a", Pattern: text, Glob: glob}},
		}
		r := requests[uint(kind)%uint(len(requests))]
		err := r.args.Check()
		if err == nil {
			_, err = run(p, r.act, r.args)
		}
		if err == nil {
			return
		}
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Code == api.CodeInternal || e.Message == "" || !utf8.ValidString(e.Error()) {
			t.Errorf("%s %+v: %v", r.act, r.args, err)
		}
	})
}

// run does an act in this process.
func run(p place, act string, args any) (any, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return acts[act](p, data)
}
