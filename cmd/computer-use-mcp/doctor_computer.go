package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine/local"
)

// tidyTimeout is how long an examination may take to remove what it has made.
const tidyTimeout = 15 * time.Second

// examination is the part of a diagnosis that uses a computer, by the tools that agents
// use, in sessions of its own.
type examination struct {
	*diagnosis
	engine   engine.Engine
	client   *ownClient
	sessions []string // that are open, the first one for all but --full
	viewer   string   // link with key
	folder   string   // on the computer, for what the checks write
}

func (a *app) diagnoseComputer(ctx context.Context, d *diagnosis, e engine.Engine, full bool) {
	before, err := e.Status(ctx)
	if err != nil {
		d.judge("computer", err, "")
		return
	}
	client, err := a.connect(ctx, "computer-use-mcp-doctor", e)
	if err != nil {
		d.judge("computer", err, "")
		return
	}
	x := &examination{diagnosis: d, engine: e, client: client}
	if x.begin(ctx, before.State) && x.look(ctx) {
		x.limits(ctx)
		if x.makeFolder(ctx) {
			x.typeLine(ctx)
			x.sendFile(ctx)
		}
		x.watch(ctx)
		if full {
			x.openAll(ctx)
		}
	}
	x.tidy(context.WithoutCancel(ctx), before.State)
}

// begin opens a session, which starts a computer that does not run.
func (x *examination) begin(ctx context.Context, before engine.State) bool {
	start := time.Now()
	facts, err := x.open(ctx, "doctor")
	how := fmt.Sprintf("runs, session opened in %d ms", time.Since(start).Milliseconds())
	if before != engine.StateRunning {
		how = fmt.Sprintf("was %s, started in %.1f s", before, time.Since(start).Seconds())
		if x.engine.Name() == "docker" {
			how += "; it keeps running until you stop it"
		}
	}
	x.viewer = facts.Viewer
	return x.judge("computer", err, "%s", strings.Join(append([]string{how}, facts.Notes...), ". "))
}

func (x *examination) open(ctx context.Context, title string) (facts api.StartResult, err error) {
	_, err = x.client.facts(ctx, "start_computer", map[string]any{"title": title}, &facts)
	if err == nil {
		x.sessions = append(x.sessions, facts.Session)
	}
	return facts, err
}

// use calls a tool in the first session.
func (x *examination) use(ctx context.Context, tool string, args map[string]any, v any) error {
	args["session"] = x.sessions[0]
	_, err := x.client.facts(ctx, tool, args, v)
	return err
}

// ill is a fault that only the log can explain.
func ill(format string, args ...any) error {
	return api.Errorf(api.CodeInternal, format, args...).
		WithFix("See `computer-use-mcp logs`, and report it with the output of `computer-use-mcp doctor --json`.")
}

// shell runs a command in the first session and returns what it wrote.
func (x *examination) shell(ctx context.Context, command string) (string, error) {
	var ran api.ShellResult
	if err := x.use(ctx, "shell", map[string]any{"command": command}, &ran); err != nil {
		return "", err
	}
	if ran.ExitCode == nil || *ran.ExitCode != 0 {
		return "", ill("The command %q failed on the computer: %s", command, strings.TrimSpace(ran.Stderr))
	}
	return strings.TrimSpace(ran.Stdout), nil
}

func (x *examination) makeFolder(ctx context.Context) bool {
	folder, err := x.shell(ctx, "mktemp -d")
	x.folder = folder
	return err == nil || x.judge("shell", err, "")
}

// screens returns the open screens, nil when they are not known.
func (x *examination) screens(ctx context.Context) []api.Screen {
	info, err := x.info(ctx)
	if err != nil {
		return nil
	}
	return info.Screens
}

func (x *examination) info(ctx context.Context) (api.Info, error) {
	status, err := x.engine.Status(ctx)
	if err == nil && status.Endpoint == nil {
		err = errors.New("the computer has stopped")
	}
	if err != nil {
		return api.Info{}, err
	}
	computer := status.Endpoint.Client()
	defer computer.CloseIdle()
	return computer.Info(ctx)
}

// tidy removes what the examination has made, and stops a local computer that did not
// run before and that nobody else has joined.
func (x *examination) tidy(ctx context.Context, before engine.State) {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	var faults []error
	if x.folder != "" {
		_, err := x.shell(ctx, "rm -rf "+x.folder)
		faults = append(faults, err)
	}
	for _, session := range x.sessions {
		_, err := x.client.call(ctx, "end_session", map[string]any{"session": session})
		faults = append(faults, err)
	}
	words := "the sessions and files of this check are gone"
	if e, ok := x.engine.(*local.Engine); ok && before == engine.StateStopped && len(x.sessions) > 0 {
		if info, err := x.info(ctx); err == nil && len(info.Sessions) == 0 {
			_, err := e.Stop(ctx)
			faults = append(faults, err)
			words += ", and the computer has stopped again"
		}
	}
	faults = append(faults, x.client.close())
	if err := errors.Join(faults...); err != nil || len(x.sessions) > 0 {
		x.judge("tidy", err, "%s", words)
	}
}
