package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
)

// command is one row of the table of commands. The table runs them; help, shell
// completion, the man page and the README are made of it.
type command struct {
	name     string
	operand  operand
	help     string   // one line, lower case, no full stop
	about    []string // paragraphs that the command's own help adds
	examples []example
	// prepare declares the command's flags, whose usage texts follow the convention
	// of package flag (`VALUE` in backquotes), and returns what runs the command. It
	// has no other effect, so help may call it just to learn the flags.
	prepare func(a *app, flags *flag.FlagSet) action
}

// operand is the one argument that is no flag; a command without one has the zero value.
type operand struct {
	name     string   // "client"
	values   []string // what is accepted, nil for anything
	optional bool
}

// example is a command line and what it is for, both as the documentation shows them.
type example struct{ line, why string }

// action runs a command whose flags are parsed. operand is empty when none was given.
type action func(ctx context.Context, operand string) error

// commands returns the table. The first row is what no command means.
func commands() []command {
	return []command{
		{
			name: "serve", help: "be an MCP server, over stdio as without a command, or over HTTP",
			about: []string{
				"Over HTTP it serves any number of clients at /mcp, to this machine only, and only to those that send the " +
					"token as \"Authorization: Bearer ...\". Sessions end when their client says goodbye, a minute after it has " +
					"lost its stream of events for good, or after COMPUTER_USE_IDLE_TIMEOUT without a call.",
			},
			examples: []example{
				{"computer-use-mcp", "what an MCP client runs"},
				{"computer-use-mcp serve --http 127.0.0.1:8080", "for clients and gateways that cannot start a program"},
			},
			prepare: (*app).serve,
		},
		{
			name: "info", help: "show the computer, its screens and its viewer link",
			about: []string{"It starts and changes nothing."},
			examples: []example{
				{"computer-use-mcp info", "is it running, and where can I watch?"},
				{"computer-use-mcp info --json | jq -r .viewer", "the viewer link, for a script"},
			},
			prepare: (*app).info,
		},
		{
			name: "try", help: "open a computer and drive it as an agent would; writes try.png",
			about: []string{
				"It types into a terminal in a session of its own, prints how long each step took, and leaves the last picture in " +
					"this folder. At a terminal the screen stays open until Enter. The computer keeps running.",
			},
			examples: []example{
				{"computer-use-mcp try", "does it work, and what does it look like?"},
				{"COMPUTER_USE_ENGINE=local computer-use-mcp try", "without Docker"},
			},
			prepare: (*app).try,
		},
		{
			name: "doctor", help: "check everything that an agent's work needs; what a bug report starts with",
			about: []string{
				"It looks at the settings, the engine and this machine, then starts or joins the computer and uses it in a session " +
					"of its own: a frame, a typed line, a file both ways, the viewer page, a VNC connection. Each line is ok, or ! " +
					"with what to do. What it made on the computer it removes, and a local computer that it had to start it stops again.",
				"It never pulls an image. The status is 1 when a check fails.",
			},
			examples: []example{
				{"computer-use-mcp doctor", "why does it not work?"},
				{"computer-use-mcp doctor --full", "a frame from every screen that is free, up to 16"},
				{"computer-use-mcp doctor --json > report.json", "for a bug report"},
			},
			prepare: (*app).doctor,
		},
		{
			name: "stop", help: "stop the computer of the local engine; its files stay",
			about:    []string{"A container is yours to stop: docker stop computer-use."},
			examples: []example{{"computer-use-mcp stop", "end the daemon and every program on its screens"}},
			prepare:  (*app).stop,
		},
		{
			name: "logs", help: "print the log of the computer's daemon",
			about: []string{
				"It is the log of what runs on the computer's side. An MCP server writes its own to stderr, which clients keep. " +
					"COMPUTER_USE_LOG=debug, set when the computer is started, has it tell more. No log holds a key, a token or typed text.",
			},
			examples: []example{
				{"computer-use-mcp logs", "what happened last"},
				{"computer-use-mcp logs --follow --lines 0", "what happens from now on"},
			},
			prepare: (*app).logs,
		},
		{
			name: "config", help: "print what an MCP client needs to run this program",
			operand: operand{name: "client", values: mcpClientNames()},
			about: []string{
				"The snippet goes to stdout, and where it belongs to stderr. It names this very binary, so run it where the " +
					"binary is to stay. COMPUTER_USE_ variables that are set now become settings of the client's server.",
			},
			examples: []example{
				{"computer-use-mcp config claude-code", "the command that adds this server"},
				{"COMPUTER_USE_ENGINE=local computer-use-mcp config cursor", "with a setting"},
			},
			prepare: (*app).config,
		},
		{
			name: "bench", help: "measure the documentation's tables of numbers on this machine; prints Markdown",
			operand: operand{name: "table", values: benchTableNames(), optional: true},
			about:   benchAbout(),
			examples: []example{
				{"COMPUTER_USE_ENGINE=local computer-use-mcp bench agent --rounds 50", "what an agent waits for, in the sandbox on this machine"},
				{"computer-use-mcp bench >tables.md", "every table, in a clone of the source"},
			},
			prepare: (*app).bench,
		},
		{
			name: "completion", help: "print the completion of a shell",
			operand: operand{name: "shell", values: shells},
			examples: []example{
				{"computer-use-mcp completion bash >~/.local/share/bash-completion/completions/computer-use-mcp", "for every new bash"},
				{"computer-use-mcp completion zsh >~/.zfunc/_computer-use-mcp", "for zsh, with ~/.zfunc in its fpath"},
				{"computer-use-mcp completion fish >~/.config/fish/completions/computer-use-mcp.fish", "for every new fish"},
			},
			prepare: (*app).completion,
		},
		{
			name: "version", help: "print the version",
			examples: []example{{"computer-use-mcp version", "version, Go release and platform"}},
			prepare:  (*app).version,
		},
		{
			name: "help", help: "print the commands and settings, or what one command does",
			operand: operand{name: "command", optional: true},
			examples: []example{
				{"computer-use-mcp help info", "the same as computer-use-mcp info --help"},
				{"computer-use-mcp help --man | man -l -", "everything, as a manual page"},
			},
			prepare: (*app).help,
		},
	}
}

// Exit statuses, as help documents them.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errReported is a failure that the command has already told the user about.
var errReported = errors.New("reported")

// run runs the command that args name and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	out := &output{Writer: a.stdout}
	a.stdout = out
	err := a.dispatch(ctx, args)
	if err == nil {
		err = out.err
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	}
	fmt.Fprintf(a.stderr, "computer-use-mcp: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

func (a *app) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{commands()[0].name}
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-v", "-version", "--version":
		name = "version"
	}
	c, err := findCommand(name)
	if err != nil {
		return err
	}
	flags := c.flagSet()
	run := c.prepare(a, flags)
	given, err := c.parse(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		a.writeCommand(a.stdout, c)
		return nil
	}
	if err != nil {
		return usageError{fmt.Errorf("%w\nTry: computer-use-mcp help %s", err, c.name)}
	}
	return run(ctx, given)
}

// findCommand returns the row of a name.
func findCommand(name string) (command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return command{}, usageError{fmt.Errorf("there is no command %q%s\nTry: computer-use-mcp help", name, didYouMean(name, names))}
}

func (c command) flagSet() *flag.FlagSet {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse reads the command's flags and returns its operand. Flags may stand on both
// sides of the operand.
func (c command) parse(flags *flag.FlagSet, args []string) (given string, err error) {
	if err := parseFlags(flags, args); err != nil {
		return "", err
	}
	rest := flags.Args()
	if len(rest) > 0 && c.operand.name != "" {
		given = rest[0]
		if err := parseFlags(flags, rest[1:]); err != nil {
			return "", err
		}
		rest = flags.Args()
	}
	switch {
	case len(rest) > 0:
		return "", fmt.Errorf("%s takes no argument %q", c.name, rest[0])
	case given == "" && c.operand.name != "" && !c.operand.optional:
		return "", fmt.Errorf("%s needs a %s%s", c.name, c.operand.name, c.operand.accepted())
	}
	return given, c.operand.check(given)
}

func (o operand) check(given string) error {
	if given == "" || o.values == nil || slices.Contains(o.values, given) {
		return nil
	}
	return fmt.Errorf("there is no %s %q%s%s", o.name, given, didYouMean(given, o.values), o.accepted())
}

// accepted ends a message with the operand's values, if they are known.
func (o operand) accepted() string {
	if o.values == nil {
		return ""
	}
	return "\nAccepted: " + strings.Join(o.values, ", ")
}

// choice says what the operand may be, for documentation; it has values.
func (o operand) choice() string {
	return fmt.Sprintf("The %s is one of %s.", o.name, strings.Join(o.values, ", "))
}

// parseFlags is flags.Parse with an error that names the flag as a person writes it.
func parseFlags(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	if name, found := strings.CutPrefix(err.Error(), "flag needs an argument: -"); found {
		return fmt.Errorf("--%s needs a value", name)
	}
	unknown, found := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !found {
		return errors.New(strings.Replace(err.Error(), " for flag -", " for --", 1))
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, "--"+f.Name) })
	return fmt.Errorf("%s has no flag --%s%s", flags.Name(), unknown, didYouMean("--"+unknown, names))
}

func (a *app) stop(*flag.FlagSet) action {
	return func(ctx context.Context, _ string) error {
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
}

func (a *app) version(*flag.FlagSet) action {
	return func(context.Context, string) error {
		fmt.Fprintf(a.stdout, "computer-use-mcp %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	}
}

func (a *app) help(flags *flag.FlagSet) action {
	man := flags.Bool("man", false, "print the manual page instead")
	return func(_ context.Context, name string) error {
		if *man {
			a.writeMan(a.stdout)
			return nil
		}
		if name == "" {
			a.writeHelp(a.stdout)
			return nil
		}
		c, err := findCommand(name)
		if err != nil {
			return err
		}
		a.writeCommand(a.stdout, c)
		return nil
	}
}
