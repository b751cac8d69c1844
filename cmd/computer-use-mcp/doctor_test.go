package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/freeports"
)

// doctorSays runs doctor, for ports that are free unless env has others, and returns its
// diagnosis and what it shows a person, which are the same checks.
func doctorSays(t *testing.T, env ...string) (d diagnosis, shown string) {
	t.Helper()
	env = append([]string{"COMPUTER_USE_PORT_BASE=" + strconv.Itoa(freeports.Row(t, 17))}, env...)
	out, err := program(t, env, "doctor", "--json").Output()
	if jsonErr := json.Unmarshal(out, &d); jsonErr != nil {
		t.Fatalf("%v, %v:\n%s", err, jsonErr, out)
	}
	if (err == nil) != d.OK {
		t.Errorf("status %v for ok %v", err, d.OK)
	}
	cmd := program(t, env, "doctor")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its status is the same
	if cmd.ProcessState.Success() != d.OK || stderr.Len() > 0 {
		t.Errorf("%v\n%s", cmd.ProcessState, stderr.String())
	}
	shown = stdout.String()
	for _, c := range d.Checks {
		mark := "ok "
		if !c.OK {
			mark = "!  "
			if c.Fix == "" {
				t.Errorf("%s says no fix: %s", c.Name, c.Detail)
			}
		}
		if !strings.Contains(shown, mark+c.Name) || !strings.Contains(shown, c.Fix) {
			t.Errorf("%+v is not shown:\n%s", c, shown)
		}
	}
	if strings.Contains(shown, "\x1b") {
		t.Errorf("colours in a pipe: %q", shown)
	}
	return d, shown
}

// failures are the names of the checks that failed, in order.
func (d diagnosis) failures() string {
	var names []string
	for _, c := range d.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, " ")
}

// Issue 7, item 8: each missing thing is one line with its fix, and nothing follows from it.
func TestDoctorWithoutAnything(t *testing.T) {
	for _, test := range []struct {
		env      []string
		failures string
		shown    string
	}{
		{nil, "docker", "no-engine.sock, chosen by the environment variable DOCKER_HOST"},
		{[]string{"DOCKER_HOST=ssh://far"}, "docker", "ssh"},
		{[]string{"COMPUTER_USE_ENGINE=moon"}, "settings", `"moon"`},
		{[]string{"COMPUTER_USE_ENGINE=moon", "COMPUTER_USE_LOG=loud"}, "settings settings", `"loud"`},
		{[]string{"COMPUTER_USE_SCREENSIZE=800x600"}, "docker settings", "COMPUTER_USE_SCREENSIZE is no setting and has no effect.\n              Did you mean COMPUTER_USE_SCREEN_SIZE?"},
		{[]string{"COMPUTER_USE_ENGINE=local", "COMPUTER_USE_NETWORK=offline"}, "engine", "COMPUTER_USE_NETWORK"},
		{[]string{"COMPUTER_USE_ENGINE=local", "PATH=/nowhere"}, "computerd bwrap Xvfb fluxbox", "apt-get install bubblewrap"},
		{[]string{"COMPUTER_USE_ENGINE=local", "PATH=/nowhere", "COMPUTER_USE_LOCAL_SANDBOX=off"}, "computerd Xvfb fluxbox", "UNSAFE"},
	} {
		if runtime.GOOS != "linux" && strings.Contains(strings.Join(test.env, " "), "PATH") {
			continue
		}
		d, shown := doctorSays(t, test.env...)
		if d.failures() != test.failures || !strings.Contains(shown, test.shown) {
			t.Errorf("%v: failed %q, want %q, with %s:\n%s", test.env, d.failures(), test.failures, test.shown, shown)
		}
	}
}

// An engine that answers and has no image: one line.
func TestDoctorWithoutAnImage(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	stub := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.45")
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/info") {
			_, _ = w.Write([]byte(`{"ServerVersion":"27.1","OperatingSystem":"Debian","OSType":"linux","SecurityOptions":["name=seccomp,profile=builtin"]}`))
		} else if !strings.HasSuffix(r.URL.Path, "/_ping") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"message":"no such thing"}`))
		}
	})}}
	stub.Start()
	defer stub.Close()
	d, shown := doctorSays(t, "DOCKER_HOST=unix://"+socket)
	for _, want := range []string{"version 27.1, API 1.45, Debian, at unix://" + socket + ", chosen by the environment variable DOCKER_HOST", "profile builtin", "make image"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not in\n%s", want, shown)
		}
	}
	if d.failures() != "image" || d.Engine != "docker" {
		t.Errorf("%+v", d)
	}
}
