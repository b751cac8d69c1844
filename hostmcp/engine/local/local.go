//go:build linux

// Package local runs the computer on this Linux machine: the daemon, and with it
// every program of the agents, inside a bubblewrap sandbox. It needs no Docker.
//
// # What the sandbox does and does not do
//
// The computer has its own mount, process and IPC namespaces. It sees the
// distribution's read-only system (/usr and chosen parts of /etc), a private /tmp
// and a home folder of its own. The user's home and everything else on the disk do
// not exist inside, and only its own processes do. It shares this machine's kernel,
// processors, memory and network: a program inside reaches the internet, what this
// machine serves on its loopback address, and abstract Unix sockets.
//
// Started as root, agents' programs and X servers get user ids of their own
// (programUID, serverUID), and the daemon keeps its state to itself. Started as an
// ordinary user everything in the sandbox has that user's id, so a program inside
// can reach the daemon's token and act as the daemon could; the sandbox around both
// is the boundary then.
//
// # Life
//
// Like a container the computer outlives the process that started it, and ends only
// by [Engine.Stop]. One lock file says whether it lives. Whoever gets the lock starts the
// computer and hands the lock's descriptor to the sandbox's first process, so that
// the kernel frees it at the moment when the last process of the computer is gone,
// however that came. No process id is written down and believed later.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// User ids of a computer that root starts. They lie in a range that Debian leaves
// unassigned, so that they belong to nobody else on this machine.
const (
	programUID = 59901 // agents' programs
	serverUID  = 59902 // X servers
	screenGIDs = 59910 // plus a screen's number: the group of the programs on it
)

// Config describes one local computer.
type Config struct {
	Name      string // of the computer, computer-use when empty
	StateDir  string // empty: <state folder of the user>/computer-use-mcp/<name>
	HomeDir   string // the computer's home; empty: <data folder of the user>/computer-use-mcp/<name>/home
	Computerd string // the daemon's binary; empty: beside this executable, then on PATH

	// PortBase is the first of 17 ports on 127.0.0.1: the viewer page, then the
	// screens' VNC ports. 0 serves neither on a fixed port.
	PortBase int

	// NativeViewers says what VNC programs may do: control, watch or off. Empty is
	// the daemon's choice, control.
	NativeViewers string

	// Debug makes a daemon that is started log in detail.
	Debug bool

	// Unsafe runs the daemon without the sandbox: agents' programs can then do to
	// this machine whatever the user can.
	Unsafe bool

	Logger *slog.Logger // nil discards
}

// defaultName is the name of a computer that was given none.
const defaultName = "computer-use"

// How long to wait, beyond what the caller's context allows.
const (
	startTimeout  = 20 * time.Second // from the start of the daemon to its first answer
	healthTimeout = 2 * time.Second  // one answer of a daemon that serves
	stopTimeout   = 10 * time.Second // an orderly stop, before processes are killed
	pollEvery     = 20 * time.Millisecond
)

// Engine is the local engine. Its methods may be called concurrently.
type Engine struct {
	cfg   Config
	state stateDir
	home  string
	log   *slog.Logger

	patience time.Duration // startTimeout, less in tests
}

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$`)

// New returns the engine of the computer that cfg describes. It touches nothing.
func New(cfg Config) (*Engine, error) {
	if cfg.Name == "" {
		cfg.Name = defaultName
	}
	if !nameForm.MatchString(cfg.Name) {
		return nil, fmt.Errorf("computer name %q is not made of letters, digits, '_', '.' and '-'", cfg.Name)
	}
	if cfg.StateDir == "" {
		dir, err := userDir("XDG_STATE_HOME", ".local/state")
		if err != nil {
			return nil, err
		}
		cfg.StateDir = filepath.Join(dir, "computer-use-mcp", cfg.Name)
	}
	if cfg.HomeDir == "" {
		dir, err := userDir("XDG_DATA_HOME", ".local/share")
		if err != nil {
			return nil, err
		}
		cfg.HomeDir = filepath.Join(dir, "computer-use-mcp", cfg.Name, "home")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{cfg: cfg, state: stateDir(cfg.StateDir), home: cfg.HomeDir, log: cfg.Logger, patience: startTimeout}, nil
}

// userDir returns the folder that the variable names, or the fallback below the
// user's home. A relative value is ignored, as the XDG base directory specification asks.
func userDir(variable, fallback string) (string, error) {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", engine.Unavailable("There is no folder for the computer: %v.", err).
			WithFix("Set HOME to your home folder, in the client's configuration of this MCP server too, or %s to a folder.", variable)
	}
	return filepath.Join(home, fallback), nil
}

// Name returns "local".
func (e *Engine) Name() string { return "local" }

// Close implements [engine.Engine]. The computer serves its viewers itself.
func (e *Engine) Close() {}

// Ensure implements [engine.Engine].
func (e *Engine) Ensure(ctx context.Context, progress func(string)) (*engine.Endpoint, error) {
	if endpoint, err := e.find(ctx); err == nil {
		return endpoint, nil
	}
	if err := e.state.create(); err != nil {
		return nil, engine.Unavailable("The state folder of the local computer cannot be used: %v.", err).
			WithFix("Let XDG_STATE_HOME name a folder that this user can write; it is %s now.", filepath.Dir(filepath.Dir(string(e.state))))
	}
	early := e.state.holders()
	endpoint, err := e.ensureInTime(ctx, progress)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && e.endCutOff(ctx, early) {
		progress("Starting the local computer again: its start had been cut off.")
		endpoint, err = e.ensureInTime(ctx, progress)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, e.hung(err)
	}
	return endpoint, err
}

// ensureInTime is ensure, within the time that a start may take.
func (e *Engine) ensureInTime(ctx context.Context, progress func(string)) (*engine.Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	endpoint, err := e.ensure(ctx, progress)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return nil, fmt.Errorf("%w: %v", ctx.Err(), err)
	}
	return endpoint, err
}

// endCutOff ends a computer that has not come as far as to say where it is reached in all
// the time of a start: when bubblewrap is killed at the wrong moment, what it started
// waits for it for ever, with the lock. early are the processes that held that when the
// time began; what has begun since is only slow. It reports whether it ended one.
func (e *Engine) endCutOff(ctx context.Context, early []int) bool {
	if _, err := e.state.facts(); err == nil {
		return false
	}
	found := false
	for _, pid := range e.state.holders() {
		if slices.Contains(early, pid) {
			kill(pid)
			found = true
		}
	}
	if !found {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return e.state.waitFree(ctx) == nil
}

// ensure waits until either the computer answers or its lock is free, and starts
// it in the second case.
func (e *Engine) ensure(ctx context.Context, progress func(string)) (*engine.Endpoint, error) {
	waiting := false
	for {
		lock, err := e.state.tryLock()
		if err != nil {
			return nil, engine.Unavailable("The lock of the local computer cannot be taken: %v.", err).
				WithFix("When no computer runs, remove the folder %s; the next start makes it again.", e.state)
		}
		if lock != nil {
			defer lock.Close() // the computer holds its own copy
			progress("Starting the local computer.")
			return e.start(ctx, lock)
		}
		endpoint, err := e.find(ctx)
		if err == nil {
			return endpoint, nil
		}
		if refusal := api.AsError(err); refusal.Code == api.CodeVersionMismatch || refusal.Code == api.CodeComputerMismatch {
			return nil, refusal // waiting would not change it
		}
		if e.cfg.Unsafe && e.killOrphans() {
			continue
		}
		if !waiting {
			waiting = true
			progress("Waiting for the local computer to answer.")
		}
		if err := engine.Sleep(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
}

// find returns how the running computer is reached, if it is the one that was asked for:
// one without a sandbox is never taken for one that has it.
func (e *Engine) find(ctx context.Context) (*engine.Endpoint, error) {
	endpoint, facts, err := e.state.probe(ctx)
	if err != nil {
		return nil, err
	}
	if facts.Sandbox != e.sandboxWords() {
		return nil, api.Errorf(api.CodeComputerMismatch, "The local computer %q runs with another sandbox than COMPUTER_USE_LOCAL_SANDBOX asks for: %s.",
			e.cfg.Name, facts.Sandbox).
			WithFix("Run `computer-use-mcp stop`, then call start_computer again.")
	}
	endpoint.Notes = e.kept(facts)
	return endpoint, nil
}

// kept says which settings the running computer does not follow, because it was started
// with others.
func (e *Engine) kept(facts api.Facts) (notes []string) {
	_, base, err := net.SplitHostPort(facts.Viewer)
	if err != nil {
		base = "0" // it serves no page
	}
	for _, s := range []struct{ setting, is, wanted string }{
		{"COMPUTER_USE_PORT_BASE", base, strconv.Itoa(e.cfg.PortBase)},
		{"COMPUTER_USE_NATIVE_VIEWERS", facts.NativeViewers, cmp.Or(e.cfg.NativeViewers, "control")},
	} {
		if s.is != "" && s.is != s.wanted {
			notes = append(notes, fmt.Sprintf("The computer keeps %s=%s, with which it was started; the setting %s applies after `computer-use-mcp stop`, which ends all sessions. Files in home stay.",
				s.setting, s.is, s.wanted))
		}
	}
	return notes
}

// hung is the error for a computer whose processes live and do not answer.
func (e *Engine) hung(cause error) error {
	return api.Errorf(api.CodeEngineUnavailable,
		"The local computer %q is running but its daemon did not answer within %v (%v; processes %v).",
		e.cfg.Name, e.patience, cause, e.state.holders()).
		WithFix("Run `computer-use-mcp stop`, then call start_computer again. The daemon's log is %s.", e.state.log()).
		WithRetry()
}

// Status implements [engine.Engine].
func (e *Engine) Status(ctx context.Context) (*engine.Status, error) {
	s := &engine.Status{State: engine.StateStopped}
	sandbox := e.sandboxWords()
	if holders := e.state.holders(); len(holders) > 0 {
		s.State = engine.StateUnresponsive
		if endpoint, facts, err := e.state.probe(ctx); err == nil {
			s.State, s.Endpoint = engine.StateRunning, endpoint
			endpoint.Notes = e.kept(facts)
			sandbox = facts.Sandbox
			pids := namespacePIDs(holders[0])
			s.HostPID = func(pid int) int { return pids[pid] }
			s.PID = pids[facts.PID]
		}
	}
	s.Details = []engine.Detail{
		{Name: "name", Value: e.cfg.Name},
		{Name: "sandbox", Value: sandbox},
		{Name: "home", Value: e.home},
		{Name: "state", Value: string(e.state)},
		{Name: "log", Value: e.state.log()},
	}
	if s.Endpoint != nil && len(s.Endpoint.Notes) > 0 {
		s.Details = append(s.Details, engine.Detail{Name: "note", Value: strings.Join(s.Endpoint.Notes, " ")})
	}
	return s, nil
}

// Stop ends the computer and everything in it. Files in its home stay. It reports
// whether the computer was running, and waits until its last process is gone.
func (e *Engine) Stop(ctx context.Context) (bool, error) {
	if len(e.state.holders()) == 0 {
		return false, nil
	}
	orderly, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := e.state.shutdown(orderly); err != nil {
		e.log.Warn("the daemon did not take the order to stop", "error", err)
	} else if e.state.waitFree(orderly) == nil {
		return true, nil
	}
	// Without a sandbox a process may start another one between the look and the kill.
	killing, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for len(e.state.holders()) > 0 {
		for _, pid := range e.state.holders() {
			kill(pid)
		}
		if err := engine.Sleep(killing, pollEvery); err != nil {
			return true, fmt.Errorf("stop the local computer: processes %v are still there: %v", e.state.holders(), err)
		}
	}
	return true, e.state.waitFree(killing)
}

func (e *Engine) sandboxWords() string {
	if e.cfg.Unsafe {
		return "off: UNSAFE, agents' programs can do to this machine whatever its user can"
	}
	return "bubblewrap: own files, processes and IPC; this machine's network and kernel"
}

// killOrphans ends what a daemon without a sandbox left behind when it was killed,
// and reports whether there was anything.
func (e *Engine) killOrphans() bool {
	facts, err := e.state.facts()
	if err != nil {
		return false // still starting, perhaps
	}
	holders := e.state.holders()
	for _, pid := range holders {
		if pid == facts.PID {
			return false
		}
	}
	for _, pid := range holders {
		kill(pid)
	}
	return len(holders) > 0
}
