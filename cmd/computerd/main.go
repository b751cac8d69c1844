// Computerd runs inside a computer: it opens screens, acts on them and serves the API
// to the MCP server on the host. People do not start it; the engines do.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/session/daemon"
)

// version is set at release by the linker.
var version = "dev"

func main() {
	if ok, err := daemon.Help(os.Args[1:], os.Stdin, os.Stdout); ok {
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, boundedLog{os.Stderr, maxLog})
	stop()
	os.Exit(code)
}

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	options, level, err := parse(args, getenv, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "computerd: %v\n", err)
		return 2
	}
	options.Stdout = stdout
	options.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if err := daemon.Run(ctx, options); err != nil {
		fmt.Fprintf(stderr, "computerd: %v\n", err)
		return 1
	}
	return 0
}

// parse reads the command line. What the engine wants to say about the surroundings
// may also come from the environment.
func parse(args []string, getenv func(string) string, stderr io.Writer) (o daemon.Options, level slog.Level, err error) {
	o.Version = version
	var serverUID, serverGID, programUID, programGID int
	flags := flag.NewFlagSet("computerd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.StateDir, "state", "", "`folder` for the daemon alone")
	flags.StringVar(&o.HomeDir, "home", "", "home `folder` of the programs")
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:7070", "`address` of the API")
	flags.StringVar(&o.ViewerListen, "viewer-listen", "", "`address` of the viewer page")
	flags.IntVar(&o.PortBase, "port-base", 0, "`port` of the viewer page on the host; screen n has this plus n")
	flags.IntVar(&o.DevToolsBase, "devtools-base", 0, "loopback `port` of the browsers' DevTools, which screen n has plus n; 0 for free ports")
	flags.BoolVar(&o.BrowserSandbox, "browser-sandbox", false, "have browsers use a sandbox of their own, where there is none around them")
	flags.StringVar(&o.TokenFile, "token-file", "", "`file` with the API's bearer token")
	flags.StringVar(&o.Network, "network", cmp.Or(getenv("COMPUTER_USE_NETWORK"), "internet"), "what the computer reaches: internet or offline")
	flags.StringVar(&o.Sandbox, "sandbox", getenv("COMPUTER_USE_SANDBOX"), "what isolates the computer, in a few `words`")
	flags.StringVar((*string)(&o.NativeViewers), "native-viewers", string(daemon.NativeControl), "what VNC programs `may` do: control, watch or off")
	flags.IntVar(&serverUID, "server-uid", -1, "user `id` of the X servers")
	flags.IntVar(&serverGID, "server-gid", -1, "group `id` of the X servers")
	flags.IntVar(&programUID, "program-uid", -1, "user `id` of the programs")
	flags.IntVar(&programGID, "program-gid", -1, "group `id` of the programs")
	flags.TextVar(&level, "log", slog.LevelInfo, "log `level`: debug, info, warn or error")
	if err := flags.Parse(args); err != nil {
		return o, level, err
	}
	if flags.NArg() > 0 {
		return o, level, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for _, f := range []struct{ name, value string }{
		{"state", o.StateDir}, {"home", o.HomeDir}, {"token-file", o.TokenFile},
	} {
		if f.value == "" {
			return o, level, fmt.Errorf("--%s is missing", f.name)
		}
	}
	if o.Network != "internet" && o.Network != "offline" {
		return o, level, fmt.Errorf("--network %q is neither internet nor offline", o.Network)
	}
	if may := []daemon.NativeViewers{daemon.NativeControl, daemon.NativeWatch, daemon.NativeOff}; !slices.Contains(may, o.NativeViewers) {
		return o, level, fmt.Errorf("--native-viewers %q is neither control, watch nor off", o.NativeViewers)
	}
	const most = 65535 - 16
	if o.PortBase < 0 || o.PortBase > most {
		return o, level, fmt.Errorf("--port-base %d is outside 0 to %d", o.PortBase, most)
	}
	if o.DevToolsBase < 0 || o.DevToolsBase > most {
		return o, level, fmt.Errorf("--devtools-base %d is outside 0 to %d", o.DevToolsBase, most)
	}
	if o.ServerUser, err = credential("server", serverUID, serverGID); err != nil {
		return o, level, err
	}
	o.ProgramUser, err = credential("program", programUID, programGID)
	return o, level, err
}

// credential makes a user of the two flags' values, nil when neither was given.
func credential(who string, uid, gid int) (*daemon.Credential, error) {
	if uid == -1 && gid == -1 {
		return nil, nil
	}
	if min(uid, gid) < 0 || max(uid, gid) >= math.MaxUint32 {
		return nil, fmt.Errorf("--%s-uid %d and --%s-gid %d are not a user and a group", who, uid, who, gid)
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("--%s-uid needs root", who)
	}
	return &daemon.Credential{UID: uint32(uid), GID: uint32(gid)}, nil
}
