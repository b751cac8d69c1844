package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

// shells are those that completion can be written for.
var shells = []string{"bash", "zsh", "fish"}

// completion prints what makes a shell complete the command line of this program.
func (a *app) completion(*flag.FlagSet) action {
	return func(_ context.Context, shell string) error {
		switch shell {
		case "bash":
			writeBash(a.stdout)
		case "zsh":
			writeZsh(a.stdout)
		case "fish":
			writeFish(a.stdout)
		}
		return nil
	}
}

// operands returns what may follow a command as its operand.
func (c command) operands() []string {
	if c.name != "help" {
		return c.operand.values
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// words returns what may follow a command: its flags and operands.
func (c command) words() []string {
	var words []string
	for _, o := range c.flags() {
		words = append(words, o.name)
	}
	return append(words, c.operands()...)
}

func writeBash(w io.Writer) {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	fmt.Fprint(w, "# bash completion of computer-use-mcp\n_computer_use_mcp() {\n\tlocal words=''\n")
	fmt.Fprintf(w, "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords='%s'\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n", strings.Join(names, " "))
	for _, c := range commands() {
		if words := c.words(); len(words) > 0 {
			fmt.Fprintf(w, "\t\t%s) words='%s' ;;\n", c.name, strings.Join(words, " "))
		}
	}
	fmt.Fprint(w, "\t\tesac\n\tfi\n\t# Not mapfile, which bash 3.2 of macOS lacks.\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"+
		"complete -F _computer_use_mcp -o default computer-use-mcp\n")
}

func writeZsh(w io.Writer) {
	fmt.Fprint(w, "#compdef computer-use-mcp\n# zsh completion of computer-use-mcp\nif (( CURRENT == 2 )); then\n\t_values command \\\n")
	for i, c := range commands() {
		end := " \\"
		if i == len(commands())-1 {
			end = ""
		}
		fmt.Fprintf(w, "\t\t'%s[%s]'%s\n", c.name, zshText(c.help), end)
	}
	fmt.Fprint(w, "\treturn\nfi\ncase $words[2] in\n")
	for _, c := range commands() {
		if words := c.words(); len(words) > 0 {
			fmt.Fprintf(w, "%s) compadd -- %s ;;\n", c.name, strings.Join(words, " "))
		}
	}
	fmt.Fprint(w, "esac\n")
}

// zshText writes text for the brackets of _values in single quotes.
func zshText(s string) string {
	return strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
}

func writeFish(w io.Writer) {
	fmt.Fprint(w, "# fish completion of computer-use-mcp\ncomplete -c computer-use-mcp -f\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "complete -c computer-use-mcp -n __fish_use_subcommand -a %s -d %s\n", c.name, fishText(c.help))
	}
	for _, c := range commands() {
		after := fmt.Sprintf("complete -c computer-use-mcp -n '__fish_seen_subcommand_from %s'", c.name)
		for _, o := range c.flags() {
			value := ""
			if o.value != "" {
				value = " -r"
			}
			fmt.Fprintf(w, "%s -l %s%s -d %s\n", after, strings.TrimPrefix(o.name, "--"), value, fishText(o.help))
		}
		if words := c.operands(); len(words) > 0 {
			fmt.Fprintf(w, "%s -a '%s'\n", after, strings.Join(words, " "))
		}
	}
}

func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
