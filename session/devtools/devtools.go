// Package devtools lets agents call chrome-devtools-mcp from the shell. mcpc, a command-line
// client of MCP servers, keeps a bridge process for each screen, which runs the server.
//
// Between the two stands this program ([Relay]): it passes messages on and ends both when
// no call has come for a while. mcpc starts a bridge that has ended anew with the next
// call, and the pages are Chromium's, so nothing is lost.
package devtools

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The versions of the two packages that the image has, and that everything here was tried
// with.
const (
	BridgePackage = "@apify/mcpc@0.2.6"
	ServerPackage = "chrome-devtools-mcp@1.11.0"
)

// Missing is the exit status of a script when one of the packages is not installed.
const Missing = 127

// Session is mcpc's session of one screen.
type Session struct {
	Screen  int           // its number
	Address string        // of the DevTools, http://127.0.0.1:port
	Idle    time.Duration // after which it ends itself
	Home    string        // a folder beside /tmp that tools may write screenshots and traces to
	Relay   string        // the program that is the relay with the argument Command
}

// Name returns the name by which mcpc knows the session.
func (s Session) Name() string { return fmt.Sprintf("@cdt-%d", s.Screen) }

// Usage returns the command for a call, with the tool and its arguments to fill in.
func (s Session) Usage() string { return "mcpc " + s.Name() + " tools-call <tool> '<json>'" }

// Connect returns a bash script that makes the session, in the place of an earlier one,
// and starts its bridge, and the variable that it needs.
func (s Session) Connect() (script, variable string, err error) {
	entry := strings.TrimPrefix(s.Name(), "@")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{entry: map[string]any{
		"command": s.Relay,
		"args": []string{
			Command, s.Idle.String(), "chrome-devtools-mcp", "--browserUrl", s.Address,
			// Nothing is to leave the computer that no page asks for.
			"--no-usage-statistics", "--no-performance-crux",
			"--workspace", s.Home, "--workspace", "/tmp",
		},
		"env": map[string]string{"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"},
	}}})
	if err != nil {
		return "", "", err
	}
	const connect = `command -v mcpc chrome-devtools-mcp >/dev/null || exit %d
file=$(mktemp) || exit
trap 'rm -f "$file"' EXIT
printf %%s "$MCPC_CONFIG" >"$file"
unset MCPC_CONFIG
mcpc %[2]s close >/dev/null 2>&1
mcpc connect "$file:%[3]s" %[2]s`
	return fmt.Sprintf(connect, Missing, s.Name(), entry), "MCPC_CONFIG=" + string(config), nil
}

// Close returns a bash script that ends the session and forgets it. That somebody has done
// so before is no failure.
func (s Session) Close() string {
	return fmt.Sprintf(`mcpc %[1]s close || ! grep -qs '"%[1]s"' ~/.mcpc/sessions.json`, s.Name())
}
