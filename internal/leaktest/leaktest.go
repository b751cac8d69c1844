// Package leaktest fails a package's tests when goroutines of this module are
// still running after the last of them. Packages that start goroutines call
// [Main] from TestMain; internal/arch checks that they do.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

const module = "github.com/falleng0d/computer-use-mcp"

// grace is how long goroutines that were told to stop may take to do so.
const grace = 5 * time.Second

// Main runs the package's tests and then the checks, and exits, with status 1 when one
// of them fails or goroutines are left behind.
func Main(m *testing.M, checks ...func() error) {
	code := m.Run()
	for _, check := range checks {
		if err := check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if code == 0 {
		if left := Wait(grace); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "%d goroutines are still running after the tests:\n\n%s\n",
				len(left), strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// Wait returns the stacks of this module's goroutines, other than the caller's, that
// are still running after at most d.
func Wait(d time.Duration) []string {
	deadline := time.Now().Add(d)
	for {
		left := running()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		// There is no signal for "a goroutine has ended": look again.
		time.Sleep(10 * time.Millisecond)
	}
}

func running() []string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	var left []string
	for i, stack := range strings.Split(string(buf), "\n\n") {
		// The first stack is the caller's own.
		if i > 0 && strings.Contains(stack, module) {
			left = append(left, stack)
		}
	}
	return left
}
