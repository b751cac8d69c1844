package docker

import (
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
)

// Issue 7, item 8: what doctor says of an engine and a container in every state.
func TestDiagnose(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(*stub)
		change  func(*Config)
		failed  string   // names of checks
		says    []string // in details and fixes
	}{
		{"nothing yet", nil, nil, "", []string{"version 27.1", stubHost, "profile builtin", "computer:1, version 1.0.0", "c does not exist yet", "21000 to 21016 are free"}},
		{"no engine", func(s *stub) { s.fail["GET info"] = stubError{500, "it is ill"} }, nil, "docker", []string{"it is ill"}},
		{"no such container call", func(s *stub) { s.fail["GET json"] = stubError{500, "it is ill"} }, nil, "container", []string{"it is ill"}},
		{"no image", func(s *stub) { clear(s.images) }, nil, "image", []string{"docker pull computer:1"}},
		{"no image of a release", func(s *stub) { clear(s.images) }, func(c *Config) { c.Version = "1.0.0" }, "image", []string{"docker pull computer:1", "start_computer"}},
		{"running", func(s *stub) { ensure(s.t, s.engine()) }, nil, "", []string{"c, running, of computer:1", "published by Docker"}},
		{"image gone", func(s *stub) { ensure(s.t, s.engine()); clear(s.images) }, nil, "", []string{"not on this engine"}},
		{"stopped", func(s *stub) { ensure(s.t, s.engine()); s.set("c", container.StateExited) }, nil, "", []string{"c, exited", "are free"}},
		{"paused", func(s *stub) { ensure(s.t, s.engine()); s.set("c", container.StatePaused) }, nil, "container", []string{"docker unpause c"}},
		{"another port", func(s *stub) { ensure(s.t, s.engine()) }, func(c *Config) { c.PortBase = 22000 }, "", []string{"keeps COMPUTER_USE_PORT_BASE=21000"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStub(t)
			if test.prepare != nil {
				test.prepare(s)
			}
			var changes []func(*Config)
			if test.change != nil {
				changes = append(changes, test.change)
			}
			made := s.count("POST", "")
			checks := s.engine(changes...).Diagnose(t.Context())
			if s.count("POST", "") != made {
				t.Error("it changed something")
			}
			var failed, said []string
			for _, c := range checks {
				said = append(said, c.Name+": "+c.Detail+" "+c.Fix)
				if !c.OK {
					failed = append(failed, c.Name)
				}
				if c.OK != (c.Fix == "") {
					t.Errorf("%+v: a fix belongs to what failed", c)
				}
			}
			all := strings.Join(said, "\n")
			if strings.Join(failed, " ") != test.failed {
				t.Errorf("failed: %v\n%s", failed, all)
			}
			for _, want := range test.says {
				want = strings.ReplaceAll(want, stubHost, s.host)
				if !strings.Contains(all, want) {
					t.Errorf("%q is not in\n%s", want, all)
				}
			}
		})
	}
}

// stubHost stands for the stub's address.
const stubHost = "HOST"

func TestDiagnoseEndpoint(t *testing.T) {
	s := newStub(t)
	e := s.engine(func(c *Config) { c.Getenv = env(map[string]string{"DOCKER_HOST": "ssh://far"}) })
	checks := e.Diagnose(t.Context())
	if len(checks) != 1 || checks[0].OK || checks[0].Fix == "" {
		t.Errorf("%+v", checks)
	}
}

// COMPUTER_USE_LOG=debug reaches the daemon of a container that is made.
func TestDebugLog(t *testing.T) {
	for _, debug := range []bool{false, true} {
		s := newStub(t)
		ensure(t, s.engine(func(c *Config) { c.Debug = debug }))
		if got := strings.HasSuffix(strings.Join(s.find("c").request.Cmd, " "), "--log debug"); got != debug {
			t.Errorf("debug %v: %q", debug, s.find("c").request.Cmd)
		}
	}
}
