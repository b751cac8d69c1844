//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// stateDir is the folder, of mode 0700, that says all that is known of a computer:
//
//	lock         held while any process of the computer lives
//	token        bearer token of this run
//	daemon.log   output of this run; daemon.log.1 of the one before
//	etc          generated files of the sandbox's /etc
//	daemon       the daemon's own folder, with daemon.json (api.Facts): where it is reached
//
// Only daemon can be written from inside the sandbox. Where programs and daemon
// share one uid an agent can change it, so nothing is written there from outside, and
// what is read there is not believed further than the daemon itself.
type stateDir string

// maxFacts bounds daemon.json.
const maxFacts = 64 << 10

func (d stateDir) path(name string) string { return filepath.Join(string(d), name) }
func (d stateDir) log() string             { return d.path("daemon.log") }
func (d stateDir) daemon() string          { return d.path("daemon") }

// create makes the folder and refuses one that somebody else could change.
func (d stateDir) create() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	info, err := os.Stat(string(d))
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d", string(d), owner)
	}
	return os.Chmod(string(d), 0o700)
}

// tryLock returns the locked lock file, or nil when a process of the computer, or
// one that is about to start it, holds the lock.
func (d stateDir) tryLock() (*os.File, error) {
	f, err := os.OpenFile(d.path("lock"), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}

// waitFree waits until no process holds the lock.
func (d stateDir) waitFree(ctx context.Context) error {
	for {
		lock, err := d.tryLock()
		if err != nil {
			return err
		}
		if lock != nil {
			return lock.Close()
		}
		if err := engine.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// facts reads what the daemon wrote about itself. The file may be missing, or of
// an earlier run that was killed.
func (d stateDir) facts() (api.Facts, error) {
	var facts api.Facts
	path := filepath.Join(d.daemon(), api.FactsFile)
	// Neither a link nor a pipe put there may lead elsewhere or block.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return facts, errors.New("the daemon has not said where it is reached")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFacts))
	if err != nil || json.Unmarshal(data, &facts) != nil {
		return facts, fmt.Errorf("%s is incomplete", path)
	}
	if host, _, err := net.SplitHostPort(facts.API); err != nil || host != "127.0.0.1" {
		return facts, fmt.Errorf("%s names the address %q, which is not on 127.0.0.1", path, facts.API)
	}
	return facts, nil
}

// probe asks the daemon for its identity and returns how it is reached. A
// stranger who got the same port cannot answer: every run has a new token, and
// the stranger's computer is another one.
func (d stateDir) probe(ctx context.Context) (*engine.Endpoint, api.Facts, error) {
	facts, err := d.facts()
	if err != nil {
		return nil, facts, err
	}
	endpoint, err := d.endpoint(facts)
	if err != nil {
		return nil, facts, err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	computer := endpoint.Client()
	defer computer.CloseIdle()
	info, err := computer.Info(ctx)
	if err == nil && info.ComputerID != facts.ComputerID {
		err = fmt.Errorf("%s is answered by another computer", facts.API)
	}
	return endpoint, facts, err
}

// endpoint makes the endpoint that facts and the token file describe.
func (d stateDir) endpoint(facts api.Facts) (*engine.Endpoint, error) {
	token, err := os.ReadFile(d.path("token"))
	if err != nil {
		return nil, fmt.Errorf("read the daemon's token: %v", err)
	}
	endpoint := &engine.Endpoint{
		BaseURL: "http://" + facts.API, Token: strings.TrimSpace(string(token)),
		ComputerID: facts.ComputerID, HomeID: facts.HomeID,
	}
	if facts.Viewer != "" {
		endpoint.Viewer = "http://" + facts.Viewer
	}
	return endpoint, nil
}

// shutdown tells the daemon to stop.
func (d stateDir) shutdown(ctx context.Context) error {
	facts, err := d.facts()
	if err != nil {
		return err
	}
	endpoint, err := d.endpoint(facts)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	computer := endpoint.Client()
	defer computer.CloseIdle()
	return computer.Shutdown(ctx)
}
