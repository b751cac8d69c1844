package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// devTools puts mcpc and chrome-devtools-mcp into the computer's home as npm would. Of mcpc it
// changes one thing: the 5 s that a bridge has to start are too short while other tests run.
func (c *computer) devTools() {
	c.t.Helper()
	xvfbtest.Need(c.t, "chromium", "node")
	modules := filepath.Join("tools", "node_modules")
	if !exists(filepath.Join(modules, ".package-lock.json")) {
		xvfbtest.Need(c.t, "the npm packages of image/tools (scripts/install test)")
	}
	for name, script := range map[string]string{
		"mcpc": "@apify/mcpc/bin/mcpc", "chrome-devtools-mcp": "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js",
	} {
		c.write(".local/bin/"+name, fmt.Sprintf("#!/bin/sh\nexec node ~/.local/lib/node_modules/%s \"$@\"\n", script), 0o755)
	}
	lib := filepath.Join(c.home, ".local", "lib")
	if err := os.MkdirAll(lib, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-r", modules, lib).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	manager := filepath.Join(lib, "node_modules", "@apify", "mcpc", "dist", "lib", "bridge-manager.js")
	source, err := os.ReadFile(manager)
	patient := strings.Replace(string(source), "timeoutMs: 5000", "timeoutMs: 60000", 1)
	if err == nil {
		err = os.WriteFile(manager, []byte(patient), 0o644)
	}
	if err != nil || patient == string(source) {
		c.t.Fatalf("mcpc has no time to start a bridge in %s: %v", manager, err)
	}
}

// mcpc runs an mcpc command and returns what it says and its exit status.
func (s *session) mcpc(command string) (string, float64) {
	s.t.Helper()
	got, err := s.within(2*time.Minute, "shell", map[string]any{"session": s.id, "command": "mcpc " + command + " 2>&1"})
	if err != nil {
		s.t.Fatal(err)
	}
	return got.fields["stdout"].(string), got.fields["exit_code"].(float64)
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

// screen is a session whose browser shows a page of its own.
type screen struct {
	*session
	name       string // mcpc's for its DevTools
	own, other string // paths of its page and of the other screen's
	page       string // its page's id
}

// sideBySide does something on all screens at once, and ends the test unless it succeeds.
func sideBySide(t *testing.T, what string, screens []*screen, do func(*screen)) {
	t.Helper()
	ok := t.Run(what, func(t *testing.T) {
		for _, s := range screens {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.session = &session{agent: &agent{t: t, client: s.client, process: s.process}, id: s.id}
				do(s)
			})
		}
	})
	if !ok {
		t.FailNow()
	}
}

// S0-214 to S0-223; issue 9, item 4 and Done when 5. All of it happens where there is no way
// to any other computer.
func TestDevTools(t *testing.T) {
	xvfbtest.NeedThat(t, os.Getuid() == 0, "root, to make a network without a way out")
	xvfbtest.Need(t, "chromium")
	away := newIsland(t)
	site := httptest.NewUnstartedServer(http.HandlerFunc(serveName))
	site.Listener.Close()
	var err error
	away.in(func() { site.Listener, err = net.Listen("tcp", "127.0.0.1:0") })
	if err != nil {
		t.Fatal(err)
	}
	site.Start()
	t.Cleanup(site.Close)
	c := newComputer(t, "COMPUTER_USE_DEVTOOLS_IDLE=4s")
	c.via = []string{"nsenter", "--net=" + away.path}
	a := c.agent()
	one, two := a.start("one"), a.start("two")
	if r := one.refused("unsupported", "start_chrome_devtools", map[string]any{"session": one.id}); !strings.Contains(r.Fix, "npm install") {
		t.Errorf("without the packages: %v", r)
	}
	if running := c.browsers(); len(running) > 0 {
		t.Errorf("a browser was started for what is not installed: %v", running)
	}
	c.devTools()
	screens := []*screen{{one, "@cdt-1", "/own", "/other", ""}, {two, "@cdt-2", "/other", "/own", ""}}
	sideBySide(t, "attached", screens, func(s *screen) {
		got := s.call("start_chrome_devtools", map[string]any{"session": s.id})
		if want := "mcpc " + s.name + " tools-call <tool> '<json>'"; got.fields["command"] != want || !strings.Contains(got.text, want) || !strings.Contains(got.text, "pageId") {
			s.t.Errorf("%v: %s", got.fields, got.text)
		}
		s.titled("page "+s.own, s.open(site.URL+s.own))
	})
	sideBySide(t, "called", screens, func(s *screen) {
		list := s.tool(s.name, "list_pages", "{}")
		if !strings.Contains(list, s.own) || strings.Contains(list, s.other) {
			s.t.Fatalf("it sees %s", list)
		}
		ids := regexp.MustCompile(`(?m)^(\d+): .*` + s.own).FindStringSubmatch(list)
		if ids == nil {
			s.t.Fatalf("no page id in %q", list)
		}
		s.page = ids[1]
		if out := s.tool(s.name, "evaluate_script", fmt.Sprintf(`{"pageId":%s,"function":"() => { window.kept = document.title; return window.kept }"}`, s.page)); !strings.Contains(out, "page "+s.own) {
			s.t.Errorf("it evaluates to %s", out)
		}
	})
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

	// S0-221: idle, both end; the next call finds the page as it was.
	one.eventually("the end of idle DevTools", func() bool { return one.servers() == "0" })
	sideBySide(t, "revived", screens, func(s *screen) {
		if out := s.tool(s.name, "evaluate_script", fmt.Sprintf(`{"pageId":%s,"function":"() => window.kept"}`, s.page)); !strings.Contains(out, "page "+s.own) {
			s.t.Errorf("it evaluates to %s", out)
		}
	})

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

	// S0-219; issue 9, item 4: all this time nothing has looked for another computer, nor has
	// Chromium by itself. What does look is noticed.
	if tried := callsOut(t, away); tried != "" {
		t.Errorf("something has tried to reach another computer: %s", tried)
	}
	for _, command := range []string{"getent ahosts www.example.com", ": </dev/tcp/198.51.100.1/80"} { // RFC 5737
		before := callsOut(t, away)
		one.shell(command)
		if callsOut(t, away) == before {
			t.Errorf("%s was not noticed", command)
		}
	}
}

// callsOut returns what the network of an island has counted of calls that had nowhere to go
// and of datagrams, which is what names are looked up with; nothing if there were none. Calls
// over IPv6 are not among them: Chromium asks the system whether it could make one, and
// makes none.
func callsOut(t *testing.T, i *island) (tried string) {
	t.Helper()
	out, err := exec.Command("nsenter", "--net="+i.path, "cat", "/proc/net/snmp", "/proc/net/snmp6").Output()
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]string)
	var names []string // of the next line's values, in the tables of version 4
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		switch table, v4 := strings.CutSuffix(words[0], ":"); {
		case !v4:
			count[words[0]] = words[1]
		case names == nil:
			names = words
		default:
			for n, name := range names[1:] {
				count[table+name] = words[n+1]
			}
			names = nil
		}
	}
	for _, name := range []string{"IpOutNoRoutes", "UdpOutDatagrams", "Udp6OutDatagrams"} {
		if count[name] != "0" {
			tried += fmt.Sprintf("%s=%q ", name, count[name])
		}
	}
	return tried
}

// S0-51: a start may take a minute, which the user must allow.
func TestDevToolsNeedAMinute(t *testing.T) {
	c := newComputer(t, "COMPUTER_USE_SHELL_TIMEOUT_MAX=59")
	s := c.agent().start("short")
	if r := s.refused("unsupported", "start_chrome_devtools", map[string]any{"session": s.id}); !strings.Contains(r.Fix, "COMPUTER_USE_SHELL_TIMEOUT_MAX") {
		t.Errorf("%v", r)
	}
}
