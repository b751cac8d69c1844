package session

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/session/shell"
)

// startScript starts a shell script on a fake screen.
func startScript(t *testing.T, c *children, script string) *program {
	t.Helper()
	screen := &fakeScreen{buf: frame.NewBuffer(), env: []string{"PATH=" + os.Getenv("PATH")}}
	run, err := c.start(Programs{Home: t.TempDir()}, screen, []string{"/bin/sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestProgramsEndWithTheDesktop(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &children{Scope: shell.New(shell.Config{}).Scope(desktopVariable, api.NewID())}
	// The program ends at once and leaves one behind, in a session of its own, that does
	// not heed SIGTERM.
	startScript(t, p, `setsid sh -c 'trap "" TERM; echo up >`+ready+`; while :; do sleep 60; done' &`)
	if _, err := os.ReadFile(ready); err != nil { // returns when both wrote
		t.Fatal(err)
	}
	if p.Count() == 0 {
		t.Fatal("nothing is running")
	}
	if left := p.End(stopGrace); left > 0 || p.Count() > 0 {
		t.Errorf("%d programs are left", left)
	}
}

func TestProgramKeepsItsLastWords(t *testing.T) {
	p := &children{Scope: shell.New(shell.Config{}).Scope(desktopVariable, api.NewID())}
	run := startScript(t, p, `i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done; echo "cannot open display" >&2; exit 3`)
	<-run.done
	if !run.failed || run.state != "exit status 3" || !strings.HasSuffix(run.output.String(), "cannot open display") || len(run.output.String()) > keptOutput {
		t.Errorf("%v %q %q", run.failed, run.state, run.output.String())
	}
}

// S0-83: focus starts a program, waits for its window and gives that the keyboard.
func TestFocusStarts(t *testing.T) {
	table, screens := newTable(t)
	table.cfg.Programs.Home = t.TempDir()
	s := start(t, table, nil)
	observe(t, s, api.ObserveRequest{})
	screen := screens.last()
	bin := t.TempDir()
	screen.env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	ran := filepath.Join(bin, "ran")
	write := func(name, script string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("fine", "echo \"$1\" >"+ran+"; exec sleep 60")
	write("failing", "echo no licence; exit 4")
	if err := syscall.Mkfifo(ran, 0o600); err != nil {
		t.Fatal(err)
	}
	argument := make(chan string)
	go func() { // the program's window
		data, _ := os.ReadFile(ran)
		argument <- string(data)
		screen.mu.Lock()
		screen.windows = append(screen.windows, x11.Window{ID: 9, Class: "Something", Title: "else"})
		screen.mu.Unlock()
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		act(t, s, `[{"kind":"focus","application":"fine","uri":"file:///x"}]`)
	}()
	if got := <-argument; got != "/x\n" {
		t.Errorf("argument %q", got)
	}
	<-done
	if got := screen.taken(); len(got) != 1 || got[0] != "activate 9" {
		t.Errorf("%v", got)
	}
	write("mute", "exit 5")
	for name, want := range map[string]string{
		"failing": "failing ended (exit status 4) without a window: no licence",
		"mute":    "mute ended (exit status 5) without a window: it printed nothing",
	} {
		_, _, err := s.Act(t.Context(), actRequest(t, `[{"kind":"focus","application":"`+name+`"}]`), nil)
		if e := api.AsError(err); err == nil || !strings.Contains(e.Message, want) || e.Fix == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	programs := &s.desktop.children
	table.End(s.ID())
	if n := programs.Count(); n > 0 {
		t.Errorf("%d programs are running after the end", n)
	}
}
