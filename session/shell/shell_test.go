package shell

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// In a container root has no CAP_SYS_PTRACE. What runs as another user is found and
// ended all the same.
func TestWithoutPtrace(t *testing.T) {
	if os.Getenv("WITHOUT_PTRACE") == "" {
		xvfbtest.NeedThat(t, os.Geteuid() == 0, "root, to have programs of another user")
		xvfbtest.Need(t, "setpriv")
		const drop = "-sys_ptrace,-sys_admin,-perfmon" // each of them is enough
		cmd := exec.Command("setpriv", "--bounding-set="+drop, "--inh-caps="+drop, os.Args[0], "-test.run=^TestWithoutPtrace$", "-test.v")
		cmd.Env = append(os.Environ(), "WITHOUT_PTRACE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	all := New(Config{User: &supervise.Credential{UID: 12345, GID: 12345}, Env: []string{"HOME=/", "PATH=/usr/bin:/bin"}})
	defer all.Close()
	s := all.Shell(api.NewID())
	screen := &supervise.Credential{UID: 12345, GID: 23456} // in a group of its own
	r, err := s.Run(t.Context(), Command{Line: "id -u; nohup setsid sleep 1001 > /dev/null 2>&1 & echo $!; disown -a", Dir: "/", User: screen}, long)
	if err != nil || !strings.HasPrefix(r.Stdout, "12345\n") && !strings.HasSuffix(r.Stdout, "\n12345\n") {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := s.scope.Count(); n == 0 {
		t.Error("the program in the background is not found")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			fmt.Fprintln(conn, s.HasPeer(conn.RemoteAddr().String()))
			conn.Close()
		}
	}()
	line := "exec 3<>/dev/tcp/127.0.0.1/" + portOf(l) + "; cat <&3"
	if r, err := s.Run(t.Context(), Command{Line: line, Dir: "/", User: screen}, long); err != nil || r.Stdout != "true\n" {
		t.Errorf("a connection of the session is its own: %q, %v", r.Stdout, err)
	}
	s.End()
	if n := s.scope.Count(); n != 0 {
		t.Errorf("%d programs are left", n)
	}
	if _, err := os.Stat("/root/."); err != nil {
		t.Errorf("this thread is not root any more: %v", err)
	}
}

// long is a timeout that no test reaches.
const long = time.Minute

// bench is the shell of one session, and its home.
type bench struct {
	*Shell
	t    testing.TB
	all  *Shells
	home string
}

func newBench(t testing.TB, cgroups bool) *bench {
	t.Helper()
	home := t.TempDir()
	all := New(Config{
		OutputDir: filepath.Join(home, "jobs"), Cgroups: cgroups,
		Env: []string{"HOME=" + home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8"},
	})
	b := &bench{Shell: all.Shell(api.NewID()), t: t, all: all, home: home}
	t.Cleanup(func() {
		b.End()
		all.Close()
	})
	return b
}

// both runs a test with control groups and without.
func both(t *testing.T, test func(*testing.T, *bench)) {
	t.Run("marks", func(t *testing.T) { test(t, newBench(t, false)) })
	t.Run("cgroups", func(t *testing.T) {
		b := newBench(t, true)
		xvfbtest.NeedThat(t, b.all.group != nil, "the right to make control groups")
		test(t, b)
	})
}

// run runs a command that must come to its end.
func (b *bench) run(line string) api.ShellResult {
	b.t.Helper()
	result, err := b.Run(b.t.Context(), Command{Line: line, Dir: b.home}, long)
	if err != nil {
		b.t.Fatalf("%s: %v", line, err)
	}
	if result.Stopped != nil || result.ExitCode == nil {
		b.t.Fatalf("%s: %+v", line, result)
	}
	return result
}

// pids returns the process numbers that a command has written to a file in home.
func (b *bench) pids(file string) []int {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.home, file))
	if err != nil {
		b.t.Fatal(err)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(data)) {
		var pid int
		fmt.Sscan(field, &pid)
		pids = append(pids, pid)
	}
	return pids
}

// gone fails the test if one of the processes lives.
func (b *bench) gone(pids []int) {
	b.t.Helper()
	for _, pid := range pids {
		if _, alive := readStat(pid); alive {
			b.t.Errorf("process %d lives", pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// S0-93, S0-94, S0-95: exit code and duration, stdout and stderr apart, and failure is
// an ordinary result.
func TestResult(t *testing.T) {
	b := newBench(t, false)
	r := b.run("echo out; echo err >&2; exit 3")
	if r.Stdout != "out\n" || r.Stderr != "err\n" || *r.ExitCode != 3 || r.TimedOut || r.DurationMS < 0 {
		t.Errorf("%+v", r)
	}
	if r := b.run("kill -9 $$"); *r.ExitCode != 137 {
		t.Errorf("killed: exit code %d", *r.ExitCode)
	}
	if r := b.run("'"); *r.ExitCode == 0 || r.Stderr == "" {
		t.Errorf("a syntax error: %+v", r)
	}
}

// S0-89, S0-90, S0-91: a login shell in the folder, without input.
func TestSurroundings(t *testing.T) {
	b := newBench(t, false)
	os.WriteFile(filepath.Join(b.home, ".profile"), []byte("export FROM_PROFILE=yes\n"), 0o600)
	if r := b.run(`echo $FROM_PROFILE; pwd; cat; shopt -q login_shell && echo login`); r.Stdout != "yes\n"+b.home+"\nlogin\n" {
		t.Errorf("%q", r.Stdout)
	}
	r := b.run("echo $PATH")
	if !strings.HasPrefix(r.Stdout, b.home+"/.local/bin:") {
		t.Errorf("PATH %s", r.Stdout)
	}
	// Nothing of this process's environment gets in.
	t.Setenv("COMPUTER_USE_SECRET", "token")
	if r := b.run("env"); strings.Contains(r.Stdout, "SECRET") || !strings.Contains(r.Stdout, "LANG=C.UTF-8") {
		t.Errorf("environment:\n%s", r.Stdout)
	}
}

// C4: text outside ASCII passes through a command, its output and its file names.
func TestUnicode(t *testing.T) {
	b := newBench(t, false)
	if r := b.run(`x='ÆØÅ 日本 😀'; echo "${#x} ${x,,}"; touch "$x"; ls *😀`); r.Stdout != "8 æøå 日本 😀\nÆØÅ 日本 😀\n" {
		t.Errorf("%q %q", r.Stdout, r.Stderr)
	}
}

func TestMissingFolder(t *testing.T) {
	b := newBench(t, false)
	_, err := b.Run(t.Context(), Command{Line: "true", Dir: b.home + "/gone"}, long)
	if e := api.AsError(err); e.Code != api.CodeNotFound || !strings.Contains(e.Message, "/gone") || e.Fix == "" {
		t.Errorf("%v", err)
	}
}

// C40, C41, S0-99, S0x.12: the call returns when the shell exits, whatever inherits its
// pipes, and what inherits them goes on.
func TestReturnsWithTheShell(t *testing.T) {
	both(t, func(t *testing.T, b *bench) {
		start := time.Now()
		r := b.run(`(while :; do echo x; sleep .02; done) & echo $! > pids; echo done`)
		if took := time.Since(start); took > time.Second || !strings.Contains(r.Stdout, "done\n") {
			t.Errorf("after %v: %q", took, r.Stdout)
		}
		pid := b.pids("pids")[0]
		for range 3 { // it is not killed by its output having no reader
			b.run("sleep .1")
		}
		if _, alive := readStat(pid); !alive {
			t.Error("the background process is gone")
		}
		b.End()
		b.gone([]int{pid})
	})
}

// hardToEnd starts programs that daemonise in every common way, and ignores SIGTERM.
const hardToEnd = `
	trap '' TERM
	sleep 1001 & echo $! >> pids
	setsid sleep 1002 & echo $! >> pids
	nohup setsid bash -c 'echo $$ >> pids; sleep 1003; true' > /dev/null 2>&1 &
	(setsid bash -c 'trap "" TERM; echo $$ >> pids; (sleep 1004; true) & echo $! >> pids; wait' &)
	env -i bash -c 'echo $$ >> pids; sleep 1005; true' & echo $! > unmarked
	while [ $(wc -l < pids) -lt 6 ]; do sleep .01; done
`

// S0-96, S0-97, C43: at the timeout everything that was started is ended and the output
// is kept.
func TestTimeout(t *testing.T) {
	both(t, func(t *testing.T, b *bench) {
		r, err := b.Run(t.Context(), Command{Line: "echo a; echo b >&2;" + hardToEnd + "wait", Dir: b.home}, 1500*time.Millisecond)
		if err != nil || !r.TimedOut || r.Stopped == nil || r.Stopped.Code != api.CodeTimeout || r.Stdout != "a\n" || !strings.HasPrefix(r.Stderr, "b\n") {
			t.Errorf("%+v, %v", r, err)
		}
		if pids := b.pids("pids"); len(pids) != 6 {
			t.Errorf("%d processes were started", len(pids))
		} else {
			b.gone(pids)
		}
	})
}

// C42: a command past its timeout is back soon after it.
func TestTimeoutIsPrompt(t *testing.T) {
	b := newBench(t, false)
	r, err := b.Run(t.Context(), Command{Line: "sleep 60", Dir: b.home}, 200*time.Millisecond)
	if err != nil || !r.TimedOut || r.DurationMS > 1200 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Cancelling a call ends it as a timeout does.
func TestCancel(t *testing.T) {
	both(t, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for {
				if data, _ := os.ReadFile(filepath.Join(b.home, "pids")); strings.Count(string(data), "\n") == 6 {
					cancel()
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		r, err := b.Run(ctx, Command{Line: "echo a;" + hardToEnd + "wait", Dir: b.home}, long)
		if err != nil || r.TimedOut || r.Stopped == nil || r.Stopped.Code != api.CodeCanceled || r.Stdout != "a\n" {
			t.Errorf("%+v, %v", r, err)
		}
		b.gone(b.pids("pids"))
	})
}

// What a command leaves behind ends with the session, and nothing starts after that.
func TestEnd(t *testing.T) {
	both(t, func(t *testing.T, b *bench) {
		b.run(hardToEnd + "disown -a")
		pids := b.pids("pids")
		lives := 0
		for _, pid := range pids {
			if _, ok := readStat(pid); ok {
				lives++
			}
		}
		if lives != 6 {
			t.Errorf("%d of 6 background processes live after the call", lives)
		}
		b.End()
		if b.all.group == nil {
			// One had cleared its environment, and its parent is gone: without control
			// groups nothing tells whose it was.
			unmarked := b.pids("unmarked")
			pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == unmarked[0] })
			syscall.Kill(unmarked[0], syscall.SIGKILL)
		}
		b.gone(pids)
		if _, err := b.Run(t.Context(), Command{Line: "true", Dir: b.home}, long); api.AsError(err).Code != api.CodeSessionEnded {
			t.Errorf("after the end: %v", err)
		}
		b.End()
	})
}

// A program that forks all the time does not get away.
func TestForking(t *testing.T) {
	both(t, func(t *testing.T, b *bench) {
		// Each generation starts the next one and ends.
		os.WriteFile(filepath.Join(b.home, "fork"), []byte("#!/bin/bash\nsleep .005\nsetsid ./fork &\n"), 0o700)
		r, err := b.Run(t.Context(), Command{Line: "trap '' TERM; ./fork; sleep 60", Dir: b.home}, 300*time.Millisecond)
		if err != nil || !r.TimedOut {
			t.Errorf("%+v, %v", r, err)
		}
		if left := b.scope.Count(); left > 0 {
			t.Errorf("%d processes are left", left)
		}
	})
}

// S0-98, S0x.13: long output is cut in the middle.
func TestLongOutput(t *testing.T) {
	b := newBench(t, false)
	r := b.run(`for i in {1..9000}; do echo "line $i ä"; done; printf 'a\xffb' >&2`)
	if !strings.HasPrefix(r.Stdout, "line 1 ä\n") || !strings.HasSuffix(r.Stdout, "line 9000 ä\n") {
		t.Errorf("ends %.20q", r.Stdout)
	}
	if want := fmt.Sprintf("[... %d bytes left out ...]", r.StdoutDropped); r.StdoutDropped == 0 || !strings.Contains(r.Stdout, want) {
		t.Errorf("%d dropped, without a marker", r.StdoutDropped)
	}
	if r.Stderr != "a\uFFFDb" {
		t.Errorf("stderr %q", r.Stderr)
	}
}

// S0-101: one session may run several commands at once.
func TestSideBySide(t *testing.T) {
	b := newBench(t, false)
	if err := syscall.Mkfifo(filepath.Join(b.home, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { // returns only when the other one runs too
		if r, err := b.Run(t.Context(), Command{Line: "cat pipe", Dir: b.home}, long); err != nil || r.Stdout != "met\n" {
			t.Errorf("%+v, %v", r, err)
		}
	})
	wg.Go(func() { b.run("echo met > pipe") })
	wg.Wait()
}
