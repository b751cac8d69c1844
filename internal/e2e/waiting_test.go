package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// Every condition of computer_wait, on the real thing.
func TestWait(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("waiting")
	wait := func(args map[string]any) answer {
		t.Helper()
		args["session"] = s.id
		return s.call("computer_wait", args)
	}
	met := func(args map[string]any) {
		t.Helper()
		if got := wait(args); got.fields["met"] != true {
			t.Errorf("%v: %s", args, got.text)
		}
	}
	s.terminal()
	met(map[string]any{})
	met(map[string]any{"for": "window", "title": "XTERM"})
	if got := wait(map[string]any{"for": "window", "title": "no such window", "timeout_ms": 300}); got.fields["met"] != false || !strings.HasPrefix(got.text, "TIME RAN OUT.") {
		t.Error(got.text)
	}

	late := func(command string) {
		t.Helper()
		s.call("shell", map[string]any{"session": s.id, "command": "sleep 1; " + command, "background": true})
	}
	late("touch late")
	met(map[string]any{"for": "file", "path": "late"})

	// The terminal prints something by itself, a second after Enter.
	s.call("computer_act", map[string]any{"session": s.id, "actions": []any{
		map[string]any{"kind": "type", "text": "sleep 1; seq 30\n"},
	}})
	got := wait(map[string]any{"for": "change"})
	if got.fields["met"] != true || got.fields["region"] == nil {
		t.Error(got.text)
	}

	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	if got := wait(map[string]any{"for": "port", "port": port, "timeout_ms": 300}); got.fields["met"] != false {
		t.Error(got.text)
	}
	s.call("shell", map[string]any{"session": s.id, "command": fmt.Sprintf("python3 -m http.server %d --bind 127.0.0.1", port), "background": true})
	met(map[string]any{"for": "port", "port": port, "timeout_ms": 20_000})
	s.refused("bad_request", "computer_wait", map[string]any{"session": s.id, "for": "window"})
	s.endsAtOnce()
}

// endsAtOnce ends the session while it waits for something.
func (s *session) endsAtOnce() {
	s.t.Helper()
	waiting := make(chan error, 1)
	asked := time.Now()
	go func() {
		_, err := s.try("computer_wait", map[string]any{"session": s.id, "for": "file", "path": "never", "timeout_ms": 25_000})
		waiting <- err
	}()
	// Nothing tells that the wait has begun. Should it come too late, it is refused.
	s.end()
	err := <-waiting
	if r, ok := err.(*refusal); !ok || r.Code != "session_ended" && r.Code != "unknown_session" {
		s.t.Errorf("the wait ended with %v", err)
	}
	if took := time.Since(asked); took > 15*time.Second {
		s.t.Errorf("the session ended after %v", took)
	}
}

// What one session configures is in force for it alone.
func TestConfigure(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	one, other := a.start("one"), a.start("other")
	configure := func(args map[string]any) answer {
		t.Helper()
		args["session"] = one.id
		return one.call("computer_configure", args)
	}
	configure(map[string]any{"react_ms": 1000, "ignore_regions": []any{map[string]any{"x": 0, "y": 0, "width": 10, "height": 10}}})
	if got := configure(map[string]any{"ignore_regions": []any{}}); got.fields["react_ms"] != 1000.0 || len(got.fields["ignore_regions"].([]any)) != 0 {
		t.Errorf("%v", got.fields)
	}
	for s, want := range map[*session]float64{one: 1000, other: 300} {
		settle := s.observe().fields["settle"].(map[string]any)
		if settle["react_ms"] != want {
			t.Errorf("%v, want react_ms %v", settle, want)
		}
		// An empty part of the screen: the wait for a reaction takes what is in force.
		step := s.act(map[string]any{"kind": "click", "x": 600, "y": 400, "button": "left"}).fields["steps"].([]any)[0].(map[string]any)
		if step["verdict"] != "no_reaction" || step["waited_ms"].(float64) < want || step["waited_ms"].(float64) > want+250 {
			t.Errorf("%v, want no reaction after %v ms", step, want)
		}
	}
	r := one.refused("bad_request", "computer_configure", map[string]any{"session": one.id, "quiet_ms": 10})
	if !strings.Contains(r.Message, "50 to 5000") {
		t.Errorf("the range is not named: %v", r)
	}
}

// A call that takes longer than 2 s says that it goes on.
func TestProgressOfLongCalls(t *testing.T) {
	var mu sync.Mutex
	var messages []string
	c := newComputer(t)
	s := c.agentWith(&mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			messages = append(messages, r.Params.Message)
		},
	}).start("progress")
	s.observe()
	for tool, args := range map[string]map[string]any{
		"computer_act":  {"session": s.id, "actions": []any{map[string]any{"kind": "wait", "ms": 5000}}},
		"computer_wait": {"session": s.id, "for": "change", "timeout_ms": 5000},
	} {
		params := &mcp.CallToolParams{Name: tool, Arguments: args}
		params.SetProgressToken(tool)
		if result, err := s.client.CallTool(t.Context(), params); err != nil || result.IsError {
			t.Fatalf("%s: %+v, %v", tool, result, err)
		}
		mu.Lock()
		if len(messages) < 2 {
			t.Errorf("%s: progress %q", tool, messages)
		}
		messages = nil
		mu.Unlock()
	}
}

// A batch whose call is cancelled stops at once and lets go of what it holds.
func TestCancelReleasesKeys(t *testing.T) {
	// The display is reached from outside only without the sandbox.
	c := newComputer(t, "COMPUTER_USE_LOCAL_SANDBOX=off")
	s := c.agent().start("cancel")
	s.observe()
	screen := c.info().Screens[0]
	authority, err := os.ReadFile(screen.Xauthority)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := x11.Dial(screen.Display, authority[len(authority)-16:])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	held := func() bool {
		keys, err := conn.KeysDown()
		if err != nil {
			t.Fatal(err)
		}
		return keys != x11.KeySet{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.client.CallTool(ctx, &mcp.CallToolParams{Name: "computer_act", Arguments: map[string]any{
			"session": s.id, "actions": []any{map[string]any{"kind": "key", "key": "shift", "hold_ms": 5000}},
		}})
		ended <- err
	}()
	s.eventually("the key is down", held)
	cancelled := time.Now()
	cancel()
	<-ended
	s.eventually("the key is up", func() bool { return !held() })
	if took := time.Since(cancelled); took > time.Second {
		t.Errorf("it took %v", took)
	}
	if err := s.quick("computer_observe", map[string]any{}); err != nil {
		t.Error(err)
	}
}
