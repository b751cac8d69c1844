//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
	"github.com/falleng0d/computer-use-mcp/internal/freeports"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// newEngine returns the engine of a computer of this test alone, whose daemon is
// this test binary. The computer is stopped when the test ends.
func newEngine(t *testing.T, change func(*Config)) *Engine {
	t.Helper()
	for _, program := range []string{"bwrap", "Xvfb", "fluxbox"} {
		xvfbtest.Need(t, program)
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(dir)
	copyFile(t, self, cfg.Computerd)
	if change != nil {
		change(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if _, err := e.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

func ensure(t *testing.T, e *Engine) *engine.Endpoint {
	t.Helper()
	endpoint, err := e.Ensure(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

// run runs a shell command beside the fake daemon.
func run(t *testing.T, endpoint *engine.Endpoint, command string) string {
	t.Helper()
	req, err := http.NewRequest("POST", endpoint.BaseURL+"/run", strings.NewReader(command))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+endpoint.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func setMode(t *testing.T, e *Engine, mode string) {
	t.Helper()
	if err := os.MkdirAll(e.home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(e.home, "mode"), []byte(mode), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A computer that runs already keeps the settings of its start, and says so to the agent
// (notes of start_computer) and to the person (info).
func TestSettingsOfTheStartAreKept(t *testing.T) {
	base := freeports.Row(t, 17)
	e := newEngine(t, func(c *Config) { c.PortBase = base })
	if notes := ensure(t, e).Notes; len(notes) > 0 {
		t.Errorf("a new computer has the notes %q", notes)
	}
	cfg := e.cfg
	cfg.PortBase, cfg.NativeViewers = 42200, "watch"
	changed, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	status, err := changed.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, said := range map[string]string{
		"the agent": strings.Join(ensure(t, changed).Notes, " "),
		"info":      status.Details[len(status.Details)-1].Value,
	} {
		for _, want := range []string{
			fmt.Sprintf("COMPUTER_USE_PORT_BASE=%d", base), "the setting 42200 applies", "COMPUTER_USE_NATIVE_VIEWERS=control", "the setting watch applies",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%s is told %q, without %q", what, said, want)
			}
		}
	}
	if notes := ensure(t, e).Notes; len(notes) > 0 {
		t.Errorf("with the settings of the start: %q", notes)
	}
}

func TestEnsureStatusStop(t *testing.T) {
	for _, unsafe := range []bool{false, true} {
		t.Run(fmt.Sprintf("unsafe=%v", unsafe), func(t *testing.T) {
			e := newEngine(t, func(c *Config) { c.Unsafe = unsafe })
			status, err := e.Status(t.Context())
			if err != nil || status.State != engine.StateStopped {
				t.Fatalf("before the start: %+v, %v", status, err)
			}
			first := ensure(t, e)
			if again := ensure(t, e); again.BaseURL != first.BaseURL {
				t.Errorf("the second Ensure found %s, the first %s", again.BaseURL, first.BaseURL)
			}
			status, err = e.Status(t.Context())
			if err != nil || status.State != engine.StateRunning || status.PID == 0 {
				t.Fatalf("while it runs: %+v, %v", status, err)
			}
			command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", status.PID))
			if err != nil || !strings.Contains(string(command), "computerd\x00--state\x00") || strings.HasPrefix(string(command), "bwrap") {
				t.Errorf("process %d is not the daemon: %q, %v", status.PID, command, err)
			}
			if stopped, err := e.Stop(t.Context()); err != nil || !stopped {
				t.Errorf("Stop = %v, %v", stopped, err)
			}
			if stopped, err := e.Stop(t.Context()); err != nil || stopped {
				t.Errorf("the second Stop = %v, %v", stopped, err)
			}
		})
	}
}

// Many servers of many agents start at the same moment and must share one computer.
// Each has an engine of its own, as separate processes have.
func TestStartersShareOneComputer(t *testing.T) {
	e := newEngine(t, nil)
	var wg sync.WaitGroup
	urls := make([]string, 6)
	for i := range urls {
		other, err := New(e.cfg)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			endpoint, err := other.Ensure(t.Context(), func(string) {})
			if err != nil {
				t.Error(err)
				return
			}
			urls[i] = endpoint.BaseURL
		})
	}
	wg.Wait()
	for _, url := range urls {
		if url != urls[0] {
			t.Errorf("two computers: %v", urls)
		}
	}
	starts, err := os.ReadFile(filepath.Join(e.home, "starts"))
	if err != nil || string(starts) != "start\n" {
		t.Errorf("starts: %q, %v", starts, err)
	}
}

// Whatever is killed, the next start works.
func TestStartAfterKill(t *testing.T) {
	for _, test := range []struct {
		name   string
		unsafe bool
		victim func(e *Engine, daemon int) int
	}{
		{"daemon", false, func(_ *Engine, daemon int) int { return daemon }},
		{"first process of the sandbox", false, func(e *Engine, _ int) int { return e.state.holders()[0] }},
		{"daemon without a sandbox", true, func(_ *Engine, daemon int) int { return daemon }},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEngine(t, func(c *Config) { c.Unsafe = test.unsafe })
			first := ensure(t, e)
			if test.unsafe {
				// A child keeps the lock after the daemon is gone.
				run(t, first, "setsid sleep 300 >/dev/null 2>&1 &")
			}
			status, err := e.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(test.victim(e, status.PID), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			// A sandbox ends a moment after its first process, and the daemon with it.
			for syscall.Kill(status.PID, 0) == nil && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			second := ensure(t, e)
			if second.Token == first.Token {
				t.Error("the second run has the token of the first")
			}
		})
	}
}

// A server is killed at any moment of a start, and then what it started: the next
// start works.
func TestKillAtAnyMoment(t *testing.T) {
	e := newEngine(t, nil)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 12 {
		starter := exec.Command(e.cfg.Computerd + "-starter")
		if round == 0 {
			if err := os.Link(e.cfg.Computerd, starter.Path); err != nil {
				t.Fatal(err)
			}
		}
		starter.Env = append(os.Environ(), starterDir+"="+filepath.Dir(e.cfg.StateDir))
		if err := starter.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(r.IntN(80))*time.Millisecond, func() { starter.Process.Kill() })
		starter.Wait()
		timer.Stop()
		// Only what holds this test's own lock is certain to be of its computer: before
		// bubblewrap has made the namespace, its processes are the machine's.
		if holders := e.state.holders(); len(holders) > 0 && r.IntN(2) == 0 {
			kill(holders[0])
		}
		if r.IntN(2) == 0 {
			ensure(t, e)
		}
		if _, err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ensure(t, e)
}

// A start that was cut off leaves a process that holds the lock and will never answer.
func TestCutOffStart(t *testing.T) {
	e := newEngine(t, nil)
	e.patience = time.Second
	if err := e.state.create(); err != nil {
		t.Fatal(err)
	}
	lock, err := e.state.tryLock()
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	leftover := exec.Command("sleep", "1000")
	leftover.ExtraFiles = []*os.File{lock}
	if err := leftover.Start(); err != nil {
		t.Fatal(err)
	}
	lock.Close()
	ended := make(chan error, 1)
	go func() { ended <- leftover.Wait() }()
	if e.endCutOff(t.Context(), nil) {
		t.Error("a start that had begun meanwhile was ended")
	}
	// What it starts itself may take as long as the machine needs.
	endpoint, err := e.Ensure(t.Context(), func(text string) {
		if strings.Contains(text, "again") {
			e.patience = startTimeout
		}
	})
	if err != nil || endpoint == nil {
		t.Fatal(endpoint, err)
	}
	if err := <-ended; err == nil {
		t.Error("the leftover process ended by itself")
	}
}

// The outer bubblewrap process only waits. Losing it must not cost the computer.
func TestComputerOutlivesBubblewrap(t *testing.T) {
	e := newEngine(t, nil)
	first := ensure(t, e)
	init := e.state.holders()[0]
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", init))
	if err != nil {
		t.Fatal(err)
	}
	var parent int
	_, fields, _ := strings.Cut(string(status), ") ")
	fmt.Sscanf(fields, "%*c %d", &parent)
	if _, err := fmt.Sscanf(fields[2:], "%d", &parent); err != nil || parent <= 1 {
		t.Fatalf("parent of %d: %d, %v", init, parent, err)
	}
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if again := ensure(t, e); again.BaseURL != first.BaseURL {
		t.Errorf("a new computer at %s beside %s", again.BaseURL, first.BaseURL)
	}
}

func TestStaleState(t *testing.T) {
	e := newEngine(t, nil)
	setMode(t, e, "")
	if err := e.state.create(); err != nil {
		t.Fatal(err)
	}
	// Somebody else has the port that the file names, and answers everything.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stranger := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })}
	go stranger.Serve(l)
	defer stranger.Close()
	if err := os.MkdirAll(e.state.daemon(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(e.state.path("token"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"half":      `{"pid": 12, "api": "127.0.`,
		"empty":     "",
		"stranger":  fmt.Sprintf(`{"pid": %d, "api": %q, "computer_id": "a"}`, os.Getpid(), l.Addr()),
		"elsewhere": `{"pid": 1, "api": "192.0.2.1:80", "computer_id": "a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(e.state.daemon(), api.FactsFile), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			ensure(t, e)
			if _, err := e.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestDaemonEndsWhileStarting(t *testing.T) {
	e := newEngine(t, nil)
	setMode(t, e, "exit")
	_, err := e.Ensure(t.Context(), func(string) {})
	if refusal := api.AsError(err); refusal.Code != api.CodeEngineUnavailable || !strings.Contains(refusal.Message, "fake: no reason") {
		t.Errorf("Ensure = %v; want the daemon's last line", err)
	}
}

// A daemon that never answers is an error in bounded time, and can be stopped.
func TestHungDaemon(t *testing.T) {
	e := newEngine(t, nil)
	setMode(t, e, "silent")
	// Time enough for the daemon to start, which it does, and to say nothing.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := e.Ensure(ctx, func(string) {}); err == nil || ctx.Err() == nil {
		t.Fatalf("Ensure of a silent daemon = %v", err)
	}
	status, err := e.Status(t.Context())
	if err != nil || status.State != engine.StateUnresponsive {
		t.Errorf("Status = %+v, %v", status, err)
	}
	if message := e.hung(errors.New("x")).Error(); !strings.Contains(message, "computer-use-mcp stop") {
		t.Errorf("the error names no way out: %s", message)
	}
	if stopped, err := e.Stop(t.Context()); err != nil || !stopped {
		t.Errorf("Stop = %v, %v", stopped, err)
	}
	setMode(t, e, "")
	ensure(t, e)
}

// S1-6: nothing but the computer's own home is writable inside, the user's files do not
// exist there, and its programs see only one another.
func TestSandbox(t *testing.T) {
	e := newEngine(t, nil)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.CreateTemp(home, "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(secret.Name())
	outside := filepath.Join(filepath.Dir(e.home), "outside")
	if err := os.WriteFile(outside, []byte("outside"), 0o666); err != nil {
		t.Fatal(err)
	}
	endpoint := ensure(t, e)
	for _, test := range []struct{ name, command, want string }{
		{"own home", "echo hello > ~/file && cat ~/file", "hello\n"},
		{"home is the start folder", "pwd", insideHome + "\n"},
		{"secret in the user's home", "test -e " + secret.Name() + " || echo absent", "absent\n"},
		{"file beside the home", "test -e " + outside + " || echo absent", "absent\n"},
		{"host-only state", "ls -d " + e.state.path("lock") + " " + e.state.log() + " 2>/dev/null | wc -l", "0\n"},
		{"write to the system", "touch /usr/x /etc/x /x /opt/x /dev/x 2>/dev/null; ls /usr/x /etc/x /x /opt/x /dev/x 2>/dev/null | wc -l", "0\n"},
		{"undo a mount", "mount -o remount,rw /usr 2>/dev/null || echo refused", "refused\n"},
		{"private tmp", "touch /tmp/computer-use-inside && echo done", "done\n"},
		{"shared memory", "touch /dev/shm/x && ls /dev/shm", "x\n"},
		{"shadow", "test -e /etc/shadow || echo absent", "absent\n"},
		{"home of users", "ls /home", "computer\n"},
		{"only its own processes", "ls /proc | grep -c '^[0-9]' | awk '{print ($1 < 10)}'", "1\n"},
		{"no signal outside", fmt.Sprintf("kill -0 %d 2>/dev/null || echo refused", os.Getpid()), "refused\n"},
		{"its user", "getent passwd computer | cut -d: -f6", insideHome + "\n"},
	} {
		if got := run(t, endpoint, test.command); got != test.want {
			t.Errorf("%s: %s\ngot  %q\nwant %q", test.name, test.command, got, test.want)
		}
	}
	if _, err := os.Stat(filepath.Join(e.home, "file")); err != nil {
		t.Errorf("what was written in the home is not there outside: %v", err)
	}
	if _, err := os.Stat("/tmp/computer-use-inside"); err == nil {
		t.Error("/tmp is shared with the sandbox")
	}
}

// S1-13, S1-15, S1-16: as root the daemon's state and token are closed to agents' programs,
// which have a user of their own.
func TestProgramsCannotReadState(t *testing.T) {
	if os.Getuid() != 0 {
		return // one uid for all: documented in the package comment
	}
	e := newEngine(t, nil)
	endpoint := ensure(t, e)
	as := fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups sh -c ", programUID, programUID)
	for _, path := range []string{e.state.path("token"), filepath.Join(e.state.daemon(), api.FactsFile)} {
		if got := run(t, endpoint, as+"'cat "+path+" 2>/dev/null || echo refused'"); got != "refused\n" {
			t.Errorf("a program reads %s: %q", path, got)
		}
	}
	if got := run(t, endpoint, as+"'echo x > ~/own && cat ~/own'"); got != "x\n" {
		t.Errorf("a program cannot use its home: %q", got)
	}
	if got := run(t, endpoint, as+"'grep CapEff /proc/self/status'"); got != "CapEff:\t0000000000000000\n" {
		t.Errorf("a program has capabilities: %s", got)
	}
}

// Who asks for a sandbox does not get the computer that somebody started without.
func TestNoSandboxIsNotTakenForOne(t *testing.T) {
	e := newEngine(t, func(c *Config) { c.Unsafe = true })
	ensure(t, e)
	cfg := e.cfg
	cfg.Unsafe = false
	safe, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = safe.Ensure(t.Context(), func(string) {})
	if refusal := api.AsError(err); refusal.Code != api.CodeComputerMismatch || !strings.Contains(refusal.Fix, "stop") {
		t.Errorf("Ensure = %v", err)
	}
	status, err := safe.Status(t.Context())
	if err != nil || !strings.Contains(status.Details[1].Value, "UNSAFE") {
		t.Errorf("Status = %+v, %v", status, err)
	}
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	e := newEngine(t, func(c *Config) { c.PortBase = port })
	_, err = e.Ensure(t.Context(), func(string) {})
	refusal := api.AsError(err)
	if refusal.Code != api.CodePortTaken || !strings.Contains(refusal.Error(), fmt.Sprint(port)) ||
		!strings.Contains(refusal.Fix, "COMPUTER_USE_PORT_BASE") {
		t.Errorf("Ensure = %v", err)
	}
}

// A home that is no folder is refused, and what a link leads to keeps its owner.
func TestHomeIsNoFolder(t *testing.T) {
	target := t.TempDir()
	owner := func() uint32 {
		info, err := os.Stat(target)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Uid
	}
	before := owner()
	for name, place := range map[string]func(home string) error{
		"file": func(home string) error { return os.WriteFile(home, nil, 0o600) },
		"link": func(home string) error { return os.Symlink(target, home) },
	} {
		e := newEngine(t, nil)
		if err := place(e.home); err != nil {
			t.Fatal(err)
		}
		_, err := e.Ensure(t.Context(), func(string) {})
		refusal := api.AsError(err)
		if refusal.Code != api.CodeEngineUnavailable || !strings.Contains(refusal.Message, e.home+" is not a folder") || refusal.Fix == "" {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
	if after := owner(); after != before {
		t.Errorf("the link's target was given to user %d", after)
	}
}

func TestMissingProgram(t *testing.T) {
	e := newEngine(t, nil)
	t.Setenv("PATH", t.TempDir())
	_, err := e.Ensure(t.Context(), func(string) {})
	if refusal := api.AsError(err); refusal.Code != api.CodeEngineUnavailable || !strings.Contains(refusal.Fix, "bubblewrap") {
		t.Errorf("Ensure = %v; want the package's name", err)
	}
}

func TestBadName(t *testing.T) {
	for _, name := range []string{"..", "a/b", "-x", strings.Repeat("a", 64), "ä"} {
		if _, err := New(Config{Name: name}); err == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
}

// Started by root, this test runs the others as an ordinary user too.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "local.test")
	copyFile(t, self, binary)
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=TestEnsureStatusStop|TestSandbox|TestStartAfterKill")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4000, Gid: 4000}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
