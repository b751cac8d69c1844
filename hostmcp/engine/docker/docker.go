// Package docker runs the computer in a container of the user's own Docker engine: one
// container, and one volume with its home. The engine is the one that the docker
// command would use, see [Config].
//
// # Life
//
// The container's name is the lock. Whoever needs the computer looks at the container
// of that name, does what its state asks for (make it, start it, wait for the one who
// makes it) and looks again, so any number of processes may do this at once and end up
// with one computer. A running container is never touched, and nothing here stops
// one: that is the user's (`docker stop`). The volume is never removed.
//
// A container is removed in two cases, by its id and without force. It is stopped and
// of an older image than this binary's: then the next one takes over its home and its
// ports. Or it has never run, because it could not be finished or a port was taken.
// A container of a computer's image that somebody else made, by hand or with compose, is
// started and used, and never removed.
//
// # Secrets
//
// The bearer token of a computer is a file inside it, mode 0600, that is put there
// before the first start and read back by everybody who may use the engine. It is in
// no variable, label or argument, where `docker inspect` would show it.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// Config describes one computer.
type Config struct {
	Name     string // of the container; its home is the volume Name-home
	Image    string // empty: the one of this version, see [DevImage]
	Version  string // of this binary
	PortBase int    // first of 17 ports on 127.0.0.1: the viewer page, then the screens' VNC ports
	Offline  bool   // a new computer reaches nothing outside itself

	// Unpublished reaches the computer through the Docker API alone. A new one publishes
	// no ports.
	Unpublished bool

	// NativeViewers says what VNC programs may do on a new computer: control, watch or
	// off. Empty is the daemon's choice, control.
	NativeViewers string

	// Debug makes the daemon of a container that is made log in detail.
	Debug bool

	// Getenv reads DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG, DOCKER_CERT_PATH,
	// DOCKER_TLS_VERIFY and TZ; nil is [os.Getenv].
	Getenv func(string) string
	Logger *slog.Logger // nil discards
}

// limits say how long to wait, beyond what the caller's context allows.
type limits struct {
	request time.Duration // one small request to the engine
	work    time.Duration // the engine's work to create, start or remove a container
	answer  time.Duration // from the container's start to the daemon's first answer
	probe   time.Duration // one answer of a daemon that serves
	others  time.Duration // another process's work on the container
}

var defaultLimits = limits{
	request: 20 * time.Second, work: time.Minute, answer: 20 * time.Second, probe: 2 * time.Second, others: 10 * time.Second,
}

const pollEvery = 20 * time.Millisecond

// Engine is the Docker engine. Its methods may be called concurrently.
type Engine struct {
	cfg    Config
	limits limits
	log    *slog.Logger

	mu      sync.Mutex
	docker  *client.Client    // guarded by mu; nil until first needed
	address address           // guarded by mu; of docker
	tokens  map[string]string // guarded by mu; by container id
	tunnel  *tunnel           // guarded by mu; nil until first needed
}

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$`)

// New returns the engine of the computer that cfg describes. It touches nothing.
func New(cfg Config) (*Engine, error) {
	if !nameForm.MatchString(cfg.Name) {
		return nil, fmt.Errorf("computer name %q is not made of letters, digits, '_', '.' and '-'", cfg.Name)
	}
	if cfg.PortBase < 1 || cfg.PortBase+api.MaxScreens > 65535 {
		return nil, fmt.Errorf("port base %d leaves no room for %d ports", cfg.PortBase, 1+api.MaxScreens)
	}
	if cfg.Image == "" {
		cfg.Image = defaultImage(cfg.Version)
	}
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{cfg: cfg, limits: defaultLimits, log: cfg.Logger, tokens: map[string]string{}}, nil
}

// Name returns "docker".
func (e *Engine) Name() string { return "docker" }

// Close implements [engine.Engine]: it closes the ports of this machine that lead to the
// computer through the Docker API.
func (e *Engine) Close() {
	e.mu.Lock()
	t, docker := e.tunnel, e.docker
	e.tunnel = nil
	e.mu.Unlock()
	if t != nil {
		t.close()
	}
	if docker != nil {
		docker.Close()
	}
}

// call is one method call on an Engine, with what it works with.
type call struct {
	*Engine
	docker   *client.Client
	address  address
	progress func(string)
}

// call connects to the engine when that has not happened yet.
func (e *Engine) call(progress func(string)) (*call, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.docker == nil {
		home, _ := os.UserHomeDir() // without one there is no configuration in it
		where, err := resolver{getenv: e.cfg.Getenv, home: home}.resolve()
		if err != nil {
			return nil, err
		}
		docker, err := where.connect()
		if err != nil {
			return nil, err
		}
		e.docker, e.address = docker, where
	}
	return &call{Engine: e, docker: e.docker, address: e.address, progress: progress}, nil
}

// Ensure implements [engine.Engine].
func (e *Engine) Ensure(ctx context.Context, progress func(string)) (*engine.Endpoint, error) {
	c, err := e.call(progress)
	if err != nil {
		return nil, err
	}
	return c.ensure(ctx)
}

// errOthers says that another process is at work on the container.
var errOthers = errors.New("another process is at work on the container")

// ensure looks at the container, does what its state asks for, and looks again.
func (c *call) ensure(ctx context.Context) (*engine.Endpoint, error) {
	var others patience
	started := "" // id of the container that this call has started
	next := spec{portBase: c.cfg.PortBase, offline: c.cfg.Offline, unpublished: c.cfg.Unpublished || c.address.isRemote()}
	for {
		found, err := c.inspect(ctx, c.cfg.Name)
		if err == nil && found != nil {
			err = c.check(found)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case found == nil:
			err = c.create(ctx, next)
		case found.isChanging(), found.isOurs() && found.neverRan() && !c.isFinished(ctx, found):
			err = errOthers
		case found.id == started && !found.isRunning():
			err = c.ended(ctx)
		case found.isOurs() && !found.isRunning() && c.isOld(ctx, found):
			c.progress("Replacing the stopped container, whose image is older than this version. Files in home stay.")
			next = found.spec()
			err = c.replace(ctx, found)
		default:
			if found.spec().needsRelay() {
				if err := c.ensureRelay(ctx, found.spec(), found.image.id); err != nil {
					return nil, err
				}
			}
			if found.isRunning() {
				return c.join(ctx, found)
			}
			started = found.id
			err = c.start(ctx, c.cfg.Name, found)
		}
		if errors.Is(err, errOthers) {
			if others.isOut(c.limits.others, found) {
				err = c.giveUpOn(ctx, found)
			} else {
				err = engine.Sleep(ctx, 5*pollEvery)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// join returns how a running computer is reached.
func (c *call) join(ctx context.Context, f *found) (*engine.Endpoint, error) {
	endpoint, err := c.awaitAnswer(ctx, f)
	if err != nil {
		return nil, err
	}
	endpoint.Notes = c.kept(f)
	if c.isTunnelled(f) {
		if err := c.openTunnel(ctx, f, endpoint); err != nil {
			return nil, err
		}
	}
	return endpoint, nil
}

// replace removes a stopped container so that another one can take its place.
func (c *call) replace(ctx context.Context, f *found) error {
	if f.spec().needsRelay() {
		if err := c.removeRelay(ctx); err != nil {
			return err
		}
	}
	return c.remove(ctx, f)
}

// patience measures how long others have been at work on the same container.
type patience struct {
	id    string
	since time.Time
}

// isOut reports whether that is longer than limit. f is nil while there is none yet.
func (p *patience) isOut(limit time.Duration, f *found) bool {
	id := ""
	if f != nil {
		id = f.id
	}
	if p.since.IsZero() || p.id != id {
		*p = patience{id: id, since: time.Now()}
	}
	return time.Since(p.since) > limit
}

// giveUpOn removes a container that has never run, whose maker must have died, and
// refuses any other.
func (c *call) giveUpOn(ctx context.Context, f *found) error {
	if f != nil && f.isOurs() && f.neverRan() {
		c.log.Warn("removing a container that was never finished", "id", f.id)
		return c.remove(ctx, f)
	}
	state := "neither there nor free to be made"
	if f != nil {
		state = string(f.state)
	}
	return api.Errorf(api.CodeComputerStopped, "The container %s has been %s for %v.", c.cfg.Name, state, c.limits.others).
		WithFix("Look at it with `docker ps --all`, then call start_computer again.").WithRetry()
}

// isOld reports whether a stopped container should give way to one of this binary's
// image. When that cannot be told, it should not.
func (c *call) isOld(ctx context.Context, f *found) bool {
	want, err := c.inspectImage(ctx, c.cfg.Image)
	if err == nil && want == nil && c.isBehind(f) {
		want, err = c.needImage(ctx)
	}
	if err != nil {
		c.log.Warn("the computer keeps its image", "image", c.cfg.Image, "error", err)
		return false
	}
	return c.isOlder(ctx, f, want)
}

// isBehind reports whether the container is of an earlier release than this binary.
func (c *call) isBehind(f *found) bool {
	return isRelease(c.cfg.Version) && isRelease(f.image.version) && compareReleases(f.image.version, c.cfg.Version) < 0
}

// isOlder reports whether the container's image is older than want, which may be nil.
func (c *call) isOlder(ctx context.Context, f *found, want *image) bool {
	if want == nil || want.version == "" {
		return false
	}
	have := f.image
	// Where the image itself is gone, the container's own age stands for its.
	if i, err := c.inspectImage(ctx, have.id); err == nil && i != nil {
		have.created = i.created
	}
	return have.olderThan(*want)
}

// Log implements [engine.Engine]. The log is that of the container, without what the
// daemon tells those who run it by hand, and ends when the container stops.
func (e *Engine) Log(ctx context.Context, w io.Writer, lines int, follow bool) error {
	c, err := e.call(func(string) {})
	if err != nil {
		return err
	}
	return c.copyLog(ctx, e.cfg.Name, w, lines, follow)
}

var _ engine.Engine = (*Engine)(nil)
