package shell

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

const (
	callGrace    = 300 * time.Millisecond // between SIGTERM and SIGKILL at a timeout
	jobGrace     = 2 * time.Second        // when a job is stopped
	sessionGrace = time.Second            // when the session ends

	sweepPause = 10 * time.Millisecond
	// endLimit bounds the end. What takes longer hangs in the kernel, for example on a
	// disk, and no signal reaches it.
	endLimit = 5 * time.Second
)

// Scope is everything that a session, or one command of it, has started. Programs may
// leave their process group and outlive their parents, but they stay in the scope:
// they inherit its control group, or where the system has none for us a variable in
// their environment. A program that clears its environment is still found while its
// parent lives.
type Scope struct {
	mark  string // NAME=value
	outer *Scope // it belongs to; may be nil
	group *cgroup
	user  *supervise.Credential // of the processes; nil is this process's
	used  atomic.Bool           // something was started in it
}

// Scope returns a scope beside those of the sessions. variable names the mark in the
// environment, id tells the scope from all others.
func (s *Shells) Scope(variable, id string) *Scope {
	return &Scope{mark: variable + "=" + id, group: s.group.child(id), user: s.cfg.User}
}

// scopeIn returns a scope that is a part of outer, or stands beside the sessions' when
// that is nil.
func (s *Shells) scopeIn(outer *Scope, variable, id string) *Scope {
	if outer == nil {
		return s.Scope(variable, id)
	}
	return &Scope{mark: variable + "=" + id, outer: outer, group: outer.group.child(id), user: s.cfg.User}
}

// Environ returns the marks of the scope and those around it.
func (s *Scope) Environ() []string {
	if s == nil {
		return nil
	}
	return append(s.outer.Environ(), s.mark)
}

// Enter makes the process that is started next with attr begin in the scope; it needs
// the marks of Environ too. entered must be called once it was started. Only one
// process at a time may be started in a scope.
func (s *Scope) Enter(attr *syscall.SysProcAttr) (entered func()) {
	for o := s; o != nil; o = o.outer {
		o.used.Store(true)
	}
	for ; s != nil; s = s.outer {
		if entered, ok := s.group.enter(attr); ok {
			return entered
		}
		s.group = nil // the marks are still there
	}
	return func() {}
}

// processes returns the numbers of the processes in the scope. leader is the first of
// them, as long as it was not reaped, or 0. seen is called with some of them as soon as
// they are found.
func (s *Scope) processes(leader int, seen func(pid int)) []int {
	if s.group != nil {
		return s.group.processes()
	}
	return marked(s.mark, leader, s.user, seen)
}

// unseen is for those who do not need to know early.
func unseen(int) {}

// End ends every process in the scope and returns how many it could not end. Those
// that do not go within grace after SIGTERM are killed. Nothing may enter meanwhile.
func (s *Scope) End(grace time.Duration) (left int) { return s.end(0, grace) }

// Count returns how many processes are in the scope.
func (s *Scope) Count() int { return len(s.processes(0, unseen)) }

func (s *Scope) end(leader int, grace time.Duration) (left int) {
	if !s.used.Load() {
		s.forget()
		return 0
	}
	start := time.Now()
	found := s.processes(leader, unseen)
	signal(found, syscall.SIGTERM)
	for len(found) > 0 && time.Since(start) < grace {
		time.Sleep(sweepPause)
		found = s.processes(leader, unseen)
	}
	// From the second round on each is killed as soon as it is found: one that forks all the
	// time has another number when the whole search is over. Not in the first round, in
	// which a child without a mark is known by its parent.
	kill := func(pid int) { signal([]int{pid}, syscall.SIGKILL) }
	// A process that is just replacing its program cannot be seen for a moment, and
	// its parent may be gone: nothing is left only when that is so twice.
	for quiet := 0; quiet < 2 && time.Since(start) < grace+endLimit; {
		s.group.kill()
		signal(found, syscall.SIGKILL)
		time.Sleep(sweepPause)
		if found = s.processes(leader, kill); len(found) == 0 {
			quiet++
		} else {
			quiet = 0
		}
	}
	s.forget()
	return len(found)
}

// forget gives back what the scope takes of the system, if nothing is in it.
func (s *Scope) forget() { s.group.remove() }

func signal(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		if pid != os.Getpid() {
			syscall.Kill(pid, sig) // it may have ended by itself
		}
	}
}
