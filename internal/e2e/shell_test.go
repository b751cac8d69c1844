package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// shell runs a command that must come to its end.
func (s *session) shell(command string) answer {
	s.t.Helper()
	return s.call("shell", map[string]any{"session": s.id, "command": command})
}

// stdout runs a command and returns what it prints.
func (s *session) stdout(command string) string {
	s.t.Helper()
	return s.shell(command).fields["stdout"].(string)
}

// S0-88 to S0-95.
func TestShell(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("Commands")
	got := s.shell("echo out; echo err >&2; exit 3")
	if got.fields["exit_code"] != 3.0 || got.fields["stdout"] != "out\n" || got.fields["stderr"] != "err\n" || got.fields["timed_out"] != false {
		t.Errorf("%v", got.fields)
	}
	if _, ok := got.fields["duration_ms"].(float64); !ok || !strings.Contains(got.text, "Exit code 3") {
		t.Errorf("%s", got.text)
	}
	if out := s.stdout("pwd; id -un; cat; echo $DISPLAY"); out != "/home/computer\ncomputer\n\n" {
		t.Errorf("%q", out)
	}
	if out := s.stdout("echo $PATH; echo $LANG; env"); !strings.HasPrefix(out, "/home/computer/.local/bin:") || !strings.Contains(out, "UTF-8") {
		t.Errorf("%q", out)
	}
	s.observe() // S0-92: with a screen, commands have it
	if out := s.stdout("echo $DISPLAY; test -r $XAUTHORITY && echo readable"); out != c.info().Screens[0].Display+"\nreadable\n" {
		t.Errorf("with a screen: %q", out)
	}
	// No token, in the environment or in a file.
	token := c.token()
	if out := s.stdout("env; cat /proc/1/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; grep -rs . /run /tmp ~ 2>/dev/null | head -c 1000000"); strings.Contains(out, token) {
		t.Error("a command can see the token")
	}
}

// token returns the computer's bearer token, as the host side reads it.
func (c *computer) token() string {
	c.t.Helper()
	var token string
	filepath.WalkDir(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(c.home)))), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "token" {
			data, _ := os.ReadFile(path)
			token = strings.TrimSpace(string(data))
		}
		return nil
	})
	if token == "" {
		c.t.Fatal("no token")
	}
	return token
}

// S0-34: npm install -g and pip install need no rights; what they install is in home and
// on PATH.
func TestInstallIntoHome(t *testing.T) {
	xvfbtest.Need(t, "npm")
	s := newComputer(t).agent().start("Packages")
	s.on("write_file", map[string]any{"path": "hello/package.json", "content": `{"name": "hello", "version": "1.0.0", "bin": "hello"}`})
	s.on("write_file", map[string]any{"path": "hello/hello", "content": "#!/bin/sh\necho from npm\n"})
	got := s.shell("npm install --global --offline --no-audit --no-fund ./hello && hello && command -v hello")
	if !strings.HasSuffix(got.fields["stdout"].(string), "from npm\n/home/computer/.local/bin/hello\n") {
		t.Errorf("npm: %s", got.text)
	}
	if out := s.stdout("cat /etc/pip.conf"); out != "[global]\nbreak-system-packages = true\n" {
		t.Errorf("pip.conf: %q", out)
	}
}

// S0-102, S0-103, S0-104.
func TestSetCwd(t *testing.T) {
	s := newComputer(t).agent().start("Folders")
	s.shell("mkdir -p 'a b/c'; touch file")
	for _, step := range []struct{ path, cwd string }{
		{"a b", "/home/computer/a b"}, {"c", "/home/computer/a b/c"}, {"..", "/home/computer/a b"}, {"/tmp", "/tmp"}, {"~/a b/c", "/home/computer/a b/c"}, {"~", "/home/computer"},
	} {
		if got := s.call("set_cwd", map[string]any{"session": s.id, "path": step.path}); got.fields["cwd"] != step.cwd {
			t.Errorf("%s: %v", step.path, got.fields)
		}
		if out := s.stdout("pwd"); out != step.cwd+"\n" {
			t.Errorf("%s: a command runs in %q", step.path, out)
		}
	}
	s.refused("not_found", "set_cwd", map[string]any{"session": s.id, "path": "nowhere"})
	s.refused("not_a_folder", "set_cwd", map[string]any{"session": s.id, "path": "file"})
	s.refused("permission_denied", "set_cwd", map[string]any{"session": s.id, "path": "/proc/1/fd"})
	if out := s.stdout("pwd"); out != "/home/computer\n" {
		t.Errorf("after refusals: %q", out)
	}
}

// C42, C43, S0-96, S0-97, and S0-48 to S0-50 through the settings.
func TestShellTimeouts(t *testing.T) {
	c := newComputer(t, "COMPUTER_USE_SHELL_TIMEOUT_MAX=2")
	s := c.agent().start("Timeouts")
	for _, args := range []map[string]any{
		{"command": "echo a; sleep 100 & echo $! > pid; wait", "timeout": 0.5},
		{"command": "echo a; sleep 100 & echo $! > pid; wait"},                  // the maximum is the default too
		{"command": "echo a; sleep 100 & echo $! > pid; wait", "timeout": 1000}, // and applies to this
	} {
		args["session"] = s.id
		start := time.Now()
		got, err := s.try("shell", args)
		r, ok := err.(*refusal)
		if !ok || r.Code != "timeout" || !strings.Contains(got.text, "stdout:\na") {
			t.Fatalf("%v: %v, %q", args, err, got.text)
		}
		if args["timeout"] == 1000 && !strings.Contains(got.text, "The timeout was 2s, the longest that the user allows, and not 16m40s.") {
			t.Errorf("a timeout above the maximum: %s", got.text)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%v: back after %v", args, took)
		}
		if out := s.stdout("ps -o stat= -p $(cat pid); true"); out != "" && !strings.HasPrefix(out, "Z") {
			t.Errorf("%v: the child lives: %q", args, out)
		}
	}
}

// C40, C41: what is left in the background holds nothing up.
func TestBackground(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("Servers")
	start := time.Now()
	if out := s.stdout("(while :; do echo x; sleep .1; done) & echo done"); !strings.Contains(out, "done\n") {
		t.Errorf("%q", out)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the loop held the call up for %v", took)
	}
	s.on("write_file", map[string]any{"path": "serve.py", "content": `
from http.server import *
server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
open("port", "w").write(str(server.server_port))
server.serve_forever()
`})
	start = time.Now()
	if out := s.stdout("python3 serve.py & echo ok"); out != "ok\n" {
		t.Errorf("%q", out)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the server held the call up for %v", took)
	}
	s.eventually("the server answers", func() bool {
		return strings.Contains(s.stdout(`python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:"+open("port").read()).status)'`), "200")
	})
	s.end()
	s = c.agent().start("After")
	s.eventually("the server is gone", func() bool { return !strings.Contains(s.stdout("ps ax"), "serve.py") })
}

// Jobs: started, read, stopped, listed, and ended with their session unless kept.
func TestJobs(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	s := a.start("Jobs")
	job := func(command string, more ...any) string {
		args := map[string]any{"session": s.id, "command": command, "background": true}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return s.call("shell", args).fields["job"].(string)
	}
	first := job("echo one; echo two >&2; sleep 1001")
	kept := job("echo kept; sleep 1002", "keep", true)
	got := s.call("job_output", map[string]any{"session": s.id, "job": first, "wait_ms": 5000})
	if out, _ := got.fields["output"].(string); !strings.HasPrefix(out, "one\n") || got.fields["running"] != true {
		t.Errorf("%v", got.fields)
	}
	if got := s.call("job_list", map[string]any{"session": s.id}); len(got.fields["jobs"].([]any)) != 2 {
		t.Errorf("%v", got.fields)
	}
	if got := s.call("job_stop", map[string]any{"session": s.id, "job": first}); got.fields["running"] != false {
		t.Errorf("%v", got.fields)
	}
	over := job("true")
	for s.call("job_output", map[string]any{"session": s.id, "job": over, "wait_ms": 10000}).fields["running"] == true {
	}
	if got := s.call("job_stop", map[string]any{"session": s.id, "job": over}); !strings.Contains(got.text, "had ended before") {
		t.Errorf("a stop of a job that is over says %q", got.text)
	}
	s.refused("not_found", "job_output", map[string]any{"session": s.id, "job": "none"})
	job("sleep 1003")
	s.end()

	s = a.start("More jobs")
	if out := s.stdout("ps ax"); strings.Contains(out, "sleep 1001") || strings.Contains(out, "sleep 1003") || !strings.Contains(out, "sleep 1002") {
		t.Errorf("after the end of their session:\n%s", out)
	}
	if got := s.call("job_stop", map[string]any{"session": s.id, "job": kept}); got.fields["running"] != false {
		t.Errorf("%v", got.fields)
	}
}
