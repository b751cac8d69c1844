package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
	"github.com/falleng0d/computer-use-mcp/hostmcp/opener"
)

func (a *app) serve(flags *flag.FlagSet) action {
	address := flags.String("http", "", "serve Streamable HTTP at `ADDR`, such as 127.0.0.1:8080, instead of stdio")
	tokenFile := flags.String("token-file", "",
		"with --http: the `FILE` that holds the bearer token; made when missing, by default http-token in the user's configuration folder")
	return func(ctx context.Context, _ string) error {
		if *tokenFile != "" && *address == "" {
			return usageError{errors.New("--token-file is of use only with --http")}
		}
		// A client that stops reading is an error of a write, after which the sessions
		// are ended in order; the signal would just end the process.
		signal.Ignore(syscall.SIGPIPE)
		for _, unknown := range hostmcp.CheckNames(os.Environ()) {
			a.logger().Warn("settings", "error", unknown)
		}
		viewers := opener.New(a.logger())
		defer viewers.Close()
		server := a.server(chooseEngine, viewers)
		if *address != "" {
			return a.serveHTTP(ctx, server, *address, *tokenFile)
		}
		transport := hostmcp.Stdio() // before anything can print
		if isTerminal(a.stdin) {
			fmt.Fprintln(a.stderr, "This is an MCP server: it waits for a client on stdin. See computer-use-mcp help.")
		}
		return server.Run(ctx, transport)
	}
}

// server returns an MCP server whose computer the function chooses. viewers, unless nil,
// shows its screens to the person here.
func (a *app) server(choose func(*hostmcp.Settings, *slog.Logger) (engine.Engine, error), viewers hostmcp.Opener) *hostmcp.Server {
	log := a.logger()
	return hostmcp.New(hostmcp.Config{
		Version: version, Settings: a.settings, Logger: log,
		Engine: func(s *hostmcp.Settings) (engine.Engine, error) { return choose(s, log) },
		Opener: viewers,
	})
}

func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: a.settings.LogLevel()}))
}
