package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

// The test binary is its own child: CHILD names the part that it plays.
func TestMain(m *testing.M) {
	switch part := os.Getenv("CHILD"); part {
	case "":
		leaktest.Main(m)
	case "ready":
		fmt.Fprintln(os.NewFile(3, "ready"), "ready")
		forever()
	case "fail":
		for i := range 20 {
			fmt.Println("line", i)
		}
		fmt.Fprintln(os.Stderr, "no such luck")
		os.Exit(3)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.NewFile(3, "ready"), "ready")
		forever()
	case "parent":
		// Its child is in the same process group and holds the output pipe.
		child := exec.Command(os.Args[0])
		child.Env = []string{"CHILD=stubborn-grandchild"}
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(os.NewFile(3, "ready"), child.Process.Pid)
		forever()
	case "stubborn-grandchild":
		signal.Ignore(syscall.SIGTERM)
		forever()
	case "starter":
		// Starts a child as the product does, and is then killed.
		c := Command{Path: "/bin/sleep", Args: []string{"3600"}, Dir: "/"}
		if os.Getuid() == 0 {
			c.User = &Credential{UID: 12345, GID: 23456} // a change of user must not cut the tie
		}
		p, err := c.Start()
		if err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(os.NewFile(3, "ready"), p.PID())
		forever()
	case "env":
		fmt.Println(strings.Join(os.Environ(), ","))
		fmt.Println(os.Getuid(), os.Getgid(), syscall.Getpgrp() == os.Getpid())
	}
}

// start starts a child in the named part and returns its first line on
// descriptor 3.
func start(t *testing.T, c Command, part string) (*Process, string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.Path, c.Env, c.Files = os.Args[0], []string{"CHILD=" + part}, []*os.File{w}
	p, err := c.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("child did not become ready: %v, %v", err, p.Err())
	}
	return p, strings.TrimSpace(line)
}

func TestStopEndsTheChild(t *testing.T) {
	p, _ := start(t, Command{Name: "child"}, "ready")
	if p.Err() != nil {
		t.Errorf("a running child has error %v", p.Err())
	}
	p.Stop()
	p.Stop()
	var exit *ExitError
	if !errors.As(p.Err(), &exit) || exit.State != "signal: terminated" {
		t.Errorf("error %v, want the end by SIGTERM", p.Err())
	}
}

func TestStopKillsAStubbornChild(t *testing.T) {
	p, _ := start(t, Command{Grace: 10 * time.Millisecond}, "stubborn")
	p.Stop()
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("error %v, want the end by SIGKILL", err)
	}
}

func TestStopKillsTheWholeGroup(t *testing.T) {
	p, line := start(t, Command{}, "parent")
	grandchild, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p.Stop()
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("stop took %v although only a grandchild held the output", d)
	}
	waitGone(t, grandchild)
}

func TestChildDiesWithItsStarter(t *testing.T) {
	p, line := start(t, Command{}, "starter")
	grandchild, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	// The starter is killed alone, so that it has no chance to clean up.
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitGone(t, grandchild)
}

// waitGone returns when pid is gone or a zombie, which in a container without an
// init stays.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is still there: %s", pid, stat)
		}
		time.Sleep(time.Millisecond) // somebody else's child gives no signal
	}
}

func TestErrorHoldsTheLastOutput(t *testing.T) {
	p, err := Command{Name: "child", Path: os.Args[0], Env: []string{"CHILD=fail"}}.Start()
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	want := "child ended (exit status 3); its last output: line 16; line 17; line 18; line 19; no such luck"
	if got := p.Err().Error(); got != want {
		t.Errorf("error\n\t%s\nwant\n\t%s", got, want)
	}
}

func TestMissingProgram(t *testing.T) {
	for _, path := range []string{"/nonexistent/program", "no-such-program-anywhere"} {
		_, err := Command{Name: "child", Path: path}.Start()
		if !errors.Is(err, ErrNoProgram) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", path, err)
		}
	}
	_, err := Command{Path: "/dev/null"}.Start()
	if err == nil || errors.Is(err, ErrNoProgram) {
		t.Errorf("not a program: error %v", err)
	}
}

func TestCleanEnvironmentAndUser(t *testing.T) {
	t.Setenv("SECRET", "leaks")
	c := Command{Path: os.Args[0], Env: []string{"CHILD=env"}}
	want := fmt.Sprintf("CHILD=env; %d %d true", os.Getuid(), os.Getgid())
	if os.Getuid() == 0 {
		c.User = &Credential{UID: 12345, GID: 23456}
		want = "CHILD=env; 12345 23456 true"
		// The other user must be able to run the test binary.
		c.Path = t.TempDir() + "/child"
		copyFile(t, c.Path, os.Args[0])
	}
	p, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if got := p.output.String(); got != want {
		t.Errorf("child said %q, want %q", got, want)
	}
}

func copyFile(t *testing.T, dst, src string) {
	t.Helper()
	in, err := os.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	// Folders for tests are closed to other users.
	for dir := dst; dir != os.TempDir() && dir != "/"; dir = dir[:strings.LastIndexByte(dir, '/')] {
		os.Chmod(dir, 0o755)
	}
}

func TestReadyIsInterruptedByTheChildsEnd(t *testing.T) {
	p, err := Command{Name: "child", Path: os.Args[0], Env: []string{"CHILD=fail"}}.Start()
	if err != nil {
		t.Fatal(err)
	}
	err = p.Ready(context.Background(), func(ctx context.Context) error {
		<-ctx.Done() // never ready
		return ctx.Err()
	})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.State != "exit status 3" {
		t.Errorf("error %v, want the child's", err)
	}
}

func TestReadyStopsAChildThatIsNeverReady(t *testing.T) {
	p, _ := start(t, Command{Name: "child"}, "ready")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := p.Ready(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("the child still runs")
	}
}

func TestTail(t *testing.T) {
	var tl tail
	for i := range 10000 {
		fmt.Fprintf(&tl, "line %d\n\n", i)
	}
	if got, want := tl.String(), "line 9995; line 9996; line 9997; line 9998; line 9999"; got != want {
		t.Errorf("tail %q, want %q", got, want)
	}
	tl.Write([]byte(strings.Repeat("x", 10*tailBytes)))
	if n := len(tl.String()); n != tailBytes {
		t.Errorf("tail of a long line has %d bytes", n)
	}
}

// forever is how a child waits to be ended; an empty select would be a deadlock.
func forever() { time.Sleep(time.Hour) }
