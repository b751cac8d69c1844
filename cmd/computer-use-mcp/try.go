package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// tryFile is the picture that try leaves in the current folder.
const tryFile = "try.png"

// tryText has letters of several scripts. A keyboard layout has few of them.
const tryText = "Grüße · Καλημέρα · Доброе утро · 你好世界 · 日本語 · 한국어 · 🎉"

// try drives a computer as an agent would: as a client of this program's own MCP
// server, through the protocol.
func (a *app) try(*flag.FlagSet) action {
	return func(ctx context.Context, _ string) error {
		e, note, err := chooseOrLocal(ctx, a.settings, a.logger())
		if err != nil {
			return err
		}
		if note != "" {
			fmt.Fprintln(a.stdout, note)
		}
		server := a.server(func(*hostmcp.Settings, *slog.Logger) (engine.Engine, error) { return e, nil }, nil)
		ours, theirs := mcp.NewInMemoryTransports()
		// Ctrl-C ends the trial first, then the server, which has its session to end.
		serving, stop := context.WithCancel(context.WithoutCancel(ctx))
		served := make(chan error, 1)
		go func() { served <- server.Run(serving, ours) }()
		t := &trial{app: a, engine: e.Name()}
		err = t.run(ctx, theirs)
		stop()
		if ctx.Err() != nil {
			err = nil // the person has seen enough
		}
		return errors.Join(err, <-served)
	}
}

// trial is one run of try.
type trial struct {
	app     *app
	engine  string
	client  *mcp.ClientSession
	session string
}

func (t *trial) run(ctx context.Context, transport mcp.Transport) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "computer-use-mcp-try", Version: version}, nil)
	var err error
	if t.client, err = client.Connect(ctx, transport, nil); err != nil {
		return err
	}
	started, err := t.step(ctx, "start the computer and open a session", "start_computer", map[string]any{"title": "try"})
	if err != nil {
		return err
	}
	facts, _ := started.StructuredContent.(map[string]any)
	t.session, _ = facts["session"].(string)
	if _, err := t.step(ctx, "open a screen and look at it", "computer_observe", nil); err != nil {
		return err
	}
	if err := t.act(ctx, "open a terminal", map[string]any{"kind": "focus", "application": "terminal"}); err != nil {
		return err
	}
	if err := t.act(ctx, "type letters of many scripts",
		map[string]any{"kind": "type", "text": "echo '" + tryText + "'"}); err != nil {
		return err
	}
	if err := t.act(ctx, "run it, and another command",
		map[string]any{"kind": "key", "key": "enter"},
		map[string]any{"kind": "type", "text": "uname -srm; date; ls -la ~\n"}); err != nil {
		return err
	}
	last, err := t.step(ctx, "look at the result", "computer_observe", map[string]any{"force": true, "format": "png"})
	if err != nil {
		return err
	}
	if err := savePicture(last); err != nil {
		return err
	}
	fmt.Fprintf(t.app.stdout, "The last picture is in %s.\n", tryFile)
	if viewer, _ := facts["viewer"].(string); viewer != "" {
		fmt.Fprintf(t.app.stdout, "Watch and take over: %s\n", viewer)
	}
	t.stay(ctx)
	_, err = t.step(ctx, "end the session", "end_session", nil)
	how := "computer-use-mcp stop"
	if t.engine == "docker" {
		how = "docker stop"
	}
	fmt.Fprintf(t.app.stdout, "The computer keeps running; %s ends it.\n", how)
	return err
}

// act runs a batch of actions as one step.
func (t *trial) act(ctx context.Context, words string, actions ...any) error {
	_, err := t.step(ctx, words, "computer_act", map[string]any{"actions": actions})
	return err
}

// step calls a tool and prints what it was for, how long it took and what came back.
func (t *trial) step(ctx context.Context, words, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	if t.session != "" {
		if args == nil {
			args = map[string]any{}
		}
		args["session"] = t.session
	}
	start := time.Now()
	result, err := t.client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", words, err)
	}
	if result.IsError {
		return nil, fmt.Errorf("%s: %s", words, text(result))
	}
	line := fmt.Sprintf("%6d ms  %-38s %s", time.Since(start).Milliseconds(), words, tool)
	if p := picture(result); p != nil {
		line += fmt.Sprintf(" (%s, %d KiB)", p.MIMEType, (len(p.Data)+1023)/1024)
	}
	fmt.Fprintln(t.app.stdout, line)
	return result, nil
}

// stay leaves the screen open for a person until Enter or Ctrl-C. Where nobody sits
// at a terminal it returns at once.
func (t *trial) stay(ctx context.Context) {
	if !isTerminal(t.app.stdin) {
		return
	}
	fmt.Fprint(t.app.stdout, "The screen stays open. Press Enter to end the session. ")
	entered := make(chan struct{})
	go func() {
		defer close(entered)
		bufio.NewReader(t.app.stdin).ReadString('\n')
	}()
	select {
	case <-entered:
	case <-ctx.Done():
		fmt.Fprintln(t.app.stdout)
	}
}

// isTerminal reports whether somebody can type into f. /dev/null is a character
// device as terminals are.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func text(result *mcp.CallToolResult) string {
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			return c.Text
		}
	}
	return "no text"
}

func picture(result *mcp.CallToolResult) *mcp.ImageContent {
	for _, content := range result.Content {
		if c, ok := content.(*mcp.ImageContent); ok {
			return c
		}
	}
	return nil
}

func savePicture(result *mcp.CallToolResult) error {
	p := picture(result)
	if p == nil {
		return errors.New("the last answer has no picture: " + text(result))
	}
	if err := os.WriteFile(tryFile, p.Data, 0o644); err != nil {
		return fmt.Errorf("everything worked, but the picture cannot be saved in this folder: %w", err)
	}
	return nil
}
