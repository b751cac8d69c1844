// Package xvfbtest gives a test its own X server, and whatever else it needs.
package xvfbtest

import (
	"os"
	"os/exec"
	"testing"
)

// Need ends the test unless every named program is in PATH, as NeedThat does.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := exec.LookPath(program)
		NeedThat(t, err == nil, program+", which is not installed")
	}
}

// NeedThat ends the test unless something that it cannot do without is there. What is
// missing skips the test at a desk and fails it when the environment has CI=true, so
// that nothing goes untested where it counts.
func NeedThat(t testing.TB, there bool, what string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("CI") == "true":
		t.Fatalf("this test needs %s", what)
	default:
		t.Skipf("SKIPPED: this test needs %s", what)
	}
}
