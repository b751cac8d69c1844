package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// launch is what a client makes of its configuration.
type launch struct {
	command string
	args    []string
	env     map[string]string
}

// awkward are paths that need quoting in one form or another.
var awkward = []string{
	"/usr/local/bin/computer-use-mcp",
	`/home/o'hara/my "tools"/$HOME & <co>/computer-use-mcp`,
	`C:\Users\Ann Other\bin\computer-use-mcp.exe`,
	`C:\new\tables\computer-use-mcp.exe`,
	"/home/Zoë/程序/computer-use-mcp",
}

// parsers read each client's snippet as the client does.
var parsers = map[string]func(t *testing.T, snippet, goos string) launch{
	"claude-code":    parseShell,
	"claude-desktop": jsonParser("mcpServers"),
	"codex":          parseTOML,
	"cursor":         jsonParser("mcpServers"),
	"vscode":         jsonParser("servers"),
	"opencode":       jsonParser("mcp"),
	"gemini":         jsonParser("mcpServers"),
}

func jsonParser(servers string) func(*testing.T, string, string) launch {
	return func(t *testing.T, snippet, _ string) launch {
		t.Helper()
		var file map[string]json.RawMessage
		var entries map[string]struct {
			Command          any
			Args             []string
			Env, Environment map[string]string
		}
		if err := json.Unmarshal([]byte(snippet), &file); err != nil {
			t.Fatalf("%v\n%s", err, snippet)
		}
		if err := json.Unmarshal(file[servers], &entries); err != nil {
			t.Fatalf("%v\n%s", err, snippet)
		}
		e := entries["computer"]
		l := launch{args: e.Args, env: e.Env}
		switch command := e.Command.(type) {
		case string:
			l.command = command
		case []any: // OpenCode's, with the arguments
			l.command, l.env = command[0].(string), e.Environment
		}
		return l
	}
}

// parseTOML reads what the snippet uses of TOML: tables, and keys with strings and
// numbers as in JSON.
func parseTOML(t *testing.T, snippet, goos string) launch {
	t.Helper()
	tables := map[string]map[string]any{}
	var table map[string]any
	for line := range strings.Lines(snippet) {
		line = strings.TrimSpace(line)
		key, value, isValue := strings.Cut(line, " = ")
		switch {
		case line == "":
		case strings.HasPrefix(line, "["):
			table = map[string]any{}
			tables[strings.Trim(line, "[]")] = table
		case isValue:
			var v any
			if err := json.Unmarshal([]byte(value), &v); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			table[key] = v
		default:
			t.Fatalf("not understood: %s", line)
		}
	}
	l := launch{command: tables["mcp_servers.computer"]["command"].(string)}
	for name, value := range tables["mcp_servers.computer.env"] {
		if l.env == nil {
			l.env = map[string]string{}
		}
		l.env[name] = value.(string)
	}
	return l
}

// Python has had a TOML parser since 3.11; it reads the same.
func TestConfigIsTOML(t *testing.T) {
	xvfbtest.Need(t, "python3")
	path := awkward[1] + awkward[2]
	cmd := exec.Command("python3", "-c", "import json, sys, tomllib; json.dump(tomllib.loads(sys.stdin.read()), sys.stdout)")
	cmd.Stdin = strings.NewReader(codex(mcpServer{command: path, env: []envVar{{"A", path}}}))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	l := jsonParser("mcp_servers")(t, string(out), "")
	if l.command != path || l.env["A"] != path {
		t.Errorf("%+v", l)
	}
}

// parseShell runs the command line with a claude that prints its arguments, or splits
// it as PowerShell does.
func parseShell(t *testing.T, snippet, goos string) launch {
	t.Helper()
	var words []string
	if goos == "windows" {
		words = powerShellWords(snippet)[1:]
	} else {
		out, err := exec.Command("sh", "-c", `claude() { for w; do printf '%s\0' "$w"; done; }; `+snippet).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, snippet)
		}
		words = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	l := launch{}
	head, tail := words, []string(nil)
	for i, w := range words {
		if w == "--" {
			head, tail = words[:i], words[i+1:]
			break
		}
	}
	for i := 2; i < len(head); i++ { // after "mcp add"
		switch head[i] {
		case "--env":
			i++
			name, value, _ := strings.Cut(head[i], "=")
			if l.env == nil {
				l.env = map[string]string{}
			}
			l.env[name] = value
		case "--scope":
			i++
		case "computer":
		default:
			t.Errorf("claude would not understand %q in %s", head[i], snippet)
		}
	}
	if len(tail) == 0 {
		t.Fatalf("no command: %s", snippet)
	}
	l.command, l.args = tail[0], tail[1:]
	return l
}

// powerShellWords splits a line at spaces outside of single quotes; two quotes inside
// stand for one.
func powerShellWords(line string) (words []string) {
	word, quoted := "", false
	runes := []rune(strings.TrimSpace(line) + " ")
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\'' && quoted && runes[i+1] == '\'':
			word += "'"
			i++
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			words = append(words, word)
			word = ""
		default:
			word += string(r)
		}
	}
	return words
}

// S1-26 and issue 10, item 2: what each client reads is the path as it is, and the settings.
func TestConfigSnippets(t *testing.T) {
	env := []envVar{{"COMPUTER_USE_ENGINE", "local"}, {"COMPUTER_USE_VNC_VIEWER", `C:\it's here\v.exe`}}
	for _, c := range mcpClients {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range awkward {
				goos := "linux"
				if strings.Contains(path, `:\`) {
					goos = "windows"
				}
				if c.name == "claude-code" && goos != runtime.GOOS && runtime.GOOS == "windows" {
					continue // its reader needs sh
				}
				if c.where(goos) == "" {
					t.Error("nothing says where it goes")
				}
				for _, env := range [][]envVar{nil, env} {
					got := parsers[c.name](t, c.snippet(mcpServer{command: path, env: env, goos: goos}), goos)
					if got.command != path || len(got.args) > 0 {
						t.Errorf("%q %q, want %q", got.command, got.args, path)
					}
					want := map[string]string(nil)
					for _, v := range env {
						if want == nil {
							want = map[string]string{}
						}
						want[v.name] = v.value
					}
					if !reflect.DeepEqual(got.env, want) {
						t.Errorf("the settings are %q, want %q", got.env, want)
					}
				}
			}
		})
	}
}

// S2-53 and issue 10, item 2: what is printed, in which there is no secret, starts a server
// that answers.
func TestConfigStartsAServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "a dir with spaces", "computer-use-mcp"+filepath.Ext(self))
	if err := os.Mkdir(filepath.Dir(copied), 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range mcpClients {
		t.Run(c.name, func(t *testing.T) {
			cmd := program(t, []string{"COMPUTER_USE_LOG=error"}, "config", c.name)
			cmd.Path = copied
			var place strings.Builder
			cmd.Stderr = &place
			snippet, err := cmd.Output()
			if err != nil || !strings.HasPrefix(place.String(), c.title+": ") {
				t.Fatalf("%v\n%s", err, place.String())
			}
			l := parsers[c.name](t, string(snippet), runtime.GOOS)
			if l.env["COMPUTER_USE_LOG"] != "error" || len(l.env) != 1 {
				t.Errorf("the settings are %q", l.env)
			}
			server := exec.Command(l.command, l.args...)
			server.Env = program(t, nil).Env
			for name, value := range l.env {
				server.Env = append(server.Env, fmt.Sprintf("%s=%s", name, value))
			}
			if err := answers(server); err != nil {
				t.Error(err)
			}
		})
	}
}

// answers says hello to an MCP server over stdio and ends it.
func answers(server *exec.Cmd) error {
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"serverInfo"`) {
		err = fmt.Errorf("it answers %q, %v", line, err)
	}
	in.Close()
	return errors.Join(err, server.Wait())
}

func TestConfigRefuses(t *testing.T) {
	for _, test := range []struct {
		env  []string
		args []string
		want []string
	}{
		{nil, []string{"config", "emacs"}, mcpClientNames()},
		{nil, []string{"config"}, mcpClientNames()},
		{nil, []string{"config", "cursr"}, []string{"did you mean cursor?"}},
		{[]string{"COMPUTER_USE_ENGINE=vm"}, []string{"config", "cursor"}, []string{"COMPUTER_USE_ENGINE", "vm"}},
	} {
		out, err := program(t, test.env, test.args...).CombinedOutput()
		if err == nil {
			t.Errorf("%v works", test.args)
		}
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v does not say %s:\n%s", test.args, want, out)
			}
		}
	}
}
