//go:build !linux

// Package local runs the computer on this machine without Docker. It exists on
// Linux only; elsewhere every call says so.
package local

import (
	"context"
	"io"
	"log/slog"
	"runtime"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// Config has the fields that it has on Linux; all are ignored.
type Config struct {
	Name, StateDir, HomeDir, Computerd string
	PortBase                           int
	NativeViewers                      string
	Debug, Unsafe                      bool
	Logger                             *slog.Logger
}

// Engine refuses everything.
type Engine struct{}

// New returns an engine that refuses everything.
func New(Config) (*Engine, error) { return &Engine{}, nil }

// Name returns "local".
func (*Engine) Name() string { return "local" }

// Close implements [engine.Engine].
func (*Engine) Close() {}

// Ensure returns an [api.Error] of CodeEngineUnavailable.
func (*Engine) Ensure(context.Context, func(string)) (*engine.Endpoint, error) {
	return nil, refusal()
}

// Status returns an [api.Error] of CodeEngineUnavailable.
func (*Engine) Status(context.Context) (*engine.Status, error) { return nil, refusal() }

// Diagnose returns one check, which says that this engine exists on Linux only.
func (*Engine) Diagnose(context.Context) []engine.Check {
	return []engine.Check{engine.Failed("system", refusal())}
}

// Stop returns an [api.Error] of CodeEngineUnavailable.
func (*Engine) Stop(context.Context) (bool, error) { return false, refusal() }

// Log returns an [api.Error] of CodeEngineUnavailable.
func (*Engine) Log(context.Context, io.Writer, int, bool) error { return refusal() }

func refusal() error {
	return api.Errorf(api.CodeEngineUnavailable, "The local engine exists on Linux only; this is %s.", runtime.GOOS).
		WithFix("Set COMPUTER_USE_ENGINE=docker.")
}
