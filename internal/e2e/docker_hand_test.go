package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// joined expects that a server uses the container that somebody made by hand, as it is.
func (c *dockerComputer) joined() {
	c.t.Helper()
	id := c.id(c.name)
	a := c.agent()
	start := a.call("start_computer", map[string]any{"title": "by hand"})
	if now := c.id(c.name); id == "" || now != id {
		c.t.Errorf("container %q, then %q", id, now)
	}
	(&session{agent: a, id: start.fields["session"].(string)}).observe()
	c.watched(start.fields["viewer"].(string))
}

// Issue 7, 9: the line of image/README.md, with a name and ports of this test's own.
func TestDockerRunLine(t *testing.T) {
	c := newDockerComputer(t)
	readme, err := os.ReadFile("../../image/README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile("(?s)```sh\n(docker run --detach.*?)\n```").FindSubmatch(readme)
	if line == nil {
		t.Fatal("the README has no such line any more")
	}
	base := fmt.Sprint(c.base)
	script := strings.NewReplacer(
		"--name computer-use", "--name "+c.name+" --label computer-use.port-base="+base,
		"computer-use-home", c.name+"-home",
		"20900-20916:20900-20916", fmt.Sprintf("%d-%d:%[1]d-%[2]d", c.base, c.base+16),
		"computer-use-mcp:dev", os.Getenv(dockerImage)+" --listen 0.0.0.0:7070 --viewer-listen 0.0.0.0:"+base+" --port-base "+base,
	).Replace(string(line[1]))
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	c.joined()
}

// Issue 7, 9: image/compose.yaml.
func TestDockerCompose(t *testing.T) {
	c := newDockerComputer(t)
	compose := []string{"docker", "compose"}
	if exec.Command("docker", "compose", "version").Run() != nil {
		xvfbtest.Need(t, "docker-compose")
		compose = []string{"docker-compose"}
	}
	run := func(args ...string) {
		t.Helper()
		args = append(append(compose, "--project-name", c.name, "--file", "../../image/compose.yaml"), args...)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(c.env, fmt.Sprintf("COMPUTER_USE_PORTS=%d-%d", c.base, c.base+16))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	defer run("down")
	run("up", "--detach")
	c.joined()
}
