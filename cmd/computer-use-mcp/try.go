package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
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
		client, err := a.connect(ctx, "computer-use-mcp-try", e)
		if err != nil {
			return err
		}
		t := &trial{app: a, engine: e.Name(), client: client}
		// Ctrl-C ends the trial first, then the server, which has its session to end.
		err = t.run(ctx)
		if ctx.Err() != nil {
			err = nil // the person has seen enough
		}
		return errors.Join(err, client.close())
	}
}

// trial is one run of try.
type trial struct {
	app     *app
	engine  string
	client  *ownClient
	session string
}

func (t *trial) run(ctx context.Context) error {
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
	how := os.Args[0] + " stop"
	if t.engine == "docker" {
		name, _ := t.app.settings.Get(hostmcp.SettingName) // the engine has checked it
		how = "docker stop " + name
	}
	fmt.Fprintf(t.app.stdout, "The computer keeps running; `%s` ends it.\n", how)
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
	result, err := t.client.call(ctx, tool, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", words, err)
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
		_, _ = bufio.NewReader(t.app.stdin).ReadString('\n')
	}()
	select {
	case <-entered:
	case <-ctx.Done():
		fmt.Fprintln(t.app.stdout)
	}
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
