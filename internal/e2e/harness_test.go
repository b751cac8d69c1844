package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/internal/freeports"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// binary is the host binary that TestMain built; computerd lies beside it.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "e2e-bin-")
	if err == nil {
		// Programs of other users run computerd from here.
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	build := exec.Command("go", "build", "-o", dir, "../../cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binaries: %v\n%s", err, out)
		os.RemoveAll(dir)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "computer-use-mcp")
	leaktest.Main(m, suite.check, func() error { return os.RemoveAll(dir) })
}

// computer is one local computer with state, home and ports of its own.
type computer struct {
	t    testing.TB
	home string
	env  []string
	base int      // first port
	via  []string // a command that runs the host binary; nil for none
}

func newComputer(t testing.TB, settings ...string) *computer {
	t.Helper()
	xvfbtest.Need(t, "Xvfb", "fluxbox", "bwrap")
	dir := t.TempDir()
	c := &computer{t: t, base: freeports.Row(t, 17)}
	name := "e2e"
	c.home = filepath.Join(dir, "data", "computer-use-mcp", name, "home")
	c.env = append(os.Environ(),
		"XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_DATA_HOME="+filepath.Join(dir, "data"),
		"COMPUTER_USE_NAME="+name, "COMPUTER_USE_ENGINE=local", "COMPUTER_USE_OPEN=none",
		fmt.Sprintf("COMPUTER_USE_PORT_BASE=%d", c.base))
	c.env = append(c.env, settings...)
	t.Cleanup(func() {
		state := filepath.Join(dir, "state")
		suite.computer(state) // the cookies go when it stops
		if out, err := c.command("stop").CombinedOutput(); err != nil {
			t.Errorf("stop: %v\n%s", err, out)
		}
		suite.computer(state) // with what it said at its end
	})
	return c
}

// command returns the host binary with a subcommand, on this computer.
func (c *computer) command(args ...string) *exec.Cmd {
	line := slices.Concat(c.via, []string{binary}, args)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = c.env
	return cmd
}

// info is what `info --json` says about a computer.
type info struct {
	State  string `json:"state"`
	Viewer string `json:"viewer"`
	Daemon struct {
		PID int `json:"pid"`
	} `json:"daemon"`
	Screens []struct {
		Number     int    `json:"number"`
		Display    string `json:"display"`
		Xauthority string `json:"xauthority"`
		XvfbPID    int    `json:"xvfb_pid"`
		VNCPort    int    `json:"vnc_port"`
		Session    string `json:"session"`
		Title      string `json:"title"`
	} `json:"screens"`
}

func (c *computer) info() info {
	c.t.Helper()
	cmd := c.command("info", "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("info: %v\n%s", err, stderr.Bytes())
	}
	var i info
	if err := json.Unmarshal(out, &i); err != nil {
		c.t.Fatalf("info: %v\n%s", err, out)
	}
	return i
}

// agent is one MCP client with a server process of its own.
type agent struct {
	t       testing.TB
	client  *mcp.ClientSession
	process *os.Process
}

// agent starts a server process and connects to it.
func (c *computer) agent() *agent {
	c.t.Helper()
	return c.agentWith(nil)
}

func (c *computer) agentWith(options *mcp.ClientOptions) *agent {
	c.t.Helper()
	cmd := c.command()
	cmd.Stderr = &prefixed{t: c.t}
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, options)
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	a := &agent{t: c.t, client: session, process: cmd.Process}
	c.t.Cleanup(func() { session.Close() })
	return a
}

// prefixed writes a server's log to the test's.
type prefixed struct{ t testing.TB }

func (p *prefixed) Write(b []byte) (int, error) {
	suite.log(p.t.Name()+": stderr", b)
	p.t.Logf("server: %s", bytes.TrimSpace(b))
	return len(b), nil
}

// refusal is the error object of a tool.
type refusal struct {
	Code, Message, Fix string
	Retryable          bool
}

func (r *refusal) Error() string { return r.Code + ": " + r.Message + " " + r.Fix }

// answer is what a tool returned.
type answer struct {
	text   string
	fields map[string]any
	image  image.Image // nil without one
	mime   string
}

// try calls a tool, with a deadline that no answer may miss.
func (a *agent) try(name string, args map[string]any) (answer, error) {
	return a.within(30*time.Second, name, args)
}

// within is try with another deadline.
func (a *agent) within(limit time.Duration, name string, args map[string]any) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return a.tryUntil(ctx, name, args)
}

// tryUntil calls a tool with another deadline.
func (a *agent) tryUntil(ctx context.Context, name string, args map[string]any) (answer, error) {
	suite.typed(args)
	result, err := a.client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return answer{}, fmt.Errorf("call %s: %w", name, err)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return answer{}, err
	}
	var got answer
	for _, c := range result.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			got.text += c.Text
		case *mcp.ImageContent:
			got.mime = c.MIMEType
			if got.mime == "image/png" {
				if got.image, err = png.Decode(bytes.NewReader(c.Data)); err != nil {
					return answer{}, fmt.Errorf("call %s: decode the image: %w", name, err)
				}
			}
		}
	}
	if result.IsError {
		r := new(refusal)
		if err := json.Unmarshal(raw, r); err != nil || r.Code == "" {
			return answer{}, fmt.Errorf("call %s: an error without a code: %s", name, got.text)
		}
		return got, r
	}
	err = json.Unmarshal(raw, &got.fields)
	if link, ok := got.fields["viewer"].(string); ok {
		suite.link(link)
	}
	return got, err
}

// call calls a tool that must succeed.
func (a *agent) call(name string, args map[string]any) answer {
	a.t.Helper()
	got, err := a.try(name, args)
	if err != nil {
		a.t.Fatal(err)
	}
	return got
}

// refused calls a tool that must fail with a code.
func (a *agent) refused(code, name string, args map[string]any) *refusal {
	a.t.Helper()
	_, err := a.try(name, args)
	var r *refusal
	if !errors.As(err, &r) || r.Code != code {
		a.t.Fatalf("%s answered %v, want code %s", name, err, code)
	}
	return r
}

// session is one session of an agent.
type session struct {
	*agent
	id string
}

func (a *agent) start(title string) *session {
	a.t.Helper()
	got := a.call("start_computer", map[string]any{"title": title})
	return &session{agent: a, id: got.fields["session"].(string)}
}

func (s *session) observe() answer {
	s.t.Helper()
	return s.call("computer_observe", map[string]any{"session": s.id, "force": true})
}

func (s *session) act(actions ...map[string]any) answer {
	s.t.Helper()
	return s.call("computer_act", map[string]any{"session": s.id, "actions": actions})
}

func (s *session) end() {
	s.t.Helper()
	s.call("end_session", map[string]any{"session": s.id})
}

// terminal opens an xterm and returns when it has the focus.
func (s *session) terminal() {
	s.t.Helper()
	s.act(map[string]any{"kind": "focus", "application": "xterm"})
	s.eventually("xterm has the focus", func() bool {
		active, _ := s.observe().fields["active_window"].(string)
		return strings.Contains(active, "xterm") || strings.Contains(active, "bash") || strings.Contains(active, "~")
	})
}

// run types a command into the focused terminal and returns once a file that it
// leaves in the computer's home exists.
func (s *session) run(c *computer, command string) {
	s.t.Helper()
	done := fmt.Sprintf(".done-%d", time.Now().UnixNano())
	s.act(map[string]any{"kind": "type", "text": command + "; touch ~/" + done + "\n"})
	path := filepath.Join(c.home, done)
	s.eventually("the end of "+command, func() bool { return exists(path) })
	os.Remove(path)
}

// eventually asks again and again until ok holds: other processes have no event to
// wait for.
func (a *agent) eventually(what string, ok func() bool) {
	a.t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			a.t.Fatalf("%s: not within 15 s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z")
}
