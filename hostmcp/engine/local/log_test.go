//go:build linux

package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

func TestLastLines(t *testing.T) {
	e, err := New(Config{Name: "c", StateDir: t.TempDir(), HomeDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	read := func(lines int) string {
		t.Helper()
		var out bytes.Buffer
		if err := e.Log(t.Context(), &out, lines, false); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if err := e.Log(t.Context(), &bytes.Buffer{}, 5, false); api.AsError(err).Code != api.CodeNotFound {
		t.Errorf("a log that is not there: %v", err)
	}
	var all strings.Builder
	for i := range 20_000 { // more than one block
		fmt.Fprintf(&all, "line %d\n", i)
	}
	for _, text := range []string{"", "\n", "one", "one\n", "one\ntwo", "one\ntwo\n", "\n\n\n", all.String()} {
		if err := os.WriteFile(e.state.log(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for _, n := range []int{0, 1, 2, 3, 19_999, 20_000, 30_000} {
			want := strings.Join(lines[max(0, len(lines)-n):], "")
			if got := read(n); got != want {
				t.Errorf("the last %d lines of %.20q: %d bytes, want %d", n, text, len(got), len(want))
			}
		}
	}
}

// lineBuffer collects what is written and can be waited on.
type lineBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lineBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lineBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A log that is followed goes on with what is added, when the daemon begins it anew, and
// with the next run's.
func TestFollowLog(t *testing.T) {
	e, err := New(Config{Name: "c", StateDir: t.TempDir(), HomeDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(e.state.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	add("old\nlast\n")
	ctx, cancel := context.WithCancel(t.Context())
	var out lineBuffer
	ended := make(chan error, 1)
	go func() { ended <- e.Log(ctx, &out, 1, true) }()
	until := func(want string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); out.String() != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q, want %q", out.String(), want)
			}
		}
	}
	until("last\n")
	add("added\n")
	until("last\nadded\n")
	if err := os.Truncate(e.state.log(), 0); err != nil {
		t.Fatal(err)
	}
	add("anew\n")
	until("last\nadded\nanew\n")
	f, err := e.state.newLog()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	add("next run\n")
	until("last\nadded\nanew\nnext run\n")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// COMPUTER_USE_LOG=debug reaches a daemon that is started.
func TestDebugLog(t *testing.T) {
	for _, debug := range []bool{false, true} {
		e, err := New(Config{Name: "c", StateDir: t.TempDir(), HomeDir: t.TempDir(), Debug: debug, Unsafe: true})
		if err != nil {
			t.Fatal(err)
		}
		cmd, err := e.command("computerd")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(cmd.Args, " "), "--log debug"); got != debug {
			t.Errorf("debug %v: %q", debug, cmd.Args)
		}
	}
}
