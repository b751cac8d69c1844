package arch

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// S0-236: `make help` lists every target with what it does, and there is one for the
// checks, one for the image, and one that looks into it.
func TestMakeTargets(t *testing.T) {
	data, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var all, told []string
	for line := range strings.Lines(string(data)) {
		if names, ok := strings.CutPrefix(line, ".PHONY:"); ok {
			all = strings.Fields(names)
		}
		if m := regexp.MustCompile(`^([a-z0-9-]+):.*## .`).FindStringSubmatch(line); m != nil {
			told = append(told, m[1])
		}
	}
	if !slices.Equal(all, told) {
		t.Errorf("targets %q, of which `make help` tells %q", all, told)
	}
	for _, want := range []string{"help", "lint", "test", "image", "e2e-docker"} {
		if !slices.Contains(told, want) {
			t.Errorf("no target %s", want)
		}
	}
}
