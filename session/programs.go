package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/session/shell"
)

// Programs says how applications are started.
type Programs struct {
	Home string // their folder, and what ~ stands for
	// Daemon is the path of the daemon's binary, which programs can run for some purposes.
	Daemon string
}

// desktopVariable marks what was started on a desktop, see [shell.Scope].
const desktopVariable = "COMPUTER_USE_DESKTOP"

const (
	stopGrace  = 2 * time.Second // between SIGTERM and SIGKILL
	keptOutput = 1 << 10         // bytes of a program's last output
)

// children are the programs that were started on one desktop and what they have
// started.
type children struct {
	*shell.Scope

	starting sync.Mutex // one at a time enters the scope
}

// program is one running application.
type program struct {
	name   string
	pid    int
	done   chan struct{}
	state  string // how it ended, once done is closed
	failed bool   // it ended with another status than 0
	output tail

	mu    sync.Mutex
	ended bool // guarded by mu; pid may be somebody else's from now on
}

// Done is closed when the program has ended.
func (p *program) Done() <-chan struct{} { return p.done }

// Ending says how the program ended, once Done is closed, and what it said last.
func (p *program) Ending() (how string, failed bool, said string) {
	return p.state, p.failed, p.output.String()
}

// Kill ends the program with its process group.
func (p *program) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		syscall.Kill(-p.pid, syscall.SIGKILL)
	}
}

// reap returns when the program has ended and its number is free. Nobody signals that any
// more by then.
func (p *program) reap(cmd *exec.Cmd) {
	for unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	cmd.Wait()
}

// hasEnded reports whether the program has ended. Then state, failed and its last output
// are known.
func (p *program) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// start starts an application on a screen. It runs in a process group of its own and is
// reaped. files are its descriptors 3 and up.
func (c *children) start(how Programs, screen Screen, argv []string, files ...*os.File) (*program, error) {
	run := &program{name: filepath.Base(argv[0]), done: make(chan struct{})}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(slices.Clip(screen.Env()), c.Environ()...)
	cmd.Dir = how.Home
	cmd.ExtraFiles = files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: screen.User().Sys()}
	// Not cmd's own pipe: that one is cut when the program ends, and what a launcher
	// leaves running would die of it.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	c.starting.Lock()
	entered := c.Enter(cmd.SysProcAttr)
	err = cmd.Start()
	entered()
	c.starting.Unlock()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	run.pid = cmd.Process.Pid
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer r.Close()
		run.output.readFrom(r)
	}()
	go func() {
		defer close(run.done)
		run.reap(cmd)
		run.state = cmd.ProcessState.String()
		run.failed = !cmd.ProcessState.Success()
		if run.failed {
			// Its last words are on the way; children may keep the pipe open.
			select {
			case <-read:
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return run, nil
}

// tail keeps the end of a program's output.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) readFrom(r *os.File) {
	buf := make([]byte, keptOutput)
	for {
		n, err := r.Read(buf)
		t.mu.Lock()
		t.data = append(t.data, buf[:n]...)
		t.data = t.data[max(0, len(t.data)-keptOutput):]
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.data), "�"))
}
