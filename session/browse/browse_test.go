package browse

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/session/apps"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command { // what Install has made runs us
		if err := Open(os.Args[2:], os.Getenv); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// opened is one call that the daemon got.
type opened struct{ xauthority, address string }

// serve installs a folder of a name that needs every kind of quotes and a path that is too
// long for a socket, and serves it. refuse, when set, is every answer.
func serve(t *testing.T, refuse error) (Folder, <-chan opened) {
	t.Helper()
	folder := Folder(filepath.Join(t.TempDir(), strings.Repeat("long ", 30), `it's a "$HOME" of 100%`, "ours"))
	if err := folder.Install(os.Args[0]); err != nil {
		t.Fatal(err)
	}
	l, err := folder.Listen()
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan opened, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- Serve(ctx, l, func(_ context.Context, xauthority, address string) error {
			calls <- opened{xauthority, address}
			return refuse
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return folder, calls
}

// run calls the browser command as a program does.
func (f Folder) run(dir string, targets ...string) (string, error) {
	cmd := exec.Command(f.browser(), targets...)
	cmd.Dir = dir
	cmd.Env = []string{"XAUTHORITY=/secret/place", "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// S0-199: what programs hand to the command reaches the daemon, with the mark of their
// screen.
func TestBrowserCommand(t *testing.T) {
	folder, calls := serve(t, nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a ü.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target []string
		want   []string
	}{
		{nil, []string{""}},
		{[]string{"http://a/b c"}, []string{"http://a/b c"}},
		{[]string{"a ü.html", "https://a/"}, []string{"file://" + dir + "/a%20%C3%BC.html", "https://a/"}},
	} {
		if out, err := folder.run(dir, c.target...); err != nil {
			t.Fatalf("%q: %v: %s", c.target, err, out)
		}
		for _, want := range c.want {
			if got := <-calls; got.address != want || got.xauthority != "/secret/place" {
				t.Errorf("%q: %+v, want %q", c.target, got, want)
			}
		}
	}
	if out, err := folder.run(dir, "missing.html", "http://a/"); err == nil || !strings.Contains(out, "no such file") {
		t.Errorf("a missing file: %v, %q", err, out)
	}
	if len(calls) > 0 {
		t.Errorf("a missing file was opened: %+v", <-calls)
	}
}

// A refusal reaches whoever called, in words.
func TestRefusal(t *testing.T) {
	refusal := api.Errorf(api.CodeBadRequest, "The address is not opened.").WithFix("Give another.")
	folder, _ := serve(t, refusal)
	if out, err := folder.run("/", "javascript:alert(1)"); err == nil || out != refusal.Error() {
		t.Errorf("%v, %q", err, out)
	}
	if err := Open([]string{t.TempDir()}, os.Getenv); err == nil {
		t.Error("a folder that nobody serves answers")
	}
	if err := Open(nil, os.Getenv); err == nil {
		t.Error("no folder is accepted")
	}
}

// Programs find the command by the entry, the list of defaults and the variables.
func TestInstalled(t *testing.T) {
	folder, _ := serve(t, nil)
	a := apps.Apps{Home: t.TempDir(), Env: folder.Environ()}
	for _, mimeType := range []string{"text/html", "application/pdf", "x-scheme-handler/https", "video/mp4"} {
		app, ok := a.Default(mimeType, "/x")
		if !ok || app.Argv[0] != folder.browser() || !app.Browser() || app.Argv[1] != "/x" {
			t.Errorf("%s: %+v, %v", mimeType, app, ok)
		}
	}
	for _, v := range folder.Environ() {
		name, value, _ := strings.Cut(v, "=")
		first, _, _ := strings.Cut(value, ":")
		if _, err := os.Stat(first); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
