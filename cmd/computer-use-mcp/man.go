package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
)

// writeMan is the manual page, in the macros of man(7).
func (a *app) writeMan(w io.Writer) {
	fmt.Fprintf(w, ".TH COMPUTER-USE-MCP 1 \"\" \"computer-use-mcp %s\"\n", roff(version))
	fmt.Fprint(w, ".SH NAME\ncomputer-use-mcp \\- give AI agents a computer\n.SH SYNOPSIS\n.B computer-use-mcp\n[command]\n")
	fmt.Fprint(w, ".SH DESCRIPTION\nWithout a command it is an MCP server over stdio, which opens one Linux desktop and gives every "+
		"agent session a screen of its own on it.\n.SH COMMANDS\n")
	for _, c := range commands() {
		fmt.Fprintf(w, ".TP\n.B %s\n%s.\n", roff(strings.TrimSpace(c.name+" "+c.synopsis())), roff(strings.ToUpper(c.help[:1])+c.help[1:]))
		for _, paragraph := range c.about {
			fmt.Fprintf(w, ".IP\n%s\n", roff(paragraph))
		}
		if c.operand.values != nil {
			fmt.Fprintf(w, ".IP\n%s\n", roff(c.operand.choice()))
		}
		for _, o := range c.flags() {
			fmt.Fprintf(w, ".RS\n.TP\n.B %s\n%s\n.RE\n", roff(o.String()), roff(o.about()))
		}
	}
	fmt.Fprint(w, ".SH ENVIRONMENT\n")
	for _, s := range hostmcp.SettingTable {
		fmt.Fprintf(w, ".TP\n.B %s\n%s It is %s; default %s.\n", roff(s.Name), roff(s.Doc), roff(s.Form), roff(s.Default))
	}
	fmt.Fprintf(w, ".SH EXIT STATUS\n%s\n.SH EXAMPLES\n", roff(strings.TrimPrefix(exitStatuses, "Exit status: ")))
	for _, c := range commands() {
		for _, e := range c.examples {
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(e.line), roff(e.why))
		}
	}
}

// roff escapes a text for a line of its own.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
