package session

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/devtools"
	"github.com/falleng0d/computer-use-mcp/session/shell"
)

// devToolsEnd bounds the end of DevTools with the session, which is in a hurry: what is
// still left then ends with the session's other programs.
const devToolsEnd = 5 * time.Second

// StartDevTools attaches chrome-devtools-mcp to the browser of the session's screen. What
// it starts belongs to the session, as if its shell had started it.
func (s *Session) StartDevTools(ctx context.Context, r api.StartDevToolsRequest) (result api.StartDevToolsResult, err error) {
	if err := r.Check(); err != nil {
		return result, err
	}
	if most := s.settings.shellMax; most < api.MinDevToolsTimeout {
		return result, api.Errorf(api.CodeUnsupported, "A command of this session may take no longer than %v, which is too short for DevTools.", most).
			WithFix("The user has to set COMPUTER_USE_SHELL_TIMEOUT_MAX to %v or more.", api.MinDevToolsTimeout)
	}
	err = s.inTurn(ctx, func(ctx context.Context, d *Desktop) error {
		if d.browser == nil {
			return noBrowser()
		}
		// First, so that no browser starts for nothing.
		if err := s.runDevTools(ctx, devtools.Check); err != nil {
			return err
		}
		address, err := d.browser.DevTools(ctx)
		if err != nil {
			return err
		}
		started := &devtools.Session{
			Screen: d.Screen.Number(), Address: address,
			Idle: cmp.Or(time.Duration(r.IdleMS)*time.Millisecond, api.DefaultDevToolsIdle),
			Home: s.table.cfg.Programs.Home, Program: s.table.cfg.Programs.Daemon,
		}
		script, err := started.Connect()
		if err != nil {
			return err
		}
		if err := s.runDevTools(ctx, script); err != nil {
			return err
		}
		s.work.setDevTools(started)
		result.Command = started.Usage()
		return nil
	})
	return result, err
}

// StopDevTools ends what StartDevTools has started, wherever it was revived since.
func (s *Session) StopDevTools(ctx context.Context, _ struct{}) (result api.StopDevToolsResult, err error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return result, err
	}
	defer done()
	result.Stopped, err = s.closeDevTools(ctx)
	return result, explain(ctx, err)
}

// closeDevTools reports whether there were any to close.
func (s *Session) closeDevTools(ctx context.Context) (bool, error) {
	running := s.work.setDevTools(nil)
	if running == nil {
		return false, nil
	}
	return true, s.runDevTools(ctx, running.Close())
}

// runDevTools runs a script of package devtools in the session's shell.
func (s *Session) runDevTools(ctx context.Context, script string) error {
	result, err := s.work.shell.Run(ctx, shell.Command{Line: script, Dir: s.table.cfg.Programs.Home}, api.MinDevToolsTimeout)
	switch {
	case err != nil:
		return err
	case result.Stopped != nil:
		return result.Stopped
	case result.ExitCode != nil && *result.ExitCode == 0:
		return nil
	case result.ExitCode != nil && *result.ExitCode == devtools.Missing:
		return api.Errorf(api.CodeUnsupported, "The programs mcpc and chrome-devtools-mcp are not both installed on this computer.").
			WithFix("The full image has them. With Node.js 20.19 or newer shell installs them: npm install -g %s %s", devtools.BridgePackage, devtools.ServerPackage)
	}
	return api.Errorf(api.CodeInternal, "DevTools could not be entered into mcpc's list: %.1000s", strings.TrimSpace(result.Stderr)).
		WithFix("Look into ~/.mcpc/sessions.json with shell; without that file a new one is made.")
}

// setDevTools notes what runs, nil for nothing, and returns what ran before.
func (w *workspace) setDevTools(now *devtools.Session) (before *devtools.Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, w.devtools = w.devtools, now
	return before
}

// endCommands ends everything that the session's commands have started.
func (s *Session) endCommands() {
	ctx, cancel := context.WithTimeout(context.Background(), devToolsEnd)
	defer cancel()
	if _, err := s.closeDevTools(ctx); err != nil {
		s.table.cfg.Logger.Warn("close DevTools", "session", s.id, "error", err)
	}
	s.work.shell.End()
}
