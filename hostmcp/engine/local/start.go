//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// systemPath is where the computer's programs are looked for.
const systemPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// lockFD is the number of the first of exec.Cmd's ExtraFiles in the child.
const lockFD = 3

// start runs the daemon and waits until it answers. The caller holds the lock.
func (e *Engine) start(ctx context.Context, lock *os.File) (*engine.Endpoint, error) {
	computerd, err := e.findComputerd()
	if err != nil {
		return nil, err
	}
	if err := e.checkPrograms(); err != nil {
		return nil, err
	}
	if err := e.checkPorts(); err != nil {
		return nil, err
	}
	if err := e.prepare(); err != nil {
		return nil, engine.Unavailable("The local computer cannot be prepared: %v.", err).
			WithFix("Move away what is in the way. The computer's files are in %s, what runs it is in %s.", e.home, e.state)
	}
	cmd, err := e.command(computerd)
	if err != nil {
		return nil, err
	}
	log, err := e.state.newLog()
	if err != nil {
		return nil, engine.Unavailable("The daemon's log cannot be written: %v.", err).
			WithFix("Make %s writable for this user.", e.state.log())
	}
	defer log.Close()
	cmd.Stderr = log // what goes to stdout, the key, belongs in no log
	cmd.ExtraFiles = []*os.File{lock}
	// A session of its own: what a terminal or a client sends to this process's
	// group when it ends is not meant for the computer.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, engine.Unavailable("The local computer cannot be started: %v.", err).
			WithFix("Call start_computer again in a few seconds; this machine may be short of memory or processes.").WithRetry()
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // collects the process whenever it ends
	return e.awaitAnswer(ctx, ended)
}

// awaitAnswer waits until the daemon answers, ends or has no time left.
func (e *Engine) awaitAnswer(ctx context.Context, ended <-chan error) (*engine.Endpoint, error) {
	for {
		endpoint, err := e.find(ctx)
		if err == nil {
			return endpoint, nil
		}
		select {
		case exit := <-ended:
			return nil, engine.Unavailable("The local computer stopped while it was starting (%v).%s", exit, e.state.lastLines()).
				WithFix("The whole log is %s. When bubblewrap may not make namespaces here, allow unprivileged user namespaces; "+
					"COMPUTER_USE_LOCAL_SANDBOX=off runs without a sandbox, which is unsafe.", e.state.log())
		case <-ctx.Done():
			return nil, err
		default:
		}
		if engine.Sleep(ctx, pollEvery) != nil {
			return nil, err
		}
	}
}

// command returns the daemon's command line, in the sandbox unless that is off.
func (e *Engine) command(computerd string) (*exec.Cmd, error) {
	home, program := insideHome, insideComputerd
	if e.cfg.Unsafe {
		home, program = e.home, computerd
	}
	daemon := []string{
		program,
		"--state", e.state.daemon(),
		"--home", home,
		"--token-file", e.state.path("token"),
		"--listen", "127.0.0.1:0",
		"--sandbox", e.sandboxWords(),
	}
	if base := e.cfg.PortBase; base != 0 {
		daemon = append(daemon,
			"--viewer-listen", net.JoinHostPort("127.0.0.1", strconv.Itoa(base)),
			"--port-base", strconv.Itoa(base))
	}
	if may := e.cfg.NativeViewers; may != "" {
		daemon = append(daemon, "--native-viewers", may)
	}
	if e.cfg.Debug {
		daemon = append(daemon, "--log", "debug")
	}
	if e.cfg.Unsafe && os.Getuid() != 0 { // as root Chromium cannot use its own
		daemon = append(daemon, "--browser-sandbox")
	}
	if os.Getuid() == 0 && !e.cfg.Unsafe {
		daemon = append(daemon,
			"--program-uid", strconv.Itoa(programUID), "--program-gid", strconv.Itoa(programUID),
			"--server-uid", strconv.Itoa(serverUID), "--server-gid", strconv.Itoa(serverUID))
	}
	var cmd *exec.Cmd
	if e.cfg.Unsafe {
		cmd = exec.Command(daemon[0], daemon[1:]...)
		cmd.Dir = e.home
	} else {
		bwrap, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, missingProgram("bwrap", "bubblewrap")
		}
		cmd = exec.Command(bwrap, append(append(e.bwrapArgs(computerd, lockFD), "--"), daemon...)...)
	}
	cmd.Env = []string{
		"PATH=" + systemPath,
		"HOME=" + home,
		"LANG=" + language(),
	}
	if tz := os.Getenv("TZ"); tz != "" {
		cmd.Env = append(cmd.Env, "TZ="+tz)
	}
	return cmd, nil
}

// language is this machine's locale when it is a UTF-8 one: programs that do not
// read UTF-8 would spoil typed text.
func language() string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); strings.HasSuffix(strings.ToUpper(strings.ReplaceAll(v, "-", "")), "UTF8") {
			return v
		}
	}
	return "C.UTF-8"
}

// prepare makes the home folder, this run's token and the generated files, and
// removes what an earlier run said about itself.
func (e *Engine) prepare() error {
	if err := os.RemoveAll(filepath.Join(e.state.daemon(), api.FactsFile)); err != nil {
		return err
	}
	if err := e.makeHome(); err != nil {
		return err
	}
	for _, dir := range []string{e.state.daemon(), e.state.path("etc")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for name, content := range e.generatedEtc() {
		if err := os.WriteFile(filepath.Join(e.state.path("etc"), name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	// A new file: one that is there could have another mode.
	token := e.state.path("token")
	if err := os.Remove(token); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(token, []byte(api.NewID()+"\n"), 0o600)
}

// homeFiles are what a new home begins with, as in the container image.
var homeFiles = map[string]string{
	// X terminals show every script: their default is a bitmap font with few letters.
	".Xdefaults": "*VT100.faceName: monospace\n*VT100.faceSize: 10\n",
	// npm install -g installs where programs may write.
	".npmrc": "prefix=${HOME}/.local\n",
}

// makeHome makes the computer's home when there is none, and gives it to the user of
// the programs.
func (e *Engine) makeHome() error {
	if err := os.MkdirAll(filepath.Dir(e.home), 0o700); err != nil {
		return err
	}
	uid, gid := e.programIDs()
	err := os.Mkdir(e.home, 0o700)
	if err == nil {
		// Only now is it certain that no program has put a link here.
		for name, content := range homeFiles {
			file := filepath.Join(e.home, name)
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				return err
			}
			if err := os.Chown(file, uid, gid); err != nil {
				return err
			}
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	// What stands there may be a link to a folder of the user's own, which is not ours
	// to give away.
	info, err := os.Lstat(e.home)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New(e.home + " is not a folder")
	}
	return os.Lchown(e.home, uid, gid)
}

// newLog keeps the log of the run before and opens a new one.
func (d stateDir) newLog() (*os.File, error) {
	if err := os.Rename(d.log(), d.log()+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(d.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// lastLines returns the end of the log as part of a sentence, for an error message.
func (d stateDir) lastLines() string {
	data, err := os.ReadFile(d.log())
	data = bytes.TrimSpace(data)
	if err != nil || len(data) == 0 {
		return ""
	}
	lines := strings.Split(string(data), "\n")
	return " It printed last: " + strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// findComputerd looks for the daemon's binary beside this one, then on PATH.
func (e *Engine) findComputerd() (string, error) {
	if e.cfg.Computerd != "" {
		return filepath.Abs(e.cfg.Computerd)
	}
	var beside string
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			beside = filepath.Join(filepath.Dir(self), "computerd")
			if path, err := exec.LookPath(beside); err == nil {
				return path, nil
			}
		}
	}
	if path, err := exec.LookPath("computerd"); err == nil {
		return filepath.Abs(path)
	}
	return "", engine.Unavailable("The daemon's binary computerd is neither %s nor on PATH.", beside).
		WithFix("Put computerd beside computer-use-mcp; `make build` makes both.")
}

// programs are what the computer needs from this machine, with their Debian packages.
func (e *Engine) programs() []struct{ name, pkg string } {
	all := []struct{ name, pkg string }{{"bwrap", "bubblewrap"}, {"Xvfb", "xvfb"}, {"fluxbox", "fluxbox"}}
	if e.cfg.Unsafe {
		return all[1:]
	}
	return all
}

// checkPrograms names the first program that this machine does not have.
func (e *Engine) checkPrograms() error {
	for _, p := range e.programs() {
		if _, err := exec.LookPath(p.name); err != nil {
			return missingProgram(p.name, p.pkg)
		}
	}
	return nil
}

func missingProgram(program, pkg string) error {
	return engine.Unavailable("The program %s, which the local computer needs, is not installed.", program).
		WithFix("Install the Debian package %s (apt-get install %s).", pkg, pkg)
}

// checkPorts names the first port of the computer that somebody else has. The
// daemon would only find out port by port, when screens open.
func (e *Engine) checkPorts() error {
	if e.cfg.PortBase == 0 {
		return nil
	}
	return engine.CheckPorts(e.cfg.PortBase)
}

var _ engine.Engine = (*Engine)(nil)
