package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp"
)

// synopsis is the command's flags and operand as usage lines show them:
// "[--json] <client>".
func (c command) synopsis() string {
	var parts []string
	for _, f := range c.flags() {
		parts = append(parts, "["+f.String()+"]")
	}
	switch {
	case c.operand.optional:
		parts = append(parts, "["+c.operand.name+"]")
	case c.operand.name != "":
		parts = append(parts, "<"+c.operand.name+">")
	}
	return strings.Join(parts, " ")
}

// option is one flag of a command for documentation.
type option struct {
	name  string // with its dashes
	value string // name of its value, empty for a flag that takes none
	help  string
	def   string // its default, empty when there is nothing to say
}

// String is the flag as a usage line shows it.
func (o option) String() string { return strings.TrimSpace(o.name + " " + o.value) }

// about is what the flag does, and its default.
func (o option) about() string {
	if o.def == "" {
		return o.help
	}
	return o.help + " (default " + o.def + ")"
}

// flags returns the command's flags, sorted by name.
func (c command) flags() []option {
	set := c.flagSet()
	c.prepare(&app{}, set)
	var all []option
	set.VisitAll(func(f *flag.Flag) {
		value, help := flag.UnquoteUsage(f)
		o := option{name: "--" + f.Name, value: value, help: help}
		if value != "" { // a switch is off by default
			o.def = f.DefValue
		}
		all = append(all, o)
	})
	return all
}

func (a *app) writeCommands(w io.Writer) {
	fmt.Fprint(w, "Usage: computer-use-mcp [command]\n\n")
	for _, c := range commands() {
		usage := strings.TrimSpace(c.name + " " + c.synopsis())
		if len(usage) > 24 {
			fmt.Fprintf(w, "  %s\n", usage)
			usage = ""
		}
		fmt.Fprintf(w, "  %-24s %s\n", usage, c.help)
	}
}

// writeHelp is help without a command.
func (a *app) writeHelp(w io.Writer) {
	fmt.Fprint(w, "Computer-use-mcp gives agents a Linux computer with screens.\n\n")
	a.writeCommands(w)
	fmt.Fprint(w, "\nA command's own help has examples: computer-use-mcp help info\n")
	fmt.Fprint(w, "\nSettings are environment variables:\n\n")
	for _, s := range hostmcp.SettingTable {
		about := fmt.Sprintf("%s (%s; default %s)", s.Doc, s.Form, s.Default)
		fmt.Fprintf(w, "  %s\n      %s\n", s.Name, wrap(about, "      "))
	}
	fmt.Fprintf(w, "\n%s\n", exitStatuses)
}

// exitStatuses documents what run returns.
const exitStatuses = "Exit status: 0 it worked, 1 it failed, 2 the command line is wrong."

// writeCommand is the help of one command.
func (a *app) writeCommand(w io.Writer, c command) {
	fmt.Fprintf(w, "Usage: computer-use-mcp %s\n\n", strings.TrimSpace(c.name+" "+c.synopsis()))
	fmt.Fprintf(w, "%s.\n", strings.ToUpper(c.help[:1])+c.help[1:])
	for _, paragraph := range c.about {
		fmt.Fprintf(w, "\n%s\n", wrap(paragraph, ""))
	}
	if c.operand.values != nil {
		fmt.Fprintf(w, "\n%s\n", wrap(c.operand.choice(), ""))
	}
	if flags := c.flags(); len(flags) > 0 {
		fmt.Fprint(w, "\nFlags:\n")
		for _, o := range flags {
			fmt.Fprintf(w, "  %s\n      %s\n", o, wrap(o.about(), "      "))
		}
	}
	fmt.Fprint(w, "\nExamples:\n")
	for _, e := range c.examples {
		fmt.Fprintf(w, "  %s\n      %s\n", e.line, e.why)
	}
	fmt.Fprintf(w, "\n%s\n", exitStatuses)
}

// helpWidth is the longest line of help in characters.
const helpWidth = 80

// wrap breaks text into lines between words. All lines but the first begin with indent,
// which the caller has written before that one.
func wrap(text, indent string) string {
	var b strings.Builder
	column := len(indent)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > helpWidth:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// didYouMean names the candidate that is nearest to a misspelt name, if one is near.
func didYouMean(name string, candidates []string) string {
	best, least := "", 3 // more edits make another word
	for _, c := range candidates {
		d := api.Edits(name, c)
		if strings.HasPrefix(c, name) && len(name) > 1 {
			d = 1
		}
		if d < least && d < len(c) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}
