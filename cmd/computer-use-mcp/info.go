package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// infoReport is the answer of `info --json`. Process ids are this machine's, 0 when
// the process is not visible here.
type infoReport struct {
	Version  string            `json:"version"`
	Engine   string            `json:"engine"`
	Note     string            `json:"note,omitempty"` // why this engine
	State    engine.State      `json:"state"`
	Viewer   string            `json:"viewer,omitempty"`
	Daemon   *daemonReport     `json:"daemon,omitempty"`
	Screens  []api.Screen      `json:"screens"`
	Sessions []api.Session     `json:"sessions"`
	Details  map[string]string `json:"details"`
}

type daemonReport struct {
	PID        int       `json:"pid"`
	Version    string    `json:"version"`
	Protocol   string    `json:"protocol"`
	API        string    `json:"api"`
	ComputerID string    `json:"computer_id"`
	HomeID     string    `json:"home_id"`
	Network    string    `json:"network"`
	StartedAt  time.Time `json:"started_at"`
}

func (a *app) info(flags *flag.FlagSet) action {
	asJSON := flags.Bool("json", false, "print JSON, for a script")
	return func(ctx context.Context, _ string) error {
		report, status, err := a.report(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(a.stdout, report)
		}
		writeInfo(a.stdout, report, status.Details)
		return nil
	}
}

// writeJSON is the form of every --json.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// report asks the engine, and the daemon when it runs.
func (a *app) report(ctx context.Context) (*infoReport, *engine.Status, error) {
	e, note, err := chooseOrLocal(ctx, a.settings, a.logger())
	if err != nil {
		return nil, nil, err
	}
	defer e.Close()
	status, err := e.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	report := &infoReport{
		Version: version, Engine: e.Name(), Note: note, State: status.State,
		Screens: []api.Screen{}, Sessions: []api.Session{}, Details: map[string]string{},
	}
	for _, d := range status.Details {
		report.Details[d.Name] = d.Value
	}
	if status.Endpoint == nil {
		return report, status, nil
	}
	info, err := status.Endpoint.Client().Info(ctx)
	if err != nil {
		return nil, nil, err
	}
	report.Viewer = info.Viewer
	report.Daemon = &daemonReport{
		PID: status.PID, Version: info.Version, Protocol: info.Protocol, API: status.Endpoint.BaseURL,
		ComputerID: info.ComputerID, HomeID: info.HomeID, Network: info.Network, StartedAt: info.StartedAt,
	}
	for _, screen := range info.Screens {
		screen.XvfbPID = status.HostPID(screen.XvfbPID)
		report.Screens = append(report.Screens, screen)
	}
	report.Sessions = append(report.Sessions, info.Sessions...)
	return report, status, nil
}

// writeInfo is `info` for a person.
func writeInfo(w io.Writer, r *infoReport, details []engine.Detail) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("version", "%s", r.Version)
	line("engine", "%s", r.Engine)
	if r.Note != "" {
		line("", "%s", r.Note)
	}
	line("state", "%s", r.State)
	if d := r.Daemon; d != nil {
		process := ""
		if d.PID != 0 {
			process = fmt.Sprintf("process %d, ", d.PID)
		}
		line("daemon", "version %s, %sup %s", d.Version, process, time.Since(d.StartedAt).Round(time.Second))
	}
	if r.Viewer != "" {
		line("viewer", "%s", r.Viewer)
	}
	for _, s := range r.Screens {
		line("screen", "%d: %dx%d on %s, %q", s.Number, s.Width, s.Height, s.Display, s.Title)
	}
	for _, s := range r.Sessions {
		if s.Screen == 0 {
			line("session", "%q, which has no screen yet", s.Title)
		}
	}
	for _, d := range details {
		line(d.Name, "%s", d.Value)
	}
}
