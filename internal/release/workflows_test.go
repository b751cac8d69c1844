package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A tag of somebody else's action can be moved, so the workflows, which hold the key to
// releases, name commits; and no run step has an expression in it, which its shell would
// take for code.
func TestWorkflowsCannotBeTurned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	pinned := regexp.MustCompile(`^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	actions := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		run := -1 // indentation of the run step that a line is in
		for line := range strings.Lines(string(data)) {
			text := strings.TrimPrefix(strings.TrimSpace(line), "- ")
			indent := len(line) - len(strings.TrimLeft(line, " -"))
			if indent <= run {
				run = -1
			}
			if strings.HasPrefix(text, "run:") {
				run = indent
			}
			if run >= 0 && strings.Contains(line, "${{") {
				t.Errorf("%s: an expression in a script: %s", file, text)
			}
			if action, found := strings.CutPrefix(text, "uses: "); found {
				actions++
				if !pinned.MatchString(action) {
					t.Errorf("%s: not a commit with its version: %s", file, action)
				}
			}
		}
	}
	if actions < 5 {
		t.Errorf("only %d actions were found", actions)
	}
}

// S0-238, S0-239: what runs on every push and keeps its binaries for 14 days, and what a tag
// builds and publishes.
func TestWorkflowsBuildAndPublish(t *testing.T) {
	for file, wanted := range map[string][]string{
		"checks.yml": {`branches: ["**"]`, "run: .ci/run", "run: make release", "retention-days: 14"},
		"release.yml": {
			`tags: ["v*"]`, "run: .ci/run", "make release", "arch: amd64", "arch: arm64", "docker push",
			"gh release create", `--prerelease="$PRERELEASE" dist/*`,
		},
	} {
		data, err := os.ReadFile("../../.github/workflows/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s has no %q", file, want)
			}
		}
	}
}
