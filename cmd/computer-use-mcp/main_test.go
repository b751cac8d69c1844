package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

// TestMain makes the test binary the program itself when a test starts it so.
func TestMain(m *testing.M) {
	if os.Getenv("BE_COMPUTER_USE_MCP") != "" {
		main()
	}
	leaktest.Main(m)
}

// program returns the program as a command.
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append([]string{
		"BE_COMPUTER_USE_MCP=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"XDG_STATE_HOME=" + dir, "XDG_DATA_HOME=" + dir,
		"DOCKER_HOST=unix://" + dir + "/no-engine.sock", // never this machine's own
	}, env...)
	return cmd
}

// commandLine is one with its outcome; stdout and stderr are parts of what is printed.
type commandLine struct {
	args           []string
	status         int
	stdout, stderr string
}

func TestCommandLine(t *testing.T) {
	// Without Docker the local engine serves, where there is one.
	engines := []commandLine{
		{[]string{"stop"}, 1, "", "on Linux only"},
		{[]string{"info"}, 1, "", "no-engine.sock, chosen by the environment variable DOCKER_HOST"},
		{[]string{"logs"}, 1, "", "no-engine.sock"},
	}
	if runtime.GOOS == "linux" {
		engines = []commandLine{
			{[]string{"stop"}, 0, "", "was not running"},
			{[]string{"info"}, 0, "stopped", ""},
			{[]string{"info"}, 0, "no-engine.sock, chosen by the environment variable DOCKER_HOST", ""},
			{[]string{"logs"}, 1, "", "daemon.log"},
			{[]string{"logs", "--lines", "many"}, 2, "", "computer-use-mcp help logs"},
			{[]string{"logs", "--lines", "many"}, 2, "", `"many" for --lines`},
			{[]string{"logs", "--lines"}, 2, "", "--lines needs a value"},
			{[]string{"logs", "--lines", "-1"}, 2, "", "--lines is -1, which is not 0 or more"},
			{[]string{"doctor"}, 1, "1 of 3 checks failed", ""},
			{[]string{"serve", "--http", "0.0.0.0:8080"}, 2, "", "only a loopback address"},
			{[]string{"serve", "--token-file", "x"}, 2, "", "only with --http"},
			{[]string{"serve", "--htp", "127.0.0.1:0"}, 2, "", "did you mean --http?"},
		}
	}
	for _, test := range append(engines, []commandLine{
		{[]string{"version"}, 0, "computer-use-mcp dev", ""},
		{[]string{"--version"}, 0, "computer-use-mcp dev", ""},
		{[]string{"help"}, 0, "info [--json]", ""},
		{[]string{"-h"}, 0, "COMPUTER_USE_ENGINE", ""},
		{[]string{"fly"}, 2, "", `no command "fly"`},
		{[]string{"fly"}, 2, "", "computer-use-mcp help"},
		{[]string{"inof"}, 2, "", "did you mean info?"},
		{[]string{"vers"}, 2, "", "did you mean version?"},
		{[]string{"info", "--xml"}, 2, "", "info has no flag --xml"},
		{[]string{"info", "--jsno"}, 2, "", "did you mean --json?"},
		{[]string{"info", "--help"}, 0, "info --json | jq", ""},
		{[]string{"help", "info"}, 0, "info --json | jq", ""},
		{[]string{"help", "inof"}, 2, "", "did you mean info?"},
		{[]string{"version", "now"}, 2, "", `"now"`},
	}...) {
		cmd := program(t, nil, test.args...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != test.status {
			t.Errorf("%v: status %d, want %d", test.args, got, test.status)
		}
		if !strings.Contains(stdout.String(), test.stdout) || test.stdout == "" && stdout.Len() > 0 {
			t.Errorf("%v: stdout %q", test.args, stdout.String())
		}
		if !strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("%v: stderr %q", test.args, stderr.String())
		}
		if strings.Contains(stderr.String(), "COMPUTER_USE_ENGINE ") {
			t.Errorf("%v: an error is followed by all settings", test.args)
		}
	}
}

// What is printed and lost, as on a full disk, is a failure.
func TestOutputThatDoesNotArrive(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	for _, args := range [][]string{{"version"}, {"help"}, {"config", "codex"}, {"completion", "bash"}} {
		var stderr bytes.Buffer
		a := &app{stdout: w, stderr: &stderr, settings: hostmcp.NewSettings(func(string) string { return "" })}
		if status := a.run(t.Context(), args); status != exitFailed || !strings.Contains(stderr.String(), os.ErrClosed.Error()) {
			t.Errorf("%v: status %d, stderr %q", args, status, stderr.String())
		}
	}
}

func TestReadmeNamesEveryCommand(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		if name := strings.TrimSpace(c.name + " " + c.synopsis()); !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("the README does not name %s", name)
		}
	}
}

// S0-13: a container is the user's to stop.
func TestStopOfAContainer(t *testing.T) {
	out, err := program(t, []string{"COMPUTER_USE_ENGINE=docker", "COMPUTER_USE_NAME=mine"}, "stop").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "docker stop mine") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestInfoJSON(t *testing.T) {
	out, err := program(t, []string{"COMPUTER_USE_ENGINE=local"}, "info", "--json").Output()
	if runtime.GOOS != "linux" {
		if err == nil {
			t.Errorf("an engine that is for Linux only: %s", out)
		}
		return
	}
	var report map[string]any
	if err != nil || json.Unmarshal(out, &report) != nil || report["state"] != "stopped" || report["screens"] == nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// initialize is what a client says first.
const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// startPiped starts a program and returns the other ends of its stdin and stdout.
func startPiped(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// S0-38: without arguments it is the server. Whatever is logged, every line on stdout is a
// message of the protocol.
func TestStdoutIsTheProtocol(t *testing.T) {
	for _, level := range []string{"debug", "info", "warn", "error", "loud"} {
		t.Run(level, func(t *testing.T) {
			cmd := program(t, []string{"COMPUTER_USE_LOG=" + level})
			in, out := startPiped(t, cmd)
			lines := bufio.NewReader(out)
			for _, line := range []string{
				initialize,
				`not a message`,
				`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
				`{"jsonrpc":"2.0","id":2,"method":"no/such"}`,
				`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"start_computer","arguments":{"title":"x"}}}`,
			} {
				fmt.Fprintln(in, line)
				answer, err := lines.ReadBytes('\n')
				var message struct{ JSONRPC string }
				if err != nil || json.Unmarshal(answer, &message) != nil || message.JSONRPC != "2.0" {
					t.Errorf("stdout: %q, %v", answer, err)
				}
			}
			in.Close()
			if rest, _ := lines.ReadString(0); rest != "" {
				t.Errorf("stdout at the end: %q", rest)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A client that closes the pipe it reads from is the end of the session, not a death
// by signal.
func TestClientStopsReading(t *testing.T) {
	cmd := program(t, nil)
	in, out := startPiped(t, cmd)
	out.Close()
	fmt.Fprintln(in, initialize)
	cmd.Wait()
	if !cmd.ProcessState.Exited() {
		t.Errorf("ended by %v", cmd.ProcessState)
	}
}

func TestEngines(t *testing.T) {
	choose := func(env map[string]string) error {
		_, err := chooseEngine(hostmcp.NewSettings(func(name string) string { return env[name] }), nil)
		return err
	}
	for _, test := range []struct {
		env  map[string]string
		code api.Code // empty: an engine
		fix  string
	}{
		{map[string]string{}, "", ""},
		{map[string]string{"COMPUTER_USE_ENGINE": "docker"}, "", ""},
		{map[string]string{"COMPUTER_USE_ENGINE": "docker", "COMPUTER_USE_IMAGE": "--rm"}, api.CodeBadRequest, "COMPUTER_USE_IMAGE"},
		{map[string]string{"COMPUTER_USE_ENGINE": "local"}, "", ""},
		{map[string]string{"COMPUTER_USE_ENGINE": "local", "COMPUTER_USE_NETWORK": "offline"}, api.CodeUnsupported, "COMPUTER_USE_NETWORK"},
		{map[string]string{"COMPUTER_USE_ENGINE": "local", "COMPUTER_USE_PORT_BASE": "1"}, api.CodeBadRequest, "configuration"},
	} {
		err := choose(test.env)
		if test.code == "" && err == nil {
			continue
		}
		if e := api.AsError(err); err == nil || e.Code != test.code || !strings.Contains(e.Error(), test.fix) {
			t.Errorf("%v: %v", test.env, err)
		}
	}
}

// What looks like a setting and is none is named where the server logs.
func TestUnknownSettings(t *testing.T) {
	cmd := program(t, []string{"COMPUTER_USE_SCREENSIZE=800x600", "COMPUTER_USE_NAME=mine", "COMPUTER_USE_SESSION=s", "COMPUTER_USE_UNLIKE_ALL=1"})
	var stderr bytes.Buffer
	cmd.Stderr = &stderr // stdin is empty: the client is gone at once
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if text := stderr.String(); strings.Count(text, "COMPUTER_USE_") != 3 ||
		!strings.Contains(text, "COMPUTER_USE_SCREENSIZE is no setting") || !strings.Contains(text, "mean COMPUTER_USE_SCREEN_SIZE?") ||
		!strings.Contains(text, "COMPUTER_USE_UNLIKE_ALL is no setting") || strings.Count(text, "Did you mean") != 1 || strings.Contains(text, "COMPUTER_USE_SESSION") {
		t.Errorf("%s", text)
	}
}
