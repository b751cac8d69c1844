package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine/docker"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine/local"
)

// command is one row of the command table, which runs commands and writes help.
type command struct {
	name  string
	usage string // flags, for help
	help  string
	run   func(a *app, ctx context.Context, args []string) error
}

// commands returns the table. The first row is what no command means.
func commands() []command {
	return []command{
		{"serve", "", "be an MCP server over stdio; the same as no command", (*app).serve},
		{"info", "[--json]", "show the computer, its screens and its viewer link", (*app).info},
		{"try", "", "open a computer and drive it as an agent would; writes try.png", (*app).try},
		{"stop", "", "stop the computer of the local engine; its files stay", (*app).stop},
		{"logs", "", "print the log of the computer's daemon", (*app).logs},
		{"version", "", "print the version", (*app).version},
		{"help", "", "print this and the settings", (*app).help},
	}
}

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run runs the command that args name and returns the exit status: 1 for a failure,
// 2 for a wrong command line.
func (a *app) run(ctx context.Context, args []string) int {
	chosen := commands()[0]
	if len(args) > 0 {
		name := args[0]
		args = args[1:]
		switch name {
		case "-h", "-help", "--help":
			name = "help"
		case "-v", "-version", "--version":
			name = "version"
		}
		chosen = command{run: func(*app, context.Context, []string) error {
			return usageError{fmt.Errorf("there is no command %q", name)}
		}}
		for _, c := range commands() {
			if c.name == name {
				chosen = c
			}
		}
	}
	err := chosen.run(a, ctx, args)
	if err == nil {
		return 0
	}
	if errors.Is(err, flag.ErrHelp) { // of a command
		a.writeHelp(a.stdout)
		return 0
	}
	fmt.Fprintf(a.stderr, "computer-use-mcp: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintln(a.stderr)
		a.writeCommands(a.stderr)
		return 2
	}
	return 1
}

// parse reads a command's flags and refuses other arguments.
func (a *app) parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err != nil {
		return usageError{err}
	}
	if flags.NArg() > 0 {
		return usageError{fmt.Errorf("%s takes no argument %q", flags.Name(), flags.Arg(0))}
	}
	return nil
}

func (a *app) noFlags(name string, args []string) error {
	return a.parse(flag.NewFlagSet(name, flag.ContinueOnError), args)
}

func (a *app) serve(ctx context.Context, args []string) error {
	if err := a.noFlags("serve", args); err != nil {
		return err
	}
	transport := hostmcp.Stdio() // before anything can print
	// A client that stops reading is an error of a write, after which the sessions
	// are ended in order; the signal would just end the process.
	signal.Ignore(syscall.SIGPIPE)
	if isTerminal(a.stdin) {
		fmt.Fprintln(a.stderr, "This is an MCP server: it waits for a client on stdin. See computer-use-mcp help.")
	}
	return a.server(chooseEngine).Run(ctx, transport)
}

// server returns an MCP server whose computer the function chooses.
func (a *app) server(choose func(*hostmcp.Settings, *slog.Logger) (engine.Engine, error)) *hostmcp.Server {
	log := a.logger()
	return hostmcp.New(hostmcp.Config{
		Version: version, Settings: a.settings, Logger: log,
		Engine: func(s *hostmcp.Settings) (engine.Engine, error) { return choose(s, log) },
	})
}

func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: a.settings.LogLevel()}))
}

// chooseEngine returns the engine that the settings name.
func chooseEngine(s *hostmcp.Settings, log *slog.Logger) (engine.Engine, error) {
	name, err := s.Get(hostmcp.SettingEngine)
	if err != nil {
		return nil, err
	}
	if name == "local" {
		return localEngine(s, log)
	}
	return dockerEngine(s, log)
}

// chooseOrLocal is chooseEngine for a person at a terminal: where no engine was
// asked for and Docker is not to be had, the local one serves, and note says so.
func chooseOrLocal(ctx context.Context, s *hostmcp.Settings, log *slog.Logger) (e engine.Engine, note string, err error) {
	if s.IsSet(hostmcp.SettingEngine) || runtime.GOOS != "linux" {
		e, err = chooseEngine(s, log)
		return e, "", err
	}
	inDocker, err := dockerEngine(s, log)
	if err != nil {
		return nil, "", err
	}
	err = inDocker.Ready(ctx)
	if err == nil {
		return inDocker, "", nil
	}
	because := api.AsError(err)
	switch because.Code {
	case api.CodeEngineUnavailable, api.CodeImageMissing, api.CodeUnsupported:
		e, err = localEngine(s, log)
		return e, because.Message + " So this is the local engine: a sandbox on this machine.", err
	}
	return nil, "", err
}

func dockerEngine(s *hostmcp.Settings, log *slog.Logger) (*docker.Engine, error) {
	values, err := read(s, hostmcp.SettingName, hostmcp.SettingImage, hostmcp.SettingNetwork, hostmcp.SettingPortBase, hostmcp.SettingNative)
	if err != nil {
		return nil, err
	}
	base, _ := strconv.Atoi(values[hostmcp.SettingPortBase]) // the setting is a number
	image := values[hostmcp.SettingImage]
	if image == "auto" {
		image = ""
	}
	return docker.New(docker.Config{
		Name: values[hostmcp.SettingName], Image: image, Version: version,
		PortBase: base, Offline: values[hostmcp.SettingNetwork] == "offline",
		NativeViewers: values[hostmcp.SettingNative], Logger: log,
	})
}

func localEngine(s *hostmcp.Settings, log *slog.Logger) (*local.Engine, error) {
	values, err := read(s, hostmcp.SettingName, hostmcp.SettingSandbox, hostmcp.SettingNetwork, hostmcp.SettingPortBase, hostmcp.SettingNative)
	if err != nil {
		return nil, err
	}
	if values[hostmcp.SettingNetwork] == "offline" {
		return nil, api.Errorf(api.CodeUnsupported, "The local engine shares this machine's network, so %s=offline cannot be kept.", hostmcp.SettingNetwork).
			WithFix("Leave the variable out to accept that.")
	}
	base, _ := strconv.Atoi(values[hostmcp.SettingPortBase]) // the setting is a number
	return local.New(local.Config{
		Name: values[hostmcp.SettingName], PortBase: base, NativeViewers: values[hostmcp.SettingNative],
		Unsafe: values[hostmcp.SettingSandbox] == "off", Logger: log,
	})
}

// read returns the checked values of several settings.
func read(s *hostmcp.Settings, names ...string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		value, err := s.Get(name)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

func (a *app) stop(ctx context.Context, args []string) error {
	if err := a.noFlags("stop", args); err != nil {
		return err
	}
	if a.settings.IsSet(hostmcp.SettingEngine) {
		e, err := chooseEngine(a.settings, a.logger())
		if err != nil {
			return err
		}
		if e.Name() == "docker" {
			name, _ := a.settings.Get(hostmcp.SettingName) // chooseEngine has checked it
			return fmt.Errorf("the computer is a container, which is yours to stop: docker stop %s", name)
		}
	}
	e, err := localEngine(a.settings, a.logger())
	if err != nil {
		return err
	}
	stopped, err := e.Stop(ctx)
	if err != nil {
		return err
	}
	if stopped {
		fmt.Fprintln(a.stderr, "The local computer has stopped. Its files are kept.")
	} else {
		fmt.Fprintln(a.stderr, "The local computer was not running.")
	}
	return nil
}

func (a *app) logs(ctx context.Context, args []string) error {
	if err := a.noFlags("logs", args); err != nil {
		return err
	}
	e, _, err := chooseOrLocal(ctx, a.settings, a.logger())
	if err != nil {
		return err
	}
	if inDocker, ok := e.(*docker.Engine); ok {
		return inDocker.Log(ctx, a.stdout)
	}
	return e.(*local.Engine).Log(a.stdout)
}

func (a *app) version(_ context.Context, args []string) error {
	if err := a.noFlags("version", args); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "computer-use-mcp %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

func (a *app) help(_ context.Context, args []string) error {
	if err := a.noFlags("help", args); err != nil {
		return err
	}
	a.writeHelp(a.stdout)
	return nil
}

func (a *app) writeCommands(w io.Writer) {
	fmt.Fprint(w, "Usage: computer-use-mcp [command]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-14s %s\n", c.name+" "+c.usage, c.help)
	}
}

func (a *app) writeHelp(w io.Writer) {
	fmt.Fprint(w, "Computer-use-mcp gives agents a Linux computer with screens.\n\n")
	a.writeCommands(w)
	fmt.Fprint(w, "\nSettings are environment variables:\n\n")
	for _, s := range hostmcp.SettingTable {
		fmt.Fprintf(w, "  %-28s %s (%s; default %s)\n", s.Name, s.Doc, s.Form, s.Default)
	}
}
