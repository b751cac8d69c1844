package main

import (
	"bytes"
	"flag"
	"strings"
	"testing"
)

// Issue 10, item 6: every command explains itself, its flags and how it is used.
func TestEveryCommandHasHelp(t *testing.T) {
	for _, c := range commands() {
		var out bytes.Buffer
		(&app{}).writeCommand(&out, c)
		help := out.String()
		if len(c.examples) == 0 || !strings.Contains(help, c.examples[0].line) {
			t.Errorf("%s has no example", c.name)
		}
		for _, o := range c.flags() {
			if o.help == "" || !strings.Contains(help, o.String()) {
				t.Errorf("%s: its help does not explain %s", c.name, o)
			}
		}
	}
}

func TestOperandAmongFlags(t *testing.T) {
	c := command{name: "paint", operand: operand{name: "colour", values: []string{"red", "blue"}}}
	for _, test := range []struct {
		args  string
		given string
		fail  string // part of the error
	}{
		{"red", "red", ""},
		{"--wet red", "red", ""},
		{"red --wet", "red", ""},
		{"", "", "needs a colour"},
		{"bleu", "", "did you mean blue?\nAccepted: red, blue"},
		{"red blue", "", `no argument "blue"`},
		{"red --wat", "", "did you mean --wet?"},
	} {
		flags := c.flagSet()
		wet := flags.Bool("wet", false, "")
		given, err := c.parse(flags, strings.Fields(test.args))
		if test.fail == "" {
			if err != nil || given != test.given || *wet != strings.Contains(test.args, "--wet") {
				t.Errorf("%q: %q, %v", test.args, given, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.fail) {
			t.Errorf("%q: %v, want %q", test.args, err, test.fail)
		}
	}
	c.operand.optional = true
	if given, err := c.parse(flag.NewFlagSet("", flag.ContinueOnError), nil); given != "" || err != nil {
		t.Errorf("%q, %v", given, err)
	}
}

func TestSynopsis(t *testing.T) {
	c := command{name: "paint", operand: operand{name: "colour"}, prepare: func(_ *app, flags *flag.FlagSet) action {
		flags.Bool("wet", false, "")
		flags.Int("coats", 2, "how many `LAYERS`")
		return nil
	}}
	if got, want := c.synopsis(), "[--coats LAYERS] [--wet] <colour>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
