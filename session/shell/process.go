package shell

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

const (
	bashPath = "/bin/bash"
	// prologue puts the user's own programs first again: /etc/profile, which a login
	// shell reads, sets PATH anew on most distributions.
	prologue = `PATH="$HOME/.local/bin:$PATH"; `
)

// Command is one line for bash and where it runs.
type Command struct {
	Line string
	Dir  string   // absolute
	Env  []string // instead of Config.Env when not nil
	// User is Config.User in another group, or nil for itself.
	User *supervise.Credential
}

// process is the bash of one command.
type process struct {
	scope  *Scope // of everything that it starts
	pid    int
	exited chan struct{}    // closed when it has ended; its number is still its own
	swept  chan struct{}    // closed to have it reaped
	reaped chan struct{}    // closed when its number may be somebody else's
	state  *os.ProcessState // once reaped is closed
}

// start runs a command whose output goes to the two files, which it closes. outer is
// what the command belongs to: the session, or nothing for a job that is kept.
func (s *Shell) start(c Command, outer *Scope, stdout, stderr *os.File) (*process, error) {
	defer stdout.Close()
	defer stderr.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, startError(c, err)
	}
	defer null.Close()
	cfg := &s.all.cfg
	env := c.Env
	if env == nil {
		env = cfg.Env
	}
	// A session of its own, in the system's sense: no terminal, and one number that
	// everything it starts has, short of what starts a session itself.
	attr := &os.ProcAttr{
		Dir: c.Dir, Files: []*os.File{null, stdout, stderr},
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: cmp.Or(c.User, cfg.User).Sys()},
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, endedError()
	}
	scope := s.all.scopeIn(outer, callVariable, api.NewID())
	attr.Env = append(slices.Clone(env), scope.Environ()...)
	entered := scope.Enter(attr.Sys)
	bash, err := os.StartProcess(bashPath, []string{"bash", "-lc", prologue + c.Line}, attr)
	entered()
	if err != nil {
		scope.forget()
		return nil, startError(c, err)
	}
	p := &process{
		scope: scope, pid: bash.Pid,
		exited: make(chan struct{}), swept: make(chan struct{}), reaped: make(chan struct{}),
	}
	go p.wait(bash)
	return p, nil
}

// wait is the process's goroutine. It leaves a zombie until that was swept, so that
// the number of its group cannot belong to anybody else by then.
func (p *process) wait(bash *os.Process) {
	for unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	close(p.exited)
	<-p.swept
	p.state, _ = bash.Wait() // fails for nobody's child only
	close(p.reaped)
}

// end ends the process and everything that it has started. Call either end or reap,
// and once.
func (p *process) end(grace time.Duration) {
	p.scope.end(p.pid, grace)
	close(p.swept)
}

// reap collects the process, which has ended, and leaves what it has started alone.
func (p *process) reap() {
	close(p.swept)
	<-p.reaped
	p.scope.forget()
}

// exitCode returns the exit status of a process that has been ended or reaped, as bash
// gives it; nil for one that hangs in the kernel and cannot be ended.
func (p *process) exitCode() *int {
	select {
	case <-p.reaped:
	case <-time.After(endLimit):
		return nil
	}
	code := p.state.ExitCode()
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return &code
}

func endedError() *api.Error {
	return api.Errorf(api.CodeSessionEnded, "The session has ended.").
		WithFix("Call start_computer again. Files in home are still there.")
}

// startError words why bash could not be started.
func startError(c Command, err error) *api.Error {
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM),
		errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return api.Errorf(api.CodeBusy, "The computer cannot run another program now: %v.", err).
			WithFix("End programs that are not needed, or wait for others to end, and try again.").WithRetry()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrPermission):
		if _, err := os.Stat(bashPath); err != nil {
			return api.Errorf(api.CodeUnsupported, "The computer has no %s.", bashPath)
		}
		return api.Errorf(api.CodeNotFound, "The session's folder %.300q cannot be entered: it was removed, or access to it was taken away.", c.Dir).
			WithFix("Choose another folder with set_cwd; ~ always works.")
	case errors.Is(err, syscall.E2BIG):
		return api.Errorf(api.CodeTooLarge, "The command has %d bytes, which is more than the system takes.", len(c.Line)).
			WithFix("Write it to a file with write_file and run that.")
	}
	return api.Errorf(api.CodeInternal, "The command could not be started: %v.", err)
}
