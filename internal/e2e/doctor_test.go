package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
)

// diagnosis is what `doctor --json` says.
type diagnosis struct {
	OK     bool
	Engine string
	Checks []struct {
		Name        string
		OK          bool
		Detail, Fix string
	}
}

// doctor runs it; the status must agree with what it says.
func (c *computer) doctor(args ...string) diagnosis {
	c.t.Helper()
	cmd := c.command(append([]string{"doctor", "--json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var d diagnosis
	if jsonErr := json.Unmarshal(out, &d); jsonErr != nil {
		c.t.Fatalf("doctor: %v, %v\n%s%s", err, jsonErr, out, stderr.Bytes())
	}
	if (err == nil) != d.OK || stderr.Len() > 0 {
		c.t.Errorf("status %v for ok %v\n%s", err, d.OK, stderr.Bytes())
	}
	return d
}

// expect expects the checks of the given names to have passed, in this order, and any
// others too.
func (d diagnosis) expect(t *testing.T, names ...string) {
	t.Helper()
	var passed []string
	for _, c := range d.Checks {
		t.Logf("%v %s: %s %s", c.OK, c.Name, c.Detail, c.Fix)
		if c.OK {
			passed = append(passed, c.Name)
		}
	}
	if !d.OK || len(passed) != len(d.Checks) {
		t.Error("some checks failed")
	}
	rest := passed
	for _, name := range names {
		for len(rest) > 0 && rest[0] != name {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			t.Errorf("%s is not among %v, in its place", name, passed)
			return
		}
	}
}

// S3-57 and issue 7, item 8: doctor uses a computer as agents do, and leaves it as it was.
func TestDoctor(t *testing.T) {
	c := newComputer(t)
	c.doctor().expect(t, "version", "engine", "system", "computerd", "bwrap", "sandbox", "Xvfb", "fluxbox", "ports", "disk",
		"computer", "screen", "shared mem", "home", "programs", "keyboard", "files", "page", "vnc", "tidy")
	if state := c.info().State; state != "stopped" {
		t.Errorf("a computer that was stopped is %s", state)
	}

	s := c.agent().start("at work")
	s.observe()
	look := func() string {
		return s.call("shell", map[string]any{"session": s.id, "command": "ls -A /tmp ~; ps -eo comm | sort | uniq -c"}).text
	}
	before := look()
	d := c.doctor("--full")
	d.expect(t, "computer", "screen", "keyboard", "files", "page", "vnc", "screens", "tidy")
	for _, check := range d.Checks {
		if check.Name == "screens" && !strings.Contains(check.Detail, "each of 15 in") {
			t.Errorf("with one of 16 in use: %s", check.Detail)
		}
	}
	if screens := c.info().Screens; len(screens) != 1 || screens[0].Session != s.id {
		t.Errorf("screens afterwards: %v", screens)
	}
	// Processes end a little after their screen.
	s.eventually("the computer as it was before", func() bool { return clean(look()) == clean(before) })
	s.act(map[string]any{"kind": "move", "x": 9, "y": 9})
}

// clean leaves out of the look what differs from run to run: durations, X's own files.
func clean(look string) string {
	var lines []string
	for line := range strings.Lines(look) {
		if strings.Contains(line, "exit code") || strings.Contains(line, " ms") || strings.HasPrefix(line, ".X") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// A computer that nobody can start: one line says why.
func TestDoctorPortTaken(t *testing.T) {
	c := newComputer(t)
	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.base+3))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	d := c.doctor()
	last := d.Checks[len(d.Checks)-1]
	for _, check := range d.Checks {
		if check.OK != (check.Name != "ports") {
			t.Errorf("%+v", check)
		}
	}
	if d.OK || last.Name != "disk" {
		t.Errorf("it goes on after that: %+v", last)
	}
	if state := c.info().State; state != "stopped" {
		t.Errorf("the computer is %s", state)
	}
}

func TestDockerDoctor(t *testing.T) {
	c := newDockerComputer(t)
	c.doctor().expect(t, "version", "engine", "docker", "seccomp", "image", "container", "ports",
		"computer", "screen", "shared mem", "home", "programs", "keyboard", "files", "page", "vnc", "tidy")
	if i := c.info(); i.State != "running" || len(i.Screens) != 0 {
		t.Errorf("afterwards it is %s with the screens %v", i.State, i.Screens)
	}
	docker(t, "pause", c.name)
	d := c.doctor()
	for _, check := range d.Checks {
		if check.OK != (check.Name != "container") || !check.OK && !strings.Contains(check.Fix, "docker unpause") {
			t.Errorf("a paused container: %+v", check)
		}
	}
	docker(t, "unpause", c.name)
}
