// Package supervise runs child processes and keeps a chain of things running.
//
// A [Process] is one run of one child: its own process group, its last output
// kept for error messages, ended as a group and always reaped. A [Group] holds
// an ordered list of units that stand on each other (an X server, the
// connections to it, a window manager), starts them in order, brings back what
// ends, and stops them in reverse.
//
// Nothing here sleeps to wait for readiness: a unit's Start returns when the
// unit is ready, and what ready means is a signal that the unit itself gives.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultGrace is how long a child has to end after SIGTERM.
const DefaultGrace = 2 * time.Second

// Credential is the user that a child runs as, without supplementary groups.
type Credential struct {
	UID, GID uint32
}

// Sys returns what makes a child run as the user. It is nil for nil and for the user of
// this process: what a child inherits needs no right that this process may not have.
func (u *Credential) Sys() *syscall.Credential {
	if u == nil || int(u.UID) == os.Geteuid() && int(u.GID) == os.Getegid() {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID}
}

// Command says how to start a child.
type Command struct {
	Name  string   // for messages; the program's base name if empty
	Path  string   // looked up in the parent's PATH if it holds no slash
	Args  []string // without the program's own name
	Env   []string // the whole environment: nothing is inherited
	Dir   string   // working directory; the parent's if empty
	User  *Credential
	Grace time.Duration // between SIGTERM and SIGKILL; DefaultGrace if 0

	// Files become descriptors 3, 4, ... of the child. The caller closes its own
	// copies once Start returned.
	Files []*os.File
}

// Process is one run of a child. All methods may be called from any goroutine.
type Process struct {
	name   string
	pid    int
	grace  time.Duration
	output tail
	done   chan struct{}
	err    error // written before done is closed
}

// ExitError reports that a child ended.
type ExitError struct {
	Name   string
	State  string // "exit status 1", "signal: killed"
	Output string // the last lines that it wrote, or empty
}

func (e *ExitError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("%s ended (%s)", e.Name, e.State)
	}
	return fmt.Sprintf("%s ended (%s); its last output: %s", e.Name, e.State, e.Output)
}

// ErrNoProgram is matched by the error of a Start whose program does not exist.
var ErrNoProgram = errors.New("the program is not installed")

// Start starts the child. It does not outlive the process that called Start,
// even when that one is killed.
func (c Command) Start() (*Process, error) {
	name := c.Name
	if name == "" {
		name = c.Path[strings.LastIndexByte(c.Path, '/')+1:]
	}
	p := &Process{name: name, grace: c.Grace, done: make(chan struct{})}
	if p.grace == 0 {
		p.grace = DefaultGrace
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append([]string{}, c.Env...) // not nil: nil would inherit
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	cmd.ExtraFiles = c.Files
	// A grandchild may hold the output pipe open; the child's end must not wait
	// for it.
	cmd.WaitDelay = 100 * time.Millisecond
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: c.User.Sys()}
	started := make(chan error)
	go p.run(cmd, started)
	err := <-started
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("start %s: %w: %s", name, ErrNoProgram, c.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// run is the process's goroutine: it starts the child, waits for its end and
// reaps it.
func (p *Process) run(cmd *exec.Cmd, started chan<- error) {
	// Pdeathsig follows the thread that forked, which the Go scheduler may
	// retire. Locked to this goroutine, the thread lives as long as the child; it
	// would block in the wait anyway.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	// The child stays a zombie until the rest of its group is killed, so that
	// the group's number cannot belong to anybody else by then.
	for unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	unix.Kill(-p.pid, unix.SIGKILL)
	cmd.Wait() // its error is in ProcessState, or is about a pipe that a grandchild holds
	p.err = &ExitError{Name: p.name, State: cmd.ProcessState.String(), Output: p.output.String()}
	close(p.done)
}

// PID returns the child's process id, which is its process group's too.
func (p *Process) PID() int { return p.pid }

// Done is closed when the child has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns nil while the child runs, and then an [*ExitError] whatever its
// exit status was.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Stop ends the child's process group: SIGTERM, the command's Grace, SIGKILL. It
// returns when the child was reaped and does nothing if that has happened.
func (p *Process) Stop() {
	p.signal(unix.SIGTERM)
	late := time.NewTimer(p.grace)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		p.signal(unix.SIGKILL)
		<-p.done
	}
}

func (p *Process) signal(s unix.Signal) {
	select {
	case <-p.done: // the group's number may be somebody else's now
	default:
		unix.Kill(-p.pid, s)
	}
}

// Ready calls wait, which returns when the child is ready, with a context that
// ends with the child. If the child ended first, or wait fails, Ready stops the
// child and returns why.
func (p *Process) Ready(ctx context.Context, wait func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	returned := make(chan struct{})
	defer close(returned)
	go func() {
		select {
		case <-p.done:
			cancel(p.err)
		case <-returned:
		}
	}()
	err := wait(ctx)
	if err == nil {
		return nil
	}
	ended := context.Cause(ctx)
	p.Stop()
	var exit *ExitError
	if errors.As(ended, &exit) {
		return exit
	}
	return fmt.Errorf("wait for %s: %w", p.name, err)
}
