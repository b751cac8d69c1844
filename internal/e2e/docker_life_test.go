package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// S0-1, S0-12, S0-15: a computer's life: made, used, stopped, started, removed, made again. Its
// home outlives all of it.
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
	c.watched(first.fields["viewer"].(string))
	s.works(c)
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

	docker(t, "stop", c.name)
	begin = time.Now()
	s = a.start("after the stop")
	s.observe()
	t.Logf("from a stopped computer to the first picture: %v", time.Since(begin))
	again := a.call("start_computer", map[string]any{"title": "again"})
	if id, home := ids(again); id != computerID || home != homeID {
		t.Errorf("after a restart it is computer %s with home %s", id, home)
	}
	if out := s.stdout("cat ~/kept"); out != "Ελλάδα\n" {
		t.Errorf("after a restart home holds %q", out)
	}
	c.watched(first.fields["viewer"].(string)) // S0-178: old links stay valid
	log := docker(t, "logs", c.name)
	if strings.Count(log, "Viewer: http://127.0.0.1:") != 2 || strings.Count(log, "VNC password: ") != 2 {
		t.Errorf("the log does not name the viewer at both starts (S0-14): %s", log)
	}
	if out, err := c.exec("sudo touch /usr/local/bin/installed"); err != nil {
		t.Error(out, err)
	}

	docker(t, "rm", "--force", c.name)
	a.refused("computer_stopped", "computer_observe", map[string]any{"session": s.id})
	anew := a.call("start_computer", map[string]any{"title": "made again"})
	if id, home := ids(anew); id == computerID || home != homeID {
		t.Errorf("made again it is computer %s with home %s; before it was %s with %s", id, home, computerID, homeID)
	}
	if out, err := c.exec("cat ~/kept"); err != nil || out != "Ελλάδα" {
		t.Errorf("home holds %q, %v", out, err)
	}
	if out, err := c.exec("ls /usr/local/bin/installed"); err == nil {
		t.Errorf("%s has survived (S0-33)", out)
	}
}

// works uses the shell and the file tools, and looks at what they did from outside.
func (s *session) works(c *dockerComputer) {
	s.t.Helper()
	if out := s.stdout("id -un; pwd; sudo -n id -un; echo $PATH"); !strings.HasPrefix(out, "computer\n/home/computer\nroot\n/home/computer/.local/bin:") {
		s.t.Errorf("the shell says %q", out)
	}
	on := func(tool string, args map[string]any) answer {
		s.t.Helper()
		args["session"] = s.id
		return s.call(tool, args)
	}
	on("write_file", map[string]any{"path": "notes/a.txt", "content": "one\ntwo\n"})
	on("edit_file", map[string]any{"path": "notes/a.txt", "old_text": "two", "new_text": "2"})
	if got := on("read_file", map[string]any{"path": "/home/computer/notes/a.txt"}); !strings.Contains(got.text, "2") {
		s.t.Errorf("read_file says %q", got.text)
	}
	if out, err := c.exec("cat ~/notes/a.txt; stat --format %U ~/notes/a.txt"); err != nil || out != "one\n2\ncomputer" {
		s.t.Errorf("the file is %q, %v", out, err)
	}
	on("search_files", map[string]any{"pattern": "2", "path": "notes"})
	job := on("shell", map[string]any{"command": "sleep 600 & echo begun; wait", "background": true}).fields["job"].(string)
	on("job_stop", map[string]any{"job": job})
	if out, err := c.exec("pgrep --full --count 'sleep 600'"); err == nil && out != "0" {
		s.t.Errorf("%s processes of a stopped job live", out)
	}
}

// C35: the browser opens with Docker's default seccomp profile.
func TestDockerBrowser(t *testing.T) {
	c := newDockerComputer(t)
	s := c.agent().start("browser")
	s.shell("echo '<title>it works</title>' > ~/page.html")
	s.act(map[string]any{"kind": "focus", "application": "chromium", "uri": "file:///home/computer/page.html"})
	s.eventually("a browser window", func() bool {
		return strings.Contains(fmt.Sprint(s.observe().fields["windows"]), "it works")
	})
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

// S0-6 to S0-10: a running computer is never touched, a stopped one is upgraded, and none
// goes back.
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

// S0-3, S0-11, S0x.11: whoever comes first makes the computer, all others join.
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
