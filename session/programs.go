package session

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/falleng0d/computer-use-mcp/display"
)

// Programs says how applications are started.
type Programs struct {
	Home string              // their folder, and what ~ stands for
	User *display.Credential // nil is the user of this process
}

// tagName is the environment variable that marks everything started on a desktop, so
// that all of it can be found again: a program's children may leave its process group
// and outlive it, but they inherit this.
const tagName = "COMPUTER_USE_DESKTOP"

const (
	stopGrace  = 2 * time.Second       // between SIGTERM and SIGKILL
	stopPoll   = 20 * time.Millisecond // there is no event for the end of somebody else's child
	keptOutput = 1 << 10               // bytes of a program's last output
)

// children are the programs that were started on one desktop.
type children struct {
	tag string // value of tagName
}

// program is one running application.
type program struct {
	name   string
	done   chan struct{}
	state  string // how it ended, once done is closed
	failed bool   // it ended with another status than 0
	output tail
}

// start starts an application on a screen. It runs in a process group of its own and is
// reaped.
func (c *children) start(how Programs, screen Screen, argv []string) (*program, error) {
	run := &program{name: filepath.Base(argv[0]), done: make(chan struct{})}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(slices.Clip(screen.Env()), tagName+"="+c.tag)
	cmd.Dir = how.Home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if u := how.User; u != nil && (int(u.UID) != os.Geteuid() || int(u.GID) != os.Getegid()) {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID}
	}
	// Not cmd's own pipe: that one is cut when the program ends, and what a launcher
	// leaves running would die of it.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer r.Close()
		run.output.readFrom(r)
	}()
	go func() {
		defer close(run.done)
		cmd.Wait()
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

// stop ends everything that was started on the desktop and what that has started.
func (c *children) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	left := c.signal(syscall.SIGTERM)
	for left > 0 && sleep(ctx, stopPoll) == nil {
		left = c.signal(0)
	}
	if left > 0 {
		c.signal(syscall.SIGKILL)
	}
}

// signal sends a signal to every process with the tag and returns how many there are.
func (c *children) signal(sig syscall.Signal) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	tag := []byte(tagName + "=" + c.tag)
	n := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !hasVariable(environ, tag) {
			continue // another user's, or gone
		}
		if syscall.Kill(pid, sig) == nil {
			n++
		}
	}
	return n
}

func hasVariable(environ, variable []byte) bool {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(v, variable) {
			return true
		}
	}
	return false
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
