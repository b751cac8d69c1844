// Package devtools lets agents call chrome-devtools-mcp from the shell. mcpc, a command-line
// client of MCP servers, keeps a list of sessions in home. For each it starts a bridge
// process with the first call, which runs the server.
//
// [Session.Connect] enters a screen's browser into that list. Between bridge and server
// stands this program ([Relay]): it passes messages on and ends both when no call has come
// for a while. mcpc starts a bridge that has ended anew with the next call, and the pages
// are Chromium's, so nothing is lost.
package devtools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// The versions of the two packages that the image has, and that everything here was tried
// with.
const (
	BridgePackage = "@apify/mcpc@0.2.6"
	ServerPackage = "chrome-devtools-mcp@1.11.0"
)

// Missing is the exit status of [Check] when one of the packages is not installed.
const Missing = 127

// Command is the first argument with which the daemon's binary is what [Run] does.
const Command = "devtools"

// Session is mcpc's session of one screen.
type Session struct {
	Screen  int           // its number
	Address string        // of the DevTools, http://127.0.0.1:port
	Idle    time.Duration // after which its processes end
	Home    string        // a folder beside /tmp that tools may write screenshots and traces to
	Program string        // the daemon's binary
}

// Name returns the name by which mcpc knows the session.
func (s Session) Name() string { return fmt.Sprintf("@cdt-%d", s.Screen) }

// Usage returns the command for a call, with the tool and its arguments to fill in.
func (s Session) Usage() string { return "mcpc " + s.Name() + " tools-call <tool> '<json>'" }

// Check is a bash script whose exit status is Missing where the packages are not installed.
const Check = "type mcpc chrome-devtools-mcp >/dev/null 2>&1 || exit 127"

// Connect returns a bash script that enters the session, in the place of an earlier one.
func (s Session) Connect() (script string, err error) {
	server, err := json.Marshal(server{
		Command: s.Program,
		Args: []string{
			Command, relay, s.Idle.String(), "chrome-devtools-mcp", "--browserUrl", s.Address,
			// Nothing is to leave the computer that no page asks for.
			"--no-usage-statistics", "--no-performance-crux",
			"--workspace", s.Home, "--workspace", "/tmp",
		},
		Env: map[string]string{"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"},
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s %s", s.run(connect), s.Name(), supervise.ShellQuote(string(server))), nil
}

// Close returns a bash script that ends the session's processes and takes it off the list.
func (s Session) Close() string { return s.run(disconnect) + " " + s.Name() }

func (s Session) run(what string) string {
	return supervise.ShellQuote(s.Program) + " " + Command + " " + what
}

// What the daemon's binary does for a session; the second argument.
const (
	relay      = "relay"      // how long it may be idle and the server's command line follow
	connect    = "connect"    // the session's name and the server follow
	disconnect = "disconnect" // the session's name follows
)

// Run is the daemon's binary in the service of a session: as the programs' user, in the
// session's shell or as a child of a bridge, whose process id is parent. args are those
// behind Command.
func Run(args []string, getenv func(string) string, stdin io.Reader, stdout io.Writer, parent int) error {
	switch {
	case len(args) >= 3 && args[0] == relay:
		idle, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		return Relay(idle, args[2:], stdin, stdout, parent)
	case len(args) == 3 && args[0] == connect:
		return sessionsOf(getenv).set(args[1], json.RawMessage(args[2]))
	case len(args) == 2 && args[0] == disconnect:
		return sessionsOf(getenv).set(args[1], nil)
	}
	return errors.New("unknown arguments")
}
