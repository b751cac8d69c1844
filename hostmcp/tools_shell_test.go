package hostmcp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// S0-48, S0-49, S0-50: the forms, the defaults, and how they bound each other.
func TestShellTimeoutSettings(t *testing.T) {
	for _, c := range []struct {
		normal, most string
		want, max    time.Duration
		bad          string // the variable that the error names
	}{
		{"", "", 120 * time.Second, 600 * time.Second, ""},
		{"90", "", 90 * time.Second, 600 * time.Second, ""},
		{"2m", "1h", 2 * time.Minute, time.Hour, ""},
		{"", "60s", 60 * time.Second, 60 * time.Second, ""}, // the default follows
		{"", "300", 120 * time.Second, 300 * time.Second, ""},
		{"60", "60", 60 * time.Second, 60 * time.Second, ""},
		{"61", "60", 0, 0, settingShell},
		{"601", "", 0, 0, settingShell},
		{"0", "", 0, 0, settingShell},
		{"soon", "", 0, 0, settingShell},
		{"", "1.5", 0, 0, settingShellMax},
		{"", "-1", 0, 0, settingShellMax},
	} {
		env := map[string]string{settingShell: c.normal, settingShellMax: c.most}
		var r api.StartRequest
		err := NewSettings(func(name string) string { return env[name] }).startRequest(&r)
		if c.bad != "" {
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeBadRequest || !strings.Contains(e.Message, c.bad+" is") {
				t.Errorf("%q, %q: %v", c.normal, c.most, err)
			}
			continue
		}
		if err != nil || r.ShellTimeoutMS != c.want.Milliseconds() || r.ShellTimeoutMaxMS != c.max.Milliseconds() {
			t.Errorf("%q, %q: %d, %d, %v", c.normal, c.most, r.ShellTimeoutMS, r.ShellTimeoutMaxMS, err)
		}
	}
}

func TestShellText(t *testing.T) {
	code := 3
	for _, c := range []struct {
		name string
		r    api.ShellResult
		want string
	}{
		{"nothing", api.ShellResult{ExitCode: &code, DurationMS: 20}, "Exit code 3 after 20ms. No output."},
		{"both", api.ShellResult{ExitCode: &code, Stdout: "a\nb\n", Stderr: "c"}, "Exit code 3 after 0s.\nstdout:\na\nb\nstderr:\nc"},
		{"cut", api.ShellResult{ExitCode: &code, Stdout: "a", StdoutDropped: 5}, "Exit code 3 after 0s.\nstdout (5 bytes in the middle left out; write to a file and read that for all of it):\na"},
		{"cut by one", api.ShellResult{ExitCode: &code, Stdout: "a", StdoutDropped: 1}, "Exit code 3 after 0s.\nstdout (1 byte in the middle left out; write to a file and read that for all of it):\na"},
		{"note", api.ShellResult{ExitCode: &code, Notes: []string{"The timeout was 2s."}}, "The timeout was 2s.\nExit code 3 after 0s. No output."},
		{"stopped", api.ShellResult{ExitCode: &code, Stdout: "a", Stopped: api.Errorf(api.CodeTimeout, "Too long.").WithFix("Less.")}, "Too long. Less.\nExit code 3 after 0s.\nstdout:\na"},
	} {
		if got := shellText(c.r); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
