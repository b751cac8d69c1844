package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/freeports"
)

// The tests of the Docker engine need an engine and the slim image; `make e2e-docker`
// sees to both and names the image in this variable.
const dockerImage = "E2E_DOCKER_IMAGE"

// dockerComputer is a computer in a container, with a name and ports of its own.
type dockerComputer struct {
	*computer
	name string
	dial func(address string) (net.Conn, error) // as a program that watches does
}

func newDockerComputer(t testing.TB, settings ...string) *dockerComputer {
	t.Helper()
	image := os.Getenv(dockerImage)
	if image == "" {
		t.Skip("SKIPPED: this test needs Docker: run make e2e-docker")
	}
	c := &dockerComputer{computer: &computer{t: t, base: freeports.Row(t, 17)}}
	c.dial = func(address string) (net.Conn, error) { return net.DialTimeout("tcp", address, 10*time.Second) }
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
	return &dockerComputer{computer: &other, name: c.name, dial: c.dial}
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

// ids are the identity in an answer of start_computer.
func ids(a answer) (computer, home string) {
	return a.fields["computer_id"].(string), a.fields["home_id"].(string)
}
