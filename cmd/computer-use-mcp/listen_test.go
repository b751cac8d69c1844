package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestReadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "token")
	// Ten processes that start at once end up with one token.
	var wg sync.WaitGroup
	tokens := make([]string, 10)
	for i := range tokens {
		wg.Go(func() {
			var err error
			if tokens[i], err = readToken(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, token := range tokens {
		if token != tokens[0] || len(token) < 20 {
			t.Fatalf("tokens %v", tokens)
		}
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	for _, test := range []struct {
		content string
		mode    os.FileMode
		want    string // part of the error; empty: the token is taken
	}{
		{strings.Repeat("a", 20), 0o600, ""},
		{strings.Repeat("a", 30) + "==\r\n", 0o400, ""},
		{strings.Repeat("a", 30), 0o640, "chmod 600"},
		{"", 0o600, "holds no token"},
		{"short", 0o600, "holds no token"},
		{strings.Repeat("a", 20) + "\n" + strings.Repeat("b", 20), 0o600, "holds no token"},
		{strings.Repeat("a", 5000), 0o600, "holds no token"},
	} {
		if runtime.GOOS == "windows" && test.mode != 0o600 {
			continue
		}
		os.Remove(path)
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		_, err := readToken(path)
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "aaa")) {
			t.Errorf("%.40q of mode %#o: %v", test.content, test.mode, err)
		}
	}
}

// S1-1: nothing is served to other machines.
func TestListenLoopback(t *testing.T) {
	for _, test := range []struct{ address, want string }{
		{"127.0.0.1:0", ""},
		{"localhost:0", ""},
		{"127.8.9.10:0", ""},
		{":8080", "only a loopback address"},
		{"0.0.0.0:8080", "127.0.0.1:8080"},
		{"[::]:8080", "only a loopback address"},
		{"192.0.2.1:8080", "only a loopback address"},
		{"example.com:8080", "only a loopback address"},
		{"8080", "such as 127.0.0.1:8080"},
		{"127.0.0.1", "such as 127.0.0.1:8080"},
		{"127.0.0.1:-1", "invalid port"},
	} {
		if runtime.GOOS != "linux" && test.address == "127.8.9.10:0" {
			continue
		}
		listener, err := listenLoopback(t.Context(), test.address)
		if err == nil {
			listener.Close()
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.address, err)
		}
	}
	taken, err := listenLoopback(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := listenLoopback(t.Context(), taken.Addr().String()); err == nil || !strings.Contains(err.Error(), "bind: ") {
		t.Errorf("a taken port: %v", err)
	}
}
