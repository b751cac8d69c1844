package devtools

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// listed returns mcpc's list.
func listed(t *testing.T, home string) map[string]record {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(home, ".mcpc", "sessions.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Sessions map[string]record }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return file.Sessions
}

// do runs the daemon's binary for a session in a home.
func do(home string, args ...string) error {
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	return Run(args, getenv, nil, nil, 0)
}

// S0-214, S0-222: what connects and ends sessions leaves others alone, also when several
// do it at once.
func TestSessions(t *testing.T) {
	home := t.TempDir()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			if err := do(home, connect, fmt.Sprintf("@cdt-%d", n), `{"command":"x"}`); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := listed(t, home); len(got) != 8 || got["@cdt-3"].Name != "@cdt-3" || string(got["@cdt-3"].Server) == "" || time.Since(got["@cdt-3"].CreatedAt) > time.Hour {
		t.Errorf("%+v", got)
	}
	if err := do(home, disconnect, "@cdt-3"); err != nil {
		t.Error(err)
	}
	if err := do(home, disconnect, "@never"); err != nil {
		t.Error(err)
	}
	if got := listed(t, home); len(got) != 7 {
		t.Errorf("%+v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(home, ".mcpc", "*")); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

// What is in the file and not ours is kept, and one that cannot be read is no reason to
// throw away what a person has in it.
func TestForeignSessions(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".mcpc", "sessions.json")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"version":7,"sessions":{"@mail":{"name":"@mail","secret":"kept"}}}`)
	if err := do(home, connect, "@cdt-1", `{}`); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(file)
	for _, want := range []string{`"version": 7`, `"secret": "kept"`, `"@cdt-1"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
	write("{")
	if err := do(home, connect, "@cdt-1", `{}`); err == nil {
		t.Error("a broken file was replaced")
	}
	// The lock of somebody who is gone.
	write("{}")
	if err := os.Mkdir(file+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(file+".lock", old, old); err != nil {
		t.Fatal(err)
	}
	if err := do(home, connect, "@cdt-1", `{}`); err != nil {
		t.Error(err)
	}
}

// S0-222: the bridge ends with its session, and nobody else who has its number does.
func TestBridgeEnds(t *testing.T) {
	home := t.TempDir()
	run := func(name string) (*exec.Cmd, chan error) {
		t.Helper()
		cmd := exec.Command("sh", "-c", "read x", "sh", name, "more")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		t.Cleanup(func() { stdin.Close(); cmd.Process.Kill() })
		return cmd, ended
	}
	bridge, ended := run("@cdt-1")
	other, _ := run("@cdt-2")
	for name, pid := range map[string]int{"@cdt-1": bridge.Process.Pid, "@cdt-3": other.Process.Pid} {
		data := fmt.Sprintf(`{"sessions":{%q:{"name":%q,"pid":%d}}}`, name, name, pid)
		if err := os.MkdirAll(filepath.Join(home, ".mcpc"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".mcpc", "sessions.json"), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := do(home, disconnect, name); err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("the bridge ended by %v", err)
	}
	if !isBridge(other.Process.Pid, "@cdt-2") {
		t.Error("another process was ended")
	}
}
