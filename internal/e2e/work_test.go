package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resources are what a process holds.
type resources struct{ descriptors, children int }

// resourcesOf counts the descriptors of a process and the processes below it. pid is
// of this machine's numbers.
func resourcesOf(t testing.TB, pid int) (r resources) {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	r.descriptors = len(fds)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		r.children += len(strings.Fields(string(list)))
	}
	return r
}

// daemonPID returns the process number that this machine has for the daemon, whose own
// is of the sandbox.
func (c *computer) daemonPID() int {
	c.t.Helper()
	for _, pid := range pidsWhere(func(pid int) bool {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(string(cmdline), "\x00")
		return strings.HasSuffix(args[0], "computerd") && slices.Contains(args, "--state") &&
			strings.Contains(string(cmdline), filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(c.home)))))
	}) {
		return pid
	}
	c.t.Fatal("no daemon")
	return 0
}

// pidsWhere lists the processes that fit.
func pidsWhere(fits func(pid int) bool) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && fits(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// 1,000 short calls from 16 sessions side by side: none lost, none mixed up, and
// nothing is left of them.
func TestManyShells(t *testing.T) {
	calls := 1000
	if testing.Short() {
		calls = 100
	}
	c := newComputer(t)
	a := c.agent()
	sessions := make([]*session, 16)
	for i := range sessions {
		sessions[i] = a.start(fmt.Sprintf("Agent %d", i))
		sessions[i].shell("mkdir -p " + strconv.Itoa(i))
		sessions[i].on("set_cwd", map[string]any{"path": strconv.Itoa(i)})
	}
	daemon := c.daemonPID()
	before := resourcesOf(t, daemon)
	var next atomic.Int64
	var workers sync.WaitGroup
	for i, s := range sessions {
		workers.Go(func() {
			for n := next.Add(1); n <= int64(calls); n = next.Add(1) {
				got, err := s.try("shell", map[string]any{"session": s.id, "command": fmt.Sprintf("echo %d; pwd; echo e%d >&2; exit %d", n, n, n%100)})
				if err != nil {
					t.Errorf("call %d: %v", n, err)
					continue
				}
				want := fmt.Sprintf("%d\n/home/computer/%d\n", n, i)
				if got.fields["stdout"] != want || got.fields["stderr"] != fmt.Sprintf("e%d\n", n) || got.fields["exit_code"] != float64(n%100) {
					t.Errorf("call %d of session %d: %v", n, i, got.fields)
				}
			}
		})
	}
	workers.Wait()
	// Connections of the calls that ran side by side may wait for more.
	a.eventually("what the calls took is given back", func() bool {
		after := resourcesOf(t, daemon)
		return after.children <= before.children && after.descriptors <= before.descriptors+2*len(sessions)
	})
}

// 1 GB of output keeps the daemon's memory flat, and its ends come back.
func TestHugeOutput(t *testing.T) {
	size := 1 << 30
	if testing.Short() {
		size = 1 << 28
	}
	c := newComputer(t)
	s := c.agent().start("Much output")
	s.stdout("head -c 10000000 /dev/zero | tr '\\0' x")
	daemon := c.daemonPID()
	before := memory(t, daemon)
	var most atomic.Int64
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				most.Store(max(most.Load(), memory(t, daemon)))
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	got, err := s.tryUntil(ctx, "shell", map[string]any{"session": s.id, "timeout": 200, "command": fmt.Sprintf("echo begin; head -c %d /dev/zero | tr '\\0' x; echo; echo end", size)})
	close(done)
	watch.Wait()
	if err != nil {
		t.Fatal(err)
	}
	out := got.fields["stdout"].(string)
	dropped := int(got.fields["stdout_dropped"].(float64))
	if !strings.HasPrefix(out, "begin\nxxx") || !strings.HasSuffix(out, "xxx\nend\n") || dropped != size+len("begin\n\nend\n")-30000 {
		t.Errorf("%.20q, %d dropped", out, dropped)
	}
	if grown := most.Load() - before; grown > 8<<20 {
		t.Errorf("the daemon grew by %d bytes", grown)
	} else {
		t.Logf("the daemon grew by %d bytes", grown)
	}
}

// memory returns the resident bytes of a process that are its own.
func memory(t testing.TB, pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Error(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kb int64
	fmt.Sscan(rest, &kb)
	return kb << 10
}

// C45: a client that gives up after a while of silence gets progress often enough.
func TestShellProgress(t *testing.T) {
	c := newComputer(t)
	var reports atomic.Int64
	client := mcp.NewClient(&mcp.Implementation{Name: "impatient", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { reports.Add(1) },
	})
	cmd := c.command()
	cmd.Stderr = &prefixed{t: t}
	conn, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := (&agent{t: t, client: conn, process: cmd.Process}).start("Progress")
	params := &mcp.CallToolParams{Name: "shell", Arguments: map[string]any{"session": s.id, "command": "sleep 7"}}
	params.SetProgressToken("p")
	reports.Store(0)
	if _, err := conn.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if n := reports.Load(); n < 3 {
		t.Errorf("%d reports in 7 s", n)
	}
}

// Cancelling a call ends its command with everything that it has started.
func TestShellCancel(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	s := a.start("Cancel")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.client.CallTool(ctx, &mcp.CallToolParams{Name: "shell", Arguments: map[string]any{
			"session": s.id, "command": "setsid nohup sleep 1234 > /dev/null & sleep 1235 & touch begun; wait",
		}})
	}()
	s.eventually("the command runs", func() bool { return exists(filepath.Join(c.home, "begun")) })
	cancel()
	<-ended
	s.eventually("nothing of it is left", func() bool { return !strings.Contains(s.stdout("ps ax"), "sleep 123") })
}

// S0-143, S0-148: an MCP server that is killed with three screens, a tree of programs and two jobs:
// within 31 s nothing of theirs is left, however it was started. The daemon and the
// home stay.
func TestNothingIsLeftOfAKilledServer(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	ids := []string{}
	for i := range 3 {
		s := a.start(fmt.Sprintf("Doomed %d", i))
		s.observe()
		// Like a browser: helpers with sessions of their own, whose parents are gone.
		s.shell("for i in 1 2 3; do (setsid bash -c 'setsid sleep 4321 & (sleep 4322; true) & wait' > /dev/null 2>&1 &); done; xterm & touch file")
		ids = append(ids, s.id)
	}
	for _, id := range ids[:2] {
		a.call("shell", map[string]any{"session": id, "command": "trap '' TERM; setsid sleep 4323 & while :; do sleep 1; done", "background": true})
	}
	marked := func() []int {
		return pidsWhere(func(pid int) bool {
			environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			return slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(string(environ), "COMPUTER_USE_SESSION="+id) })
		})
	}
	if n := len(marked()); n < 3*9 {
		t.Fatalf("only %d processes run", n)
	}
	if err := a.process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for len(marked()) > 0 || len(c.info().Screens) > 0 {
		if time.Since(killed) > 33*time.Second { // of which 2 s are this machine's load
			t.Fatalf("after %v: processes %v, screens %v", time.Since(killed), marked(), c.info().Screens)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("gone after %v", time.Since(killed))
	if !exists(filepath.Join(c.home, "file")) {
		t.Error("the home was touched")
	}
}

// BenchmarkShell compares a call through the whole product with plain bash.
func BenchmarkShell(b *testing.B) {
	c := newComputer(b)
	s := c.agent().start("Benchmark")
	plain := filepath.Join(c.home, "plain")
	// Plain bash runs in the sandbox too, started by a program that does nothing else.
	script := `
import subprocess, time, statistics
times = []
for _ in range(200):
    t = time.perf_counter()
    subprocess.run(["/bin/bash", "-lc", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    times.append(time.perf_counter() - t)
print(statistics.median(times) * 1000)
`
	if err := os.WriteFile(plain, []byte(script), 0o644); err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		s.shell("true")
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	p50 := float64(times[len(times)/2].Microseconds()) / 1000
	var bare float64
	fmt.Sscan(s.stdout("python3 plain"), &bare)
	b.ReportMetric(p50, "p50-ms")
	b.ReportMetric(bare, "plain-ms")
	b.ReportMetric(p50-bare, "overhead-ms")
}

// S0-144, S0-145, S0-149: a running command keeps its session; without calls it ends,
// and the next call says why.
func TestShellKeepsTheSession(t *testing.T) {
	c := newComputer(t, "COMPUTER_USE_IDLE_TIMEOUT=2")
	s := c.agent().start("Idle")
	s.shell("sleep 4")
	s.shell("true")
	s.eventually("the session ends", func() bool { return !c.hasSession(s.id) })
	if r := s.fails("session_ended", "shell", map[string]any{"command": "true"}); !strings.Contains(r.Message, "no call came for 2s") || !strings.Contains(r.Fix, "start_computer") {
		t.Errorf("%v", r)
	}
}

// hasSession reports whether a session has not ended, without a call on it.
func (c *computer) hasSession(id string) bool {
	c.t.Helper()
	out, err := c.command("info", "--json").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Contains(string(out), id)
}
