package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// devTools puts mcpc and chrome-devtools-mcp into the computer's home as npm would. What
// they do with the network is written down in files of the home, network.*.
func (c *computer) devTools() {
	c.t.Helper()
	xvfbtest.Need(c.t, "chromium", "node", "strace")
	modules := filepath.Join("tools", "node_modules")
	if !exists(filepath.Join(modules, ".package-lock.json")) {
		xvfbtest.Need(c.t, "the npm packages of image/tools (scripts/install test)")
	}
	lib := filepath.Join(c.home, ".local", "lib")
	if err := os.MkdirAll(lib, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-r", modules, lib).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	for name, script := range map[string]string{
		"mcpc": "@apify/mcpc/bin/mcpc", "chrome-devtools-mcp": "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js",
	} {
		c.write(".local/bin/"+name, fmt.Sprintf("#!/bin/sh\nexec strace -D -f --seccomp-bpf -qq -e trace=connect,sendto,sendmsg -o ~/network.%s.$$ node ~/.local/lib/node_modules/%s \"$@\"\n", name, script), 0o755)
	}
}

// mcpc runs an mcpc command and returns what it says and its exit status. It gives bridges
// 5 s to start, which are too short while other tests run, so it is tried again.
func (s *session) mcpc(command string) (string, float64) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	for {
		got, err := s.tryUntil(ctx, "shell", map[string]any{"session": s.id, "command": "mcpc " + command + " 2>&1"})
		if err != nil {
			s.t.Fatal(err)
		}
		if out := got.fields["stdout"].(string); !strings.Contains(out, "Bridge failed to start") {
			return out, got.fields["exit_code"].(float64)
		}
	}
}

// tool calls a tool of a session's DevTools and returns what it says.
func (s *session) tool(name, tool, args string) string {
	s.t.Helper()
	out, code := s.mcpc(fmt.Sprintf("%s tools-call %s '%s'", name, tool, args))
	if code != 0 {
		s.t.Fatalf("%s %s: %s", tool, args, out)
	}
	return out
}

// servers returns how many processes of chrome-devtools-mcp and its bridges there are.
func (s *session) servers() string {
	s.t.Helper()
	return strings.TrimSpace(s.stdout("ps -e -o args | grep -c -e '[n]ode.*chrome-devtools-mcp' || true"))
}

// S0-214 to S0-223; issue 9, Done when 5.
func TestDevTools(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	site := named(t)
	c := newComputer(t, "COMPUTER_USE_DEVTOOLS_IDLE=4s")
	a := c.agent()
	one, two := a.start("one"), a.start("two")
	if r := one.refused("unsupported", "start_chrome_devtools", map[string]any{"session": one.id}); !strings.Contains(r.Fix, "npm install") {
		t.Errorf("without the packages: %v", r)
	}
	c.devTools()
	type screen struct {
		*session
		name, own, other string
		page             string // id of its page
	}
	screens := []*screen{{one, "@cdt-1", "/own", "/other", ""}, {two, "@cdt-2", "/other", "/own", ""}}
	for _, s := range screens {
		got := s.call("start_chrome_devtools", map[string]any{"session": s.id})
		if want := "mcpc " + s.name + " tools-call <tool> '<json>'"; got.fields["command"] != want || !strings.Contains(got.text, want) || !strings.Contains(got.text, "pageId") {
			t.Errorf("%v: %s", got.fields, got.text)
		}
		s.titled("page "+s.own, s.open(site.URL+s.own))
	}
	for _, s := range screens {
		list := s.tool(s.name, "list_pages", "{}")
		if !strings.Contains(list, s.own) || strings.Contains(list, s.other) {
			t.Fatalf("%s sees %s", s.name, list)
		}
		ids := regexp.MustCompile(`(?m)^(\d+): .*` + s.own).FindStringSubmatch(list)
		if ids == nil {
			t.Fatalf("no page id in %q", list)
		}
		s.page = ids[1]
		if out := s.tool(s.name, "evaluate_script", fmt.Sprintf(`{"pageId":%s,"function":"() => { window.kept = document.title; return window.kept }"}`, s.page)); !strings.Contains(out, "page "+s.own) {
			t.Errorf("%s evaluates to %s", s.name, out)
		}
	}
	// S0-216, S0-217: the named tools; they want to know the page.
	tools, _ := one.mcpc("@cdt-1 tools-list")
	for _, tool := range []string{"list_pages", "take_snapshot", "navigate_page", "evaluate_script", "list_console_messages", "list_network_requests", "take_screenshot"} {
		if !strings.Contains(tools, tool) {
			t.Errorf("no tool %s", tool)
		}
	}
	if out, _ := one.mcpc("@cdt-1 tools-call take_snapshot '{}'"); !strings.Contains(out, "pageId") {
		t.Errorf("without a page: %s", out)
	}

	// S0-53, S0-221: idle, both end; the next call finds the page as it was.
	one.eventually("the end of idle DevTools", func() bool { return one.servers() == "0" })
	for _, s := range screens {
		if out := s.tool(s.name, "evaluate_script", fmt.Sprintf(`{"pageId":%s,"function":"() => window.kept"}`, s.page)); !strings.Contains(out, "page "+s.own) {
			t.Errorf("%s, revived, evaluates to %s", s.name, out)
		}
	}

	// S0-222, S0-223: the end.
	if got := one.call("stop_chrome_devtools", map[string]any{"session": one.id}); got.fields["stopped"] != true {
		t.Errorf("%v", got.fields)
	}
	if bridges := one.stdout("ps -e -o args | grep -e '[@]cdt-1'"); bridges != "" {
		t.Errorf("after the stop there is %s", bridges)
	}
	if out, code := one.mcpc("@cdt-1 tools-call list_pages"); code == 0 {
		t.Errorf("after the stop: %s", out)
	}
	if got := one.call("stop_chrome_devtools", map[string]any{"session": one.id}); got.fields["stopped"] != false {
		t.Errorf("%v", got.fields)
	}
	one.titled("page /own", one.observe())
	two.call("start_chrome_devtools", map[string]any{"session": two.id}) // again: nothing is in the way
	two.end()
	one.eventually("the end of the other session's DevTools", func() bool { return one.servers() == "0" })
	var sessions struct{ Sessions map[string]any }
	data, err := os.ReadFile(filepath.Join(c.home, ".mcpc", "sessions.json"))
	if err == nil {
		err = json.Unmarshal(data, &sessions)
	}
	if err != nil || len(sessions.Sessions) > 0 {
		t.Errorf("mcpc still knows %v, %v", sessions.Sessions, err)
	}
	c.quiet()
}

// quiet checks that nothing of devTools has tried to reach anything but this computer: no
// connection, no look-up of a name (S0-219; issue 9, item 4).
func (c *computer) quiet() {
	c.t.Helper()
	files, _ := filepath.Glob(filepath.Join(c.home, "network.*"))
	if len(files) < 4 {
		c.t.Errorf("only %d programs were traced", len(files))
	}
	browser := false
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			c.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			switch {
			case !strings.Contains(line, "sa_family=AF_INET"):
			case strings.Contains(line, `"127.0.0.1"`) && !strings.Contains(line, "htons(53)"):
				browser = true
			default:
				c.t.Errorf("%s: %s", filepath.Base(file), line)
			}
		}
	}
	if !browser {
		c.t.Error("not even the connection to the browser was traced")
	}
}

// S0-51: a start may take a minute, which the user must allow.
func TestDevToolsNeedAMinute(t *testing.T) {
	c := newComputer(t, "COMPUTER_USE_SHELL_TIMEOUT_MAX=59")
	s := c.agent().start("short")
	if r := s.refused("unsupported", "start_chrome_devtools", map[string]any{"session": s.id}); !strings.Contains(r.Fix, "COMPUTER_USE_SHELL_TIMEOUT_MAX") {
		t.Errorf("%v", r)
	}
}
