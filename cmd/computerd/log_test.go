package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBoundedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	log := boundedLog{file, 1000}
	line := strings.Repeat("x", 99) + "\n"
	for range 10 {
		if n, err := io.WriteString(log, line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if text, _ := os.ReadFile(path); string(text) != strings.Repeat(line, 10) {
		t.Errorf("it began anew too early: %s", text)
	}
	for range 3 {
		io.WriteString(log, line)
	}
	if text, _ := os.ReadFile(path); string(text) != "The log had 1000 bytes and begins anew.\n"+strings.Repeat(line, 3) {
		t.Errorf("it holds %s", text)
	}
}

// A pipe has no length.
func TestBoundedLogIsAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.WriteString(boundedLog{w, 1}, "line\n"); err != nil {
		t.Error(err)
	}
	w.Close()
	if text, err := io.ReadAll(r); string(text) != "line\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// In a file that is not appended to, what is written after a cut would leave a hole before it.
func TestBoundedLogIsNotAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range 3 {
		io.WriteString(boundedLog{file, 1}, "line\n")
	}
	if text, _ := os.ReadFile(path); string(text) != "line\nline\nline\n" {
		t.Errorf("it holds %q", text)
	}
}
