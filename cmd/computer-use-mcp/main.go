// Computer-use-mcp gives agents a Linux computer: without a command it is an MCP
// server over stdio. See `computer-use-mcp help`.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
)

// version is set by the linker in what `make` builds, and otherwise "dev".
var version = "dev"

// init takes the version of a release that go install has fetched, which no linker flag
// names. A checkout has no checksum and stays "dev".
func init() {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Sum != "" && version == "dev" {
		version = info.Main.Version
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	app := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		settings: hostmcp.NewSettings(os.Getenv),
	}
	code := app.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// app is the process as the commands see it.
type app struct {
	stdin    *os.File
	stdout   io.Writer
	stderr   io.Writer
	settings *hostmcp.Settings
}
