package e2e

import (
	"net"
	"strings"
	"testing"
	"time"
)

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
	c.watched(start.fields["viewer"].(string))

	service, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	_, port, _ := net.SplitHostPort(service.Addr().String())
	gateway := docker(t, "network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", "bridge")
	targets := []string{"1.1.1.1/80", gateway + "/" + port}
	if c.id(c.name+"-relay") != "" { // with Podman there is neither a relay nor a network
		own := docker(t, "network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", c.name+"-net")
		targets = append(targets, own+"/"+port)
	}
	reached, err := c.exec("for t in " + strings.Join(targets, " ") + "; do (timeout 5 bash -c \"echo >/dev/tcp/$t\" 2>/dev/null && echo $t) & done; wait")
	if err != nil || reached != "" {
		t.Errorf("it reaches %s, %v", reached, err)
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
