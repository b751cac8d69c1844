package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// Issue 10, item 3: bash completes commands, flags and operands.
func TestBashCompletion(t *testing.T) {
	xvfbtest.Need(t, "bash")
	var script bytes.Buffer
	writeBash(&script)
	file := filepath.Join(t.TempDir(), "completion")
	if err := os.WriteFile(file, script.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		words []string // after the program; the last one is being typed
		want  []string // among the answers
		not   []string
	}{
		{[]string{"co"}, []string{"config", "completion"}, []string{"info"}},
		{[]string{"config", ""}, mcpClientNames(), []string{"info"}},
		{[]string{"info", "--j"}, []string{"--json"}, nil},
		{[]string{"help", "lo"}, []string{"logs"}, nil},
		{[]string{"completion", ""}, shells, nil},
	} {
		args := append([]string{
			"--noprofile", "--norc", "-c",
			`. "$0"; COMP_WORDS=(computer-use-mcp "$@"); COMP_CWORD=$#; _computer_use_mcp; printf '%s\n' "${COMPREPLY[@]}"`, file,
		}, test.words...)
		out, err := exec.Command("bash", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(string(out))
		for _, want := range test.want {
			if !slices.Contains(got, want) {
				t.Errorf("%q completes to %q, without %s", test.words, got, want)
			}
		}
		for _, not := range test.not {
			if slices.Contains(got, not) {
				t.Errorf("%q completes to %q", test.words, got)
			}
		}
	}
}

// Every command and flag is in the completions and on the manual page. Shells that are
// here check their own.
func TestEveryCommandIsCompletedAndInTheManual(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer){
		"zsh":  func(b *bytes.Buffer) { writeZsh(b) },
		"fish": func(b *bytes.Buffer) { writeFish(b) },
		"man":  func(b *bytes.Buffer) { (&app{}).writeMan(b) },
	} {
		var b bytes.Buffer
		write(&b)
		text := strings.ReplaceAll(b.String(), `\-`, "-")
		for _, c := range commands() {
			if !strings.Contains(text, c.name) {
				t.Errorf("%s: no %s", name, c.name)
			}
			for _, o := range c.flags() {
				if !strings.Contains(text, strings.TrimPrefix(o.name, "--")) {
					t.Errorf("%s: no %s of %s", name, o.name, c.name)
				}
			}
		}
		if check, err := exec.LookPath(name); err == nil && name != "man" {
			cmd := exec.Command(check, "-n")
			cmd.Stdin = &b
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
	}
}

// groff formats the manual page without a complaint.
func TestManualPage(t *testing.T) {
	xvfbtest.Need(t, "groff")
	var page bytes.Buffer
	(&app{}).writeMan(&page)
	cmd := exec.Command("groff", "-man", "-Tutf8", "-ww", "-z")
	cmd.Stdin = &page
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
