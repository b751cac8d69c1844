// Package shell runs the commands of sessions with bash: in the foreground, where the
// caller waits for the result, and as jobs, whose output is read bit by bit.
//
// Whatever a command starts can be found again and ended, also when it leaves the
// command's process group and outlives it; see [Scope]. A command that comes to its
// end by itself may leave programs behind on purpose. They end with the session.
//
// Errors that leave this package are an [api.Error].
package shell

import (
	"context"
	"log/slog"
	"sync"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// Names of the variables that mark what a session and what one command has started.
const (
	sessionVariable = "COMPUTER_USE_SESSION"
	callVariable    = "COMPUTER_USE_CALL"
)

// Config says how commands run.
type Config struct {
	User *supervise.Credential // nil is the user of this process
	Env  []string              // the whole environment but for what a Command adds
	// OutputDir is a folder that only this process's user can read. The output of jobs
	// is kept there, in files that have no name.
	OutputDir string
	// Cgroups allows the use of control groups, where the system lets us make some.
	Cgroups bool
	Logger  *slog.Logger // nil is silence
}

// Shells runs the commands of all sessions and holds the jobs that outlive theirs. All
// methods may be called from any goroutine.
type Shells struct {
	cfg   Config
	group *cgroup // nil where there is none
	kept  jobs
}

// New returns a Shells without commands.
func New(cfg Config) *Shells {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Shells{cfg: cfg}
	if cfg.Cgroups {
		s.group = newCgroup()
	}
	return s
}

// Close ends the jobs that outlived their sessions. Every Shell must have ended.
func (s *Shells) Close() {
	s.kept.stop()
	s.kept.release()
	s.group.remove()
}

// Shell runs the commands of one session. All methods may be called from any
// goroutine.
type Shell struct {
	all   *Shells
	scope *Scope
	jobs  jobs

	// ctx ends when everything of the session has been ended.
	ctx    context.Context
	cancel context.CancelFunc

	// A command is started under mu, so that End finds either its processes or no new
	// ones.
	mu    sync.Mutex
	ended bool // guarded by mu
}

// Shell returns a Shell for a session. The caller ends it.
func (s *Shells) Shell(session string) *Shell {
	sh := &Shell{all: s, scope: s.Scope(sessionVariable, session)}
	sh.ctx, sh.cancel = context.WithCancel(context.Background())
	return sh
}

// End ends everything that was started, but for jobs that are to be kept, and lets
// nothing more be started. Calls in progress end with it.
func (s *Shell) End() {
	s.mu.Lock()
	first := !s.ended
	s.ended = true
	s.mu.Unlock()
	if first {
		if left := s.scope.End(sessionGrace); left > 0 {
			s.all.cfg.Logger.Error("processes of a session cannot be ended", "count", left)
		}
		s.jobs.release()
	}
	s.cancel()
}

func (s *Shell) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}
