package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/treetest"
)

// put and get copy between the host and the computer; both must succeed.
func (s *session) put(host, computer string, options ...string) answer {
	s.t.Helper()
	return s.on("file_transfer", transferArgs("to_computer", host, computer, options))
}

func (s *session) get(computer, host string, options ...string) answer {
	s.t.Helper()
	return s.on("file_transfer", transferArgs("from_computer", host, computer, options))
}

func transferArgs(direction, host, computer string, options []string) map[string]any {
	args := map[string]any{"direction": direction, "host_path": host, "computer_path": computer}
	for _, option := range options {
		args[option] = true
	}
	return args
}

// oddTree makes a folder with everything that a copy has to keep.
func oddTree(t testing.TB, dir string) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	file := func(name string, size int, mode fs.FileMode) {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			t.Fatal(err)
		}
	}
	file("run.sh", 100, 0o755)
	file("secret", 10, 0o600)
	file("empty", 0, 0o644)
	file("large", 3_000_001, 0o644)
	file("a/b/c/deep", 1000, 0o644)
	for _, name := range treetest.OddNames {
		file(filepath.Join("names", name), 5, 0o644)
	}
	for name, to := range map[string]string{"relative": "a/b", "absolute": "/etc/hostname", "dangling": "no/where", "loop": "loop", "out": "../../.."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "none", "at", "all"), 0o755); err != nil {
		t.Fatal(err)
	}
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	if _, err := sparse.WriteAt([]byte("end"), 40<<20); err != nil {
		t.Fatal(err)
	}
	return dir
}

// S0-119 to S0-129, S0-132, S0-135, S0-136: both ways through the built binaries.
func TestFileTransfer(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("Transfer")
	host := oddTree(t, filepath.Join(t.TempDir(), "source"))

	// To a new name below folders that are missing, and as the programs' user.
	got := s.put(host, "~/deep/er/copy", "verify")
	if got.fields["path"] != "/home/computer/deep/er/copy" || got.fields["files"] != float64(6+len(treetest.OddNames)) || got.fields["verified"] != true {
		t.Errorf("%s\n%v", got.text, got.fields)
	}
	want := treetest.List(t, host)
	if tree := treetest.List(t, filepath.Join(c.home, "deep/er/copy")); tree != want {
		t.Errorf("got\n%s\nwant\n%s", tree, want)
	}
	if out := s.stdout("stat -c '%U %a' deep deep/er/copy/run.sh deep/er/copy/secret"); out != "computer 755\ncomputer 755\ncomputer 600\n" {
		t.Errorf("%q", out)
	}
	// Back into an existing folder, under its own name.
	s.shell("mkfifo deep/er/copy/pipe")
	back := t.TempDir()
	got = s.get("deep/er/copy", back, "verify")
	if got.fields["path"] != filepath.Join(back, "copy") || !strings.Contains(got.text, "Skipped, not copied: 1.\n- copy/pipe: it is a pipe") {
		t.Errorf("%s\n%v", got.text, got.fields)
	}
	if tree := treetest.List(t, filepath.Join(back, "copy")); tree != want {
		t.Errorf("got\n%s\nwant\n%s", tree, want)
	}
	if info, err := os.Stat(filepath.Join(back, "copy/sparse")); err != nil || info.Sys().(*syscall.Stat_t).Blocks > 2000 {
		t.Errorf("the holes are filled: %+v, %v", info, err)
	}
}

// S0-122, S0-128 to S0-131, S0-139: refusals of either end, through the built binaries.
func TestFileTransferRefusals(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("Refusals")
	host := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(host, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("file", "host")
	s.shell("mkdir -p mine/folder; echo -n computer > mine/file; mkfifo mine/pipe; ln -s nowhere mine/dangling; touch mine/secret; chmod 0 mine/secret; mkdir locked; chmod 555 locked")
	s.on("set_cwd", map[string]any{"path": "mine"})
	before := treetest.List(t, c.home)
	for _, r := range []struct {
		code, direction, host, computer, says string
		options                               []string
	}{
		{"exists", "to_computer", file, "file", "/home/computer/mine/file exists", nil},
		{"exists", "to_computer", file, ".", "/home/computer/mine/file exists", nil},
		{"exists", "to_computer", file, "dangling", "dangling exists", nil},
		{"is_a_folder", "to_computer", write("other/folder", "x"), "../mine", "folder is a folder", []string{"overwrite"}},
		{"not_a_folder", "to_computer", host, "file", "file is a file", []string{"overwrite"}},
		{"unsupported", "to_computer", file, "pipe", "pipe is a pipe", []string{"overwrite"}},
		{"permission_denied", "to_computer", file, "~/locked/x", "locked", nil},
		{"permission_denied", "to_computer", file, "/etc/x/y", "/etc", nil},
		{"not_found", "to_computer", filepath.Join(host, "missing"), "x", "missing on the host", nil},
		{"not_found", "from_computer", filepath.Join(host, "x"), "missing", "/home/computer/mine/missing on the computer", nil},
		{"not_found", "from_computer", filepath.Join(host, "x"), "dangling", "dangling", nil},
		{"unsupported", "from_computer", filepath.Join(host, "x"), "pipe", "is a pipe", nil},
		{"exists", "from_computer", file, "file", file + " exists", nil},
		{"exists", "from_computer", host, "file", file + " exists", nil},
		{"permission_denied", "from_computer", filepath.Join(host, "x"), "secret", "/home/computer/mine/secret", nil},
		{"bad_request", "from_computer", filepath.Join(host, "x"), "/", "no name of its own", nil},
	} {
		e := s.fails(r.code, "file_transfer", transferArgs(r.direction, r.host, r.computer, r.options))
		if !strings.Contains(e.Message, r.says) || e.Fix == "" {
			t.Errorf("%s %s: %q does not say %q", r.direction, r.computer, e.Message, r.says)
		}
	}
	if after := treetest.List(t, c.home); after != before {
		t.Errorf("refusals changed\n%s\nto\n%s", before, after)
	}
	if after := treetest.List(t, host); strings.Count(after, "\n") != 3 {
		t.Errorf("refusals made\n%s", after)
	}

	// With overwrite files are replaced and folders merge.
	s.put(file, ".", "overwrite")
	if out := s.stdout("cat file"); out != "host" {
		t.Errorf("%q", out)
	}
	s.shell("mkdir -p ../merge/other; echo -n kept > ../merge/other/kept")
	s.put(filepath.Join(host, "other"), "../merge", "overwrite")
	if out := s.stdout("cd ../merge/other; echo $(ls) $(cat folder kept)"); out != "folder kept xkept\n" {
		t.Errorf("%q", out)
	}
	// Permission lost midway: all else is copied, and an error says what is not.
	s.shell("mkdir -p half/b half/b2/d; echo -n 12345 > half/a; echo x > half/b/x; echo x > half/b2/x; echo x > half/c; chmod 0 half/b half/b2/d half/c")
	e := s.fails("permission_denied", "file_transfer", transferArgs("from_computer", filepath.Join(host, "half"), "half", nil))
	for _, says := range []string{"to read /home/computer/mine/half/b on", "2 more: /home/computer/mine/half/b2/d, /home/computer/mine/half/c.", "By then 2 files, 2 folders, 7 bytes had been copied"} {
		if !strings.Contains(e.Message, says) {
			t.Errorf("%q does not say %q", e.Message, says)
		}
	}
	if data, err := os.ReadFile(filepath.Join(host, "half/a")); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
}

// S0-140, S0-141 and Issue 8, Done when 4: copies that are cancelled, whose session ends,
// or whose other side is killed leave no temporary file and no half-written one.
func TestFileTransferInterrupted(t *testing.T) {
	c := newComputer(t)
	host := t.TempDir()
	// Of a size that takes a while.
	big := filepath.Join(host, "big")
	f, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7)
	}
	for range 256 {
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	for _, direction := range []string{"to_computer", "from_computer"} {
		for _, how := range []string{"cancelled", "session ended", "server killed", "child killed", "daemon killed"} {
			t.Run(direction+" "+how, func(t *testing.T) {
				a := c.agent()
				s := a.start("Interrupted")
				args := transferArgs(direction, big, "~/big", nil)
				target := filepath.Join(c.home, "in")
				if direction == "from_computer" {
					target = filepath.Join(host, "in")
					if err := os.Rename(big, filepath.Join(c.home, "big")); err != nil {
						t.Fatal(err)
					}
					defer os.Rename(filepath.Join(c.home, "big"), big)
					args["host_path"] = target
				} else {
					args["computer_path"] = "~/in"
				}
				if err := os.Mkdir(target, 0o777); err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(target)
				if err := os.Chmod(target, 0o777); err != nil { // the programs' user writes here
					t.Fatal(err)
				}
				args["session"] = s.id
				pid := c.info().Daemon.PID
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := a.tryUntil(ctx, "file_transfer", args)
					failed <- err
				}()
				var child int
				a.eventually("the copy runs", func() bool {
					select {
					case err := <-failed:
						t.Fatalf("it was over too soon: %v", err)
					default:
					}
					child = filesChild(pid)
					return child != 0
				})
				syscall.Kill(child, syscall.SIGSTOP) // the copy must not be over before that
				switch how {
				case "cancelled":
					cancel()
				case "session ended":
					a.call("end_session", map[string]any{"session": s.id})
				case "server killed":
					a.process.Kill()
				case "child killed":
					syscall.Kill(child, syscall.SIGKILL)
				case "daemon killed":
					syscall.Kill(pid, syscall.SIGKILL)
				}
				syscall.Kill(child, syscall.SIGCONT)
				err := <-failed
				if err == nil {
					t.Fatal("it went through")
				}
				want := map[string]string{"session ended": "session_ended", "child killed": "internal", "daemon killed": "computer_stopped"}[how]
				if r := new(refusal); want != "" && (!errors.As(err, &r) || r.Code != want) {
					t.Errorf("%v, want %s", err, want)
				}
				t.Log(err)
				a.eventually("nothing is left", func() bool {
					entries, err := os.ReadDir(target)
					return err == nil && len(entries) == 0 && !alive(child)
				})
			})
		}
	}
}

// filesChild returns a daemon's process that works on files, 0 for none.
func filesChild(daemon int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", daemon))
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(data)) {
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if pid, err := strconv.Atoi(field); err == nil && strings.HasSuffix(string(line), "\x00files\x00") {
				return pid
			}
		}
	}
	return 0
}
