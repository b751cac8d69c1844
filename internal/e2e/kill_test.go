package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon is how long any call may take while something was killed.
const soon = 5 * time.Second

// quick calls a tool and fails the test when the answer takes too long or is an error
// without a code.
func (s *session) quick(name string, args map[string]any) error {
	s.t.Helper()
	args["session"] = s.id
	start := time.Now()
	_, err := s.try(name, args)
	if took := time.Since(start); took > soon {
		s.t.Errorf("%s took %v", name, took)
	}
	var r *refusal
	if err != nil && !errors.As(err, &r) {
		s.t.Errorf("%s: %v", name, err)
	}
	return err
}

// child returns the process id of a program that was started for a display.
func child(t testing.TB, program, display string) int {
	t.Helper()
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range pids {
		comm, _ := os.ReadFile(dir + "/comm")
		environ, _ := os.ReadFile(dir + "/environ")
		if strings.TrimSpace(string(comm)) == program && bytes.Contains(environ, []byte("DISPLAY="+display+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			return pid
		}
	}
	t.Fatalf("no %s on %s", program, display)
	return 0
}

func kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// A killed X server or window manager comes back, and the next answer says so.
func TestScreenComesBack(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("survivor")
	s.observe()
	for _, program := range []string{"fluxbox", "Xvfb"} {
		screen := c.info().Screens[0]
		pid := screen.XvfbPID
		if program != "Xvfb" {
			pid = child(t, program, screen.Display)
		}
		kill(t, pid)
		told := false
		s.eventually("a picture after the death of "+program, func() bool {
			start := time.Now()
			got, err := s.try("computer_observe", map[string]any{"session": s.id, "force": true})
			if took := time.Since(start); took > soon {
				t.Errorf("observe took %v", took)
			}
			if err != nil {
				return false
			}
			told = told || got.fields["notes"] != nil
			return told && got.image != nil
		})
	}
}

// Killed at any moment of a busy session, nothing hangs, every error has a code, and
// the next start works.
func TestKillDaemonAtAnyMoment(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	for i := range 4 {
		s := a.start(fmt.Sprintf("victim %d", i))
		s.observe()
		pid := c.info().Daemon.PID
		timer := time.AfterFunc(time.Duration(i)*37*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGKILL) })
		for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
			s.quick("computer_act", map[string]any{"actions": []any{
				map[string]any{"kind": "move", "x": 10 + i, "y": 10},
				map[string]any{"kind": "key", "key": "F6"},
			}})
		}
		timer.Stop()
		if err := s.quick("computer_observe", map[string]any{}); err == nil {
			t.Errorf("round %d: the session has survived its computer", i)
		}
		a.eventually("the end of the killed computer", func() bool { return !alive(pid) })
	}
	s := a.start("after all that")
	s.observe()
}

// A server that is killed leaves the computer to the next one, and its sessions end.
func TestKillServer(t *testing.T) {
	c := newComputer(t)
	first := c.agent()
	s := first.start("orphan")
	s.observe()
	kill(t, first.process.Pid)
	second := c.agent().start("heir")
	second.observe()
	if n := len(c.info().Screens); n != 2 {
		t.Errorf("%d screens, want the orphan's and the heir's", n)
	}
	deadline := time.Now().Add(35 * time.Second)
	for len(c.info().Screens) != 1 {
		if time.Now().After(deadline) {
			t.Fatal("the orphan's screen is open 35 s after the death of its server")
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// Stale files of a dead computer, and broken ones, do not stop the next start.
func TestStaleState(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	a.start("first").observe()
	kill(t, c.info().Daemon.PID)
	a.eventually("the end of the killed computer", func() bool { return c.info().State != "running" })
	var found bool
	for _, env := range c.env {
		dir, ok := strings.CutPrefix(env, "XDG_STATE_HOME=")
		if !ok {
			continue
		}
		filepath.Walk(dir, func(path string, f os.FileInfo, err error) error {
			if err == nil && f.Name() == "daemon.json" {
				found = true
				return os.WriteFile(path, []byte(`{"pid": 1, "api`), 0o600)
			}
			return err
		})
	}
	if !found {
		t.Log("the dead computer has left no daemon.json")
	}
	a.start("second").observe()
}
