//go:build unix

package opener

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A program gets its arguments as they are and none of our streams.
func TestStartDetached(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho to nowhere\nprintf '%s\\n' \"$@\" >\"$0.tmp\"\nmv \"$0.tmp\" "+out+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"a b", "$HOME", `"`}
	if err := startDetached(command{script, args}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	var data []byte
	for end := time.Now().Add(20 * time.Second); data == nil; time.Sleep(10 * time.Millisecond) {
		if data, _ = os.ReadFile(out); time.Now().After(end) {
			t.Fatal("the program did not run")
		}
	}
	if got := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"); !reflect.DeepEqual(got, args) {
		t.Errorf("the program got %q", got)
	}
}
