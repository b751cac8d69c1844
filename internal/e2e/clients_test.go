package e2e

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// S0-1, S3-59: the official TypeScript SDKs, in both protocol eras.
func TestTypeScriptClients(t *testing.T) {
	xvfbtest.Need(t, "node")
	c := newComputer(t)
	for _, mode := range []string{"v1", "legacy", "auto", "modern"} {
		t.Run(mode, func(t *testing.T) {
			cmd := exec.Command("node", "clients/drive.mjs", mode, binary)
			cmd.Env = c.env
			cmd.Stderr = &prefixed{t: t}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Tools       []string
				Session     string
				First, Last struct {
					Images []string
					Cursor struct{ X, Y int }
				}
				Acted struct{ Steps int }
				Ended struct{ Ended bool }
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, tool := range []string{"start_computer", "end_session", "computer_observe", "computer_act"} {
				if !slices.Contains(got.Tools, tool) {
					t.Errorf("tools: %v", got.Tools)
				}
			}
			if !slices.Equal(got.First.Images, []string{"image/png"}) || !slices.Equal(got.Last.Images, []string{"image/png"}) {
				t.Errorf("images: %v, then %v", got.First.Images, got.Last.Images)
			}
			if got.Acted.Steps != 2 || got.Last.Cursor.X != 100 || got.Last.Cursor.Y != 120 || !got.Ended.Ended {
				t.Errorf("%s", out)
			}
		})
	}
}

// The official Inspector's command line, in both eras: its checker of schemas, and its
// connection that outlives one command.
func TestInspector(t *testing.T) {
	xvfbtest.Need(t, "node")
	c := newComputer(t)
	dir := t.TempDir()
	env := append(c.env, "HOME="+dir, "MCP_INSPECTOR_DAEMON_DIR="+dir, "MCP_INSPECTOR_DAEMON_TOKEN=only-this-test",
		"MCP_INSPECTOR_SECRET_STORE=memory")
	inspect := func(program string, args ...string) map[string]any {
		t.Helper()
		cmd := exec.Command("clients/node_modules/.bin/"+program, args...)
		cmd.Env = env
		cmd.Stderr = &prefixed{t: t}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		return got
	}
	do := func(args ...string) map[string]any {
		t.Helper()
		return inspect("mcpdo", append([]string{"--format", "json", "--connection", "computer"}, args...)...)
	}
	t.Cleanup(func() { do("daemon", "stop") })
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			inspect("mcp-inspector", "--cli", binary, "--protocol-era", era, "--method", "tools/list", "--strict")

			connect := []string{"connect", "--era", era, "--transport", "stdio"}
			for _, variable := range c.env {
				// Its daemon starts the server, and not with this environment.
				if strings.HasPrefix(variable, "COMPUTER_USE_") || strings.HasPrefix(variable, "XDG_") {
					connect = append(connect, "-e", variable)
				}
			}
			do(append(connect, binary)...)
			if tools := do("tools/list")["tools"].([]any); len(tools) < 4 {
				t.Errorf("%d tools", len(tools))
			}
			call := func(tool string, args map[string]any) map[string]any {
				t.Helper()
				raw, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				got := do("tools/call", tool, "--tool-args-json", string(raw))
				fields, ok := got["structuredContent"].(map[string]any)
				if !ok {
					t.Fatalf("%s answered %v", tool, got)
				}
				return fields
			}
			id := call("start_computer", map[string]any{"title": "inspected"})["session"]
			session := map[string]any{"session": id}
			call("computer_observe", session)
			call("computer_act", map[string]any{"session": id, "actions": []any{map[string]any{"kind": "move", "x": 70, "y": 80}}})
			if cursor := call("computer_observe", session)["cursor"].(map[string]any); cursor["x"] != 70.0 || cursor["y"] != 80.0 {
				t.Errorf("the pointer is at %v", cursor)
			}
			if ended := call("end_session", session)["ended"]; ended != true {
				t.Errorf("ended: %v", ended)
			}
			do("disconnect")
		})
	}
}
