//go:build linux

package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// Diagnose implements [engine.Engine].
func (e *Engine) Diagnose(ctx context.Context) []engine.Check {
	checks := []engine.Check{engine.Passed("system", "%s", systemWords())}
	add := func(name string, err error, format string, args ...any) {
		if err != nil {
			checks = append(checks, engine.Failed(name, err))
		} else {
			checks = append(checks, engine.Passed(name, format, args...))
		}
	}
	computerd, err := e.findComputerd()
	add("computerd", err, "%s", computerd)
	for _, p := range e.programs() {
		path, err := exec.LookPath(p.name)
		if err != nil {
			err = missingProgram(p.name, p.pkg)
		}
		add(p.name, err, "%s", path)
		if p.name == "bwrap" && err == nil {
			add("sandbox", trySandbox(ctx, path), "%s", e.sandboxWords())
		}
	}
	if e.cfg.Unsafe {
		add("sandbox", nil, "%s", e.sandboxWords())
	}
	if where := e.cfg.PortBase; where != 0 {
		if len(e.state.holders()) > 0 {
			add("ports", nil, "127.0.0.1:%d to %d, or those that the running computer was started with", where, where+api.MaxScreens)
		} else {
			add("ports", engine.CheckPorts(where), "127.0.0.1:%d to %d are free", where, where+api.MaxScreens)
		}
	}
	return append(checks, diskCheck(e.home))
}

// systemWords names this machine as a bug report should.
func systemWords() string {
	words := runtime.GOOS + "/" + runtime.GOARCH
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		words += ", kernel " + unix.ByteSliceToString(name.Release[:])
	}
	if data, err := os.ReadFile("/etc/os-release"); err == nil {
		for line := range strings.Lines(string(data)) {
			if pretty, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				words = strings.Trim(pretty, `"`) + ", " + words
			}
		}
	}
	return fmt.Sprintf("%s, user id %d", words, os.Getuid())
}

// trySandbox makes the namespaces that the sandbox is made of, and ends at once.
func trySandbox(ctx context.Context, bwrap string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	args := []string{"--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/", "--proc", "/proc", "true"}
	if os.Getuid() != 0 {
		args = append([]string{"--unshare-user"}, args...)
	}
	out, err := exec.CommandContext(ctx, bwrap, args...).CombinedOutput()
	if err == nil {
		return nil
	}
	return engine.Unavailable("bubblewrap cannot make a sandbox here: %v: %s.", err, bytes.TrimSuffix(bytes.TrimSpace(out), []byte("."))).
		WithFix("Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0); " +
			"COMPUTER_USE_LOCAL_SANDBOX=off runs without a sandbox, which is unsafe.")
}

// leastDisk is how much room the computer's home should have in bytes.
const leastDisk = 1 << 30

// diskCheck says how much room there is where the folder is or will be, if it can be
// written at all.
func diskCheck(folder string) engine.Check {
	var s unix.Statfs_t
	at := folder
	for unix.Statfs(at, &s) != nil && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	if err := unix.Access(at+"/.", unix.W_OK); err != nil { // a file is no folder
		return engine.Check{
			Name: "disk", Detail: fmt.Sprintf("%s cannot be made or used: %s: %v", folder, at, err),
			Fix: "Make that folder writable for you, or let XDG_DATA_HOME and XDG_STATE_HOME name folders that are.",
		}
	}
	free := s.Bavail * uint64(s.Bsize)
	text := fmt.Sprintf("%.1f GB are free for %s", float64(free)/1e9, folder)
	if free < leastDisk {
		return engine.Check{Name: "disk", Detail: text, Fix: "Make room, or let XDG_DATA_HOME name a folder on a larger disk."}
	}
	return engine.Passed("disk", "%s", text)
}
