package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
)

// mcpClient is an MCP client and how it is told of this server.
type mcpClient struct {
	name    string // operand of the command
	title   string
	where   func(goos string) string // what to do with the snippet
	snippet func(s mcpServer) string
}

// mcpServer is what a client has to run.
type mcpServer struct {
	command string // absolute path
	env     []envVar
	goos    string
}

type envVar struct{ name, value string }

// serverName is how clients name this server to their users.
const serverName = "computer"

// callTimeout is how long clients should wait for a call, in seconds: longer than the
// longest command that an agent may run by default.
const callTimeout = 660

// mcpClients is the table of clients.
var mcpClients = []mcpClient{
	{
		name: "claude-code", title: "Claude Code",
		where: func(goos string) string {
			if goos == "windows" {
				return "Run this command in PowerShell."
			}
			return "Run this command in a terminal."
		},
		snippet: claudeCode,
	},
	{
		name: "claude-desktop", title: "Claude Desktop",
		where: func(goos string) string {
			file := "~/.config/Claude/claude_desktop_config.json"
			switch goos {
			case "darwin":
				file = "~/Library/Application Support/Claude/claude_desktop_config.json"
			case "windows":
				file = `%APPDATA%\Claude\claude_desktop_config.json`
			}
			return "Put this into " + file + " (Settings, Developer, Edit Config), then restart the app."
		},
		snippet: func(s mcpServer) string {
			return jsonFile(object{{"mcpServers", object{{serverName, s.entry()}}}})
		},
	},
	{
		name: "codex", title: "Codex",
		where:   at("Add this to ~/.codex/config.toml."),
		snippet: codex,
	},
	{
		name: "cursor", title: "Cursor",
		where: at("Put this into ~/.cursor/mcp.json, or into .cursor/mcp.json of one project."),
		snippet: func(s mcpServer) string {
			return jsonFile(object{{"mcpServers", object{{serverName, s.entry()}}}})
		},
	},
	{
		name: "vscode", title: "VS Code",
		where: at("Put this into .vscode/mcp.json of a project, or into the file that the command \"MCP: Open User Configuration\" opens."),
		snippet: func(s mcpServer) string {
			return jsonFile(object{{"servers", object{{serverName, append(object{{"type", "stdio"}}, s.entry()...)}}}})
		},
	},
	{
		name: "opencode", title: "OpenCode",
		where: at("Put this into ~/.config/opencode/opencode.json, or into opencode.json of one project."),
		snippet: func(s mcpServer) string {
			// The form of OpenCode 1, which 2 reads too.
			entry := object{{"type", "local"}, {"command", []string{s.command}}, {"enabled", true}}
			if len(s.env) > 0 {
				entry = append(entry, member{"environment", s.variables()})
			}
			return jsonFile(object{{"$schema", "https://opencode.ai/config.json"}, {"mcp", object{{serverName, entry}}}})
		},
	},
	{
		name: "gemini", title: "Gemini CLI",
		where: at("Put this into ~/.gemini/settings.json, or into .gemini/settings.json of one project."),
		snippet: func(s mcpServer) string {
			entry := append(s.entry(), member{"timeout", callTimeout * 1000}) // milliseconds
			return jsonFile(object{{"mcpServers", object{{serverName, entry}}}})
		},
	},
}

func at(place string) func(string) string { return func(string) string { return place } }

func mcpClientNames() []string {
	var names []string
	for _, c := range mcpClients {
		names = append(names, c.name)
	}
	return names
}

// config prints what a client needs to run this program. Settings of the present
// environment become settings of the client's server.
func (a *app) config(*flag.FlagSet) action {
	return func(_ context.Context, name string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		env, err := a.settingsNow()
		if err != nil {
			return err
		}
		server := mcpServer{command: self, env: env, goos: runtime.GOOS}
		for _, c := range mcpClients {
			if c.name == name {
				// Apart, so that the snippet can go into a file.
				fmt.Fprintf(a.stderr, "%s: %s\n", c.title, c.where(server.goos))
				fmt.Fprint(a.stdout, c.snippet(server))
			}
		}
		return nil
	}
}

// settingsNow returns the settings that have a value of their own. A bad one is an error.
func (a *app) settingsNow() ([]envVar, error) {
	var set []envVar
	for _, s := range hostmcp.SettingTable {
		if !a.settings.IsSet(s.Name) {
			continue
		}
		value, err := a.settings.Get(s.Name)
		if err != nil {
			return nil, err
		}
		set = append(set, envVar{s.Name, value})
	}
	return set, nil
}

// entry is the server in the form that most clients share.
func (s mcpServer) entry() object {
	o := object{{"command", s.command}, {"args", []string{}}}
	if len(s.env) > 0 {
		o = append(o, member{"env", s.variables()})
	}
	return o
}

func (s mcpServer) variables() object {
	var o object
	for _, v := range s.env {
		o = append(o, member{v.name, v.value})
	}
	return o
}

// claudeCode is a command line. The variables come first: what follows --env would be
// taken for another one, were it not an option.
func claudeCode(s mcpServer) string {
	words := []string{"claude", "mcp", "add"}
	for _, v := range s.env {
		words = append(words, "--env", v.name+"="+v.value)
	}
	words = append(words, "--scope", "user", serverName, "--", s.command)
	for i, w := range words {
		words[i] = shellWord(w, s.goos)
	}
	return strings.Join(words, " ") + "\n"
}

// shellWord quotes a word for the shell of a system: PowerShell and sh agree that
// nothing is special between single quotes, but not on how to write one there.
func shellWord(w, goos string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=./:,+"
	special := func(r rune) bool { return !strings.ContainsRune(plain, r) }
	if w != "" && strings.IndexFunc(w, special) < 0 {
		return w
	}
	if goos == "windows" {
		return "'" + strings.ReplaceAll(w, "'", "''") + "'"
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// codex is TOML, whose quoted strings take what JSON's do.
func codex(s mcpServer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.%s]\ncommand = %s\ntool_timeout_sec = %d\n", serverName, quote(s.command), callTimeout)
	if len(s.env) > 0 {
		fmt.Fprintf(&b, "\n[mcp_servers.%s.env]\n", serverName)
	}
	for _, v := range s.env {
		fmt.Fprintf(&b, "%s = %s\n", v.name, quote(v.value))
	}
	return b.String()
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", quote(m.name), quote(m.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// quote is JSON as a person would write it: <, > and & stay.
func quote(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // all values are of the table above
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func jsonFile(o object) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(quote(o)), "", "  "); err != nil {
		panic(err)
	}
	return b.String() + "\n"
}
