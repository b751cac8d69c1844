package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests of the Docker engine need an engine and the slim image; `make e2e-docker`
// sees to both and names the image in this variable.
const dockerImage = "E2E_DOCKER_IMAGE"

// dockerComputer is a computer in a container, with a name and ports of its own.
type dockerComputer struct {
	*computer
	name string
}

func newDockerComputer(t testing.TB, settings ...string) *dockerComputer {
	t.Helper()
	image := os.Getenv(dockerImage)
	if image == "" {
		t.Skip("needs Docker: run make e2e-docker")
	}
	c := &dockerComputer{computer: &computer{t: t, base: freePorts(t)}}
	c.name = fmt.Sprintf("e2e-%d-%d", os.Getpid(), c.base)
	c.env = append(os.Environ(),
		"COMPUTER_USE_ENGINE=docker", "COMPUTER_USE_NAME="+c.name, "COMPUTER_USE_IMAGE="+image, "COMPUTER_USE_OPEN=none",
		fmt.Sprintf("COMPUTER_USE_PORT_BASE=%d", c.base))
	c.env = append(c.env, settings...)
	t.Cleanup(func() {
		for _, name := range []string{c.name, c.name + "-relay"} {
			if id := c.id(name); id != "" {
				docker(t, "rm", "--force", id)
			}
		}
		_ = exec.Command("docker", "network", "rm", c.name+"-net").Run() // only offline ones have it
		docker(t, "volume", "rm", "--force", c.name+"-home")
	})
	return c
}

// with returns the same computer as servers with other settings see it.
func (c *dockerComputer) with(settings ...string) *dockerComputer {
	other := *c.computer
	other.env = append(other.env[:len(other.env):len(other.env)], settings...)
	return &dockerComputer{computer: &other, name: c.name}
}

// docker runs the docker command, which must succeed.
func docker(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// id returns the id of the container of a name, empty when there is none.
func (c *dockerComputer) id(name string) string {
	c.t.Helper()
	out, err := exec.Command("docker", "container", "inspect", "--format", "{{.Id}}", name).CombinedOutput()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if !strings.Contains(strings.ToLower(string(out)), "no such container") {
		c.t.Errorf("docker inspect: %v\n%s", err, out)
	}
	return ""
}

// exec runs a command in the container, as the agents' user.
func (c *dockerComputer) exec(command string) (string, error) {
	out, err := exec.Command("docker", "exec", "--user", "computer", c.name, "bash", "-c", command).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// watched expects the viewer page and a VNC server for screen 1 at the computer's ports.
func (c *dockerComputer) watched() {
	c.t.Helper()
	page, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", c.base))
	if err != nil {
		c.t.Error(err)
		return
	}
	defer page.Body.Close()
	if page.StatusCode != http.StatusOK {
		c.t.Errorf("the viewer page: %s", page.Status)
	}
	vnc, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.base+1))
	if err != nil {
		c.t.Error(err)
		return
	}
	defer vnc.Close()
	_ = vnc.SetDeadline(time.Now().Add(5 * time.Second))
	greeting := make([]byte, 12)
	if _, err := io.ReadFull(vnc, greeting); err != nil || string(greeting) != "RFB 003.008\n" {
		c.t.Errorf("a VNC program is greeted with %q, %v", greeting, err)
	}
}

// ids are the identity in an answer of start_computer.
func ids(a answer) (computer, home string) {
	return a.fields["computer_id"].(string), a.fields["home_id"].(string)
}

// A computer's life: made, used, stopped, started, removed, made again. Its home
// outlives all of it.
func TestDockerLife(t *testing.T) {
	c := newDockerComputer(t)
	a := c.agent()
	begin := time.Now()
	s := a.start("life")
	t.Logf("from nothing to a session: %v", time.Since(begin))
	first := a.call("start_computer", map[string]any{"title": "second"})
	computerID, homeID := ids(first)
	if first.fields["engine"] != "docker" || first.fields["network"] != "internet" ||
		!strings.HasPrefix(first.fields["viewer"].(string), fmt.Sprintf("http://127.0.0.1:%d/#key=", c.base)) {
		t.Errorf("start_computer answered %v", first.fields)
	}

	s.terminal()
	s.act(map[string]any{"kind": "type", "text": "sudo id -u > ~/who; echo Ελλάδα > ~/kept; echo $TZ $LANG > ~/place\n"})
	s.eventually("the typed commands", func() bool {
		out, err := c.exec("cat ~/who ~/kept ~/place")
		return err == nil && strings.HasPrefix(out, "0\nΕλλάδα\n") && strings.HasSuffix(out, "en_US.UTF-8")
	})
	c.watched()
	if size, err := c.exec("df --output=size --block-size=1M /dev/shm | tail -1"); err != nil || strings.TrimSpace(size) != "2048" {
		t.Errorf("shared memory of %s MB, %v", size, err)
	}
	token := docker(t, "exec", c.name, "cat", "/var/lib/computerd/token")
	if facts := docker(t, "inspect", c.name); strings.Contains(facts, token) {
		t.Error("docker inspect shows the token")
	}
	if out, err := c.exec("cat /var/lib/computerd/token"); err == nil {
		t.Errorf("the agents' user reads the token: %s", out)
	}
	if log := docker(t, "logs", c.name); !strings.Contains(log, "Viewer: http://127.0.0.1:") || !strings.Contains(log, "VNC password: ") {
		t.Errorf("the log names no viewer: %s", log)
	}

	docker(t, "stop", c.name)
	begin = time.Now()
	s = a.start("after the stop")
	s.observe()
	t.Logf("from a stopped computer to the first picture: %v", time.Since(begin))
	var warm time.Duration
	const times = 5
	for range times {
		begin = time.Now()
		again := a.call("start_computer", map[string]any{"title": "warm"})
		warm += time.Since(begin)
		if id, home := ids(again); id != computerID || home != homeID {
			t.Errorf("after a restart it is computer %s with home %s", id, home)
		}
	}
	t.Logf("a warm start_computer: %v", warm/times)

	docker(t, "rm", "--force", c.name)
	a.refused("computer_stopped", "computer_observe", map[string]any{"session": s.id})
	anew := a.call("start_computer", map[string]any{"title": "made again"})
	if id, home := ids(anew); id == computerID || home != homeID {
		t.Errorf("made again it is computer %s with home %s; before it was %s with %s", id, home, computerID, homeID)
	}
	if out, err := c.exec("cat ~/kept"); err != nil || out != "Ελλάδα" {
		t.Errorf("home holds %q, %v", out, err)
	}
}

// C35: the browser opens with Docker's default seccomp profile.
func TestDockerBrowser(t *testing.T) {
	c := newDockerComputer(t)
	s := c.agent().start("browser")
	s.act(map[string]any{"kind": "focus", "application": "chromium", "uri": "data:text/html,<title>it works</title>"})
	s.eventually("a browser window", func() bool {
		return strings.Contains(fmt.Sprint(s.observe().fields["windows"]), "it works")
	})
}

// A container that somebody made of the image by hand is joined as it is.
func TestDockerMadeByHand(t *testing.T) {
	c := newDockerComputer(t)
	ports := fmt.Sprintf("127.0.0.1:%d-%d:%[1]d-%[2]d", c.base, c.base+16)
	base := fmt.Sprint(c.base)
	id := docker(t, "run", "--detach", "--name", c.name, "--volume", c.name+"-home:/home/computer",
		"--publish", "127.0.0.1::7070", "--publish", ports, "--label", "computer-use.port-base="+base,
		os.Getenv(dockerImage), "--listen", "0.0.0.0:7070", "--viewer-listen", "0.0.0.0:"+base, "--port-base", base)
	start := c.agent().call("start_computer", map[string]any{"title": "by hand"})
	if c.id(c.name) != id || !strings.Contains(start.fields["viewer"].(string), base) {
		t.Errorf("container %s, answer %v", c.id(c.name), start.fields)
	}
}

// derive makes an image like the one under test with another version, newer by its
// time.
func derive(t *testing.T, version string) string {
	t.Helper()
	name := fmt.Sprintf("e2e-%d:%s", os.Getpid(), version)
	build := exec.Command("docker", "build", "--quiet", "--tag", name, "-")
	build.Stdin = strings.NewReader(fmt.Sprintf("FROM %s\nLABEL computer-use.version=%s\n", os.Getenv(dockerImage), version))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("docker build: %v\n%s", err, out)
	}
	t.Cleanup(func() { docker(t, "image", "rm", "--force", name) })
	return name
}

// A running computer is never touched, a stopped one is upgraded, and none goes back.
func TestDockerUpgrade(t *testing.T) {
	c := newDockerComputer(t)
	c.agent().start("old")
	old := c.id(c.name)
	if out, err := c.exec("echo precious > ~/file"); err != nil {
		t.Fatal(out, err)
	}
	newer := c.with("COMPUTER_USE_IMAGE="+derive(t, "newer"), "COMPUTER_USE_PORT_BASE=1024")
	newer.agent().start("still the old one")
	if c.id(c.name) != old {
		t.Fatal("a running computer was replaced")
	}
	if out, err := newer.command("info").Output(); err != nil || !strings.Contains(string(out), "docker stop "+c.name) {
		t.Errorf("info does not tell of the upgrade: %v\n%s", err, out)
	}

	docker(t, "stop", c.name)
	start := newer.agent().call("start_computer", map[string]any{"title": "upgraded"})
	upgraded := c.id(c.name)
	if upgraded == old || !strings.Contains(docker(t, "inspect", "--format", "{{.Config.Image}}", upgraded), ":newer") {
		t.Fatal("a stopped computer was not upgraded")
	}
	if !strings.Contains(start.fields["viewer"].(string), fmt.Sprint(c.base)) {
		t.Errorf("the ports moved: %v", start.fields["viewer"])
	}
	if out, err := c.exec("cat ~/file"); err != nil || out != "precious" {
		t.Errorf("home holds %q, %v", out, err)
	}

	docker(t, "stop", c.name)
	c.agent().start("asked for the old image")
	if c.id(c.name) != upgraded {
		t.Error("the computer went back to an older image")
	}
}

// S0x.11: whoever comes first makes the computer, all others join.
func TestDockerTenServersAtOnce(t *testing.T) {
	c := newDockerComputer(t)
	agents := make([]*agent, 10)
	for i := range agents {
		agents[i] = c.agent()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	computers := map[string]int{}
	for _, a := range agents {
		wg.Go(func() {
			got, err := a.try("start_computer", map[string]any{"title": "one of ten"})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			computers[got.fields["computer_id"].(string)]++
		})
	}
	wg.Wait()
	if len(computers) != 1 {
		t.Errorf("computers %v", computers)
	}
}

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
	c.with(fmt.Sprintf("COMPUTER_USE_PORT_BASE=%d", freePorts(t)+34)).agent().start("other ports")
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

// An offline computer reaches nothing, not even this machine, and is reached.
func TestDockerOffline(t *testing.T) {
	c := newDockerComputer(t, "COMPUTER_USE_NETWORK=offline")
	a := c.agent()
	start := a.call("start_computer", map[string]any{"title": "offline"})
	if start.fields["network"] != "offline" {
		t.Errorf("network %v", start.fields["network"])
	}
	s := &session{agent: a, id: start.fields["session"].(string)}
	s.terminal()
	c.watched()

	service, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	_, port, _ := net.SplitHostPort(service.Addr().String())
	gateway := docker(t, "network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", "bridge")
	own := docker(t, "network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", c.name+"-net")
	for _, target := range []string{"1.1.1.1/80", gateway + "/" + port, own + "/" + port} {
		if out, err := c.exec("timeout 5 bash -c 'echo >/dev/tcp/" + target + "'"); err == nil {
			t.Errorf("it reaches %s: %s", target, out)
		}
	}
	begin := time.Now()
	if out, err := c.exec("getent hosts debian.org"); err == nil {
		t.Errorf("it looks names up: %s", out)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("a look-up took %v to fail", took)
	}
	if out, err := c.exec("sudo ip route replace default via " + gateway); err == nil {
		t.Errorf("it changed its routes: %s", out)
	}

	docker(t, "restart", c.name)
	a.start("after a restart").observe()
	c.with("COMPUTER_USE_NETWORK=internet").agent().start("asked for the internet")
	if network := docker(t, "inspect", "--format", `{{index .Config.Labels "computer-use.network"}}`, c.name); network != "offline" {
		t.Errorf("it became %s", network)
	}
}

// A person who asks for an offline computer is not given one that reaches the internet.
func TestDockerNotOffline(t *testing.T) {
	c := newDockerComputer(t)
	c.agent().start("internet")
	c.with("COMPUTER_USE_NETWORK=offline").agent().refused("computer_mismatch", "start_computer", map[string]any{"title": "offline"})
}

// The engine ends in the middle of a call, and comes back. Only an engine of the tests'
// own may be ended so.
func TestDockerEngineStops(t *testing.T) {
	c := newDockerComputer(t)
	const script = "../../scripts/docker-engine"
	if exec.Command(script, "running").Run() != nil {
		t.Skip("the engine is not the tests' own")
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
