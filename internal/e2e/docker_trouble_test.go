package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/freeports"
)

// C55: the engine finds out about a port when it starts the container.
func TestDockerPortTaken(t *testing.T) {
	c := newDockerComputer(t)
	taken := c.base + 7
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", taken))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refusal := c.agent().refused("port_taken", "start_computer", map[string]any{"title": "port"})
	if !strings.Contains(refusal.Message, fmt.Sprint(taken)) || !strings.Contains(refusal.Fix, "COMPUTER_USE_PORT_BASE") {
		t.Errorf("the refusal is %v", refusal)
	}
	if c.id(c.name) != "" {
		t.Error("a half-made container was left behind")
	}
	c.with(fmt.Sprintf("COMPUTER_USE_PORT_BASE=%d", freeports.Row(t, 17)+34)).agent().start("other ports")
}

func TestDockerPaused(t *testing.T) {
	c := newDockerComputer(t)
	a := c.agent()
	a.start("paused")
	docker(t, "pause", c.name)
	refusal := a.refused("computer_stopped", "start_computer", map[string]any{"title": "paused"})
	if !strings.Contains(refusal.Fix, "docker unpause "+c.name) {
		t.Errorf("the refusal is %v", refusal)
	}
	docker(t, "unpause", c.name)
	a.start("goes on")
}

// slowBatch runs a batch of several seconds and returns its end.
func (s *session) slowBatch() <-chan error {
	ended := make(chan error, 1)
	go func() {
		wait := map[string]any{"kind": "wait", "ms": 5000}
		_, err := s.try("computer_act", map[string]any{"session": s.id, "actions": []any{wait, wait, wait, wait}})
		ended <- err
	}()
	return ended
}

// endsWith expects a batch to end soon with one of the codes.
func (s *session) endsWith(ended <-chan error, codes ...string) {
	s.t.Helper()
	select {
	case err := <-ended:
		var r *refusal
		if !errors.As(err, &r) || !slices.Contains(codes, r.Code) || r.Fix == "" {
			s.t.Errorf("the batch ended with %v, want %v", err, codes)
		}
	case <-time.After(15 * time.Second):
		s.t.Error("the batch has not ended")
	}
}

func TestDockerKillDuringABatch(t *testing.T) {
	c := newDockerComputer(t)
	a := c.agent()
	s := a.start("killed")
	s.observe()
	ended := s.slowBatch()
	s.eventually("the batch has begun", func() bool { return len(ended) == 0 })
	docker(t, "kill", c.name)
	s.endsWith(ended, "computer_stopped")
	a.start("started again").observe()
}

// The engine ends in the middle of a call, and comes back. Only an engine of the tests'
// own may be ended so.
func TestDockerEngineStops(t *testing.T) {
	c := newDockerComputer(t)
	const script = "../../scripts/docker-engine"
	if exec.Command(script, "running").Run() != nil {
		t.Skip("SKIPPED: this test stops the Docker engine, and this one is not the tests' own")
	}
	a := c.agent()
	s := a.start("engine")
	s.observe()
	if out, err := c.exec("echo kept > ~/file"); err != nil {
		t.Fatal(out, err)
	}
	ended := s.slowBatch()
	run := func(arg string) {
		t.Helper()
		if out, err := exec.Command(script, arg).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", arg, err, out)
		}
	}
	run("stop")
	defer run("start")
	// The engine stops its containers in order, so the daemon may have the last word.
	s.endsWith(ended, "computer_stopped", "session_ended")
	refusal := a.refused("engine_unavailable", "start_computer", map[string]any{"title": "no engine"})
	if !strings.Contains(refusal.Message, "DOCKER_HOST") {
		t.Errorf("the refusal is %v", refusal)
	}
	run("start")
	a.start("back").observe()
	if out, err := c.exec("cat ~/file"); err != nil || out != "kept" {
		t.Errorf("home holds %q, %v", out, err)
	}
}

// A computer whose daemon speaks another protocol is refused and left alone, until the
// user stops it.
func TestDockerProtocolMismatch(t *testing.T) {
	c := newDockerComputer(t)
	a := c.agent()
	a.start("today's protocol")
	docker(t, "stop", c.name)
	docker(t, "cp", otherDaemon(t), c.name+":/usr/local/bin/computerd")
	docker(t, "start", c.name)
	id := c.id(c.name)
	refusal := a.refused("version_mismatch", "start_computer", map[string]any{"title": "tomorrow's protocol"})
	if !strings.Contains(refusal.Message, "77.0") || !strings.Contains(refusal.Fix, "docker stop "+c.name) {
		t.Errorf("the refusal is %v", refusal)
	}
	if now := docker(t, "inspect", "--format", "{{.Id}} {{.State.Running}}", c.name); now != id+" true" {
		t.Errorf("the container was touched: %s", now)
	}
	docker(t, "stop", c.name)
	c.with("COMPUTER_USE_IMAGE=" + derive(t, "newer")).agent().start("upgraded").observe()
	if c.id(c.name) == id {
		t.Error("the container was not replaced")
	}
}

// otherDaemon builds a daemon with another major version of the protocol.
func otherDaemon(t *testing.T) string {
	t.Helper()
	source, err := filepath.Abs("../../api/api.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile(`(?m)^(\s*ProtocolMajor\s*=).*$`).ReplaceAll(text, []byte("${1} 77"))
	changed = regexp.MustCompile(`(?m)^(\s*ProtocolMinor\s*=).*$`).ReplaceAll(changed, []byte("${1} 0"))
	dir := t.TempDir()
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: filepath.Join(dir, "api.go")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"api.go": changed, "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", dir, "../../cmd/computerd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "computerd")
}
