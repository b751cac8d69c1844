package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// awaitAnswer waits until the daemon of a running container answers.
func (c *call) awaitAnswer(ctx context.Context, f *found) (*engine.Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limits.answer)
	defer cancel()
	endpoint, err := c.endpoint(ctx, f)
	if err != nil {
		return nil, err
	}
	for {
		err := c.probe(ctx, endpoint)
		if err == nil {
			return endpoint, nil
		}
		switch api.AsError(err).Code {
		case api.CodeVersionMismatch:
			return nil, c.wrongVersion(f, err)
		case api.CodeComputerMismatch, api.CodePermissionDenied:
			return nil, api.Errorf(api.CodeComputerMismatch, "The daemon of the container %s does not have the identity that the container was made with: %v", c.cfg.Name, err).
				WithFix("Ask the user to run `docker rm --force %s`, then call start_computer again. Files in home stay.", c.cfg.Name)
		}
		now, lookErr := c.inspect(ctx, c.cfg.Name)
		switch {
		case ctx.Err() != nil: // told below
		case lookErr != nil:
			return nil, lookErr
		case now == nil || now.id != f.id || now.started != f.started && now.isRunning():
			return nil, api.Errorf(api.CodeComputerStopped, "The container %s was replaced or started again while it was waited for.", c.cfg.Name).
				WithFix("Call start_computer again.").WithRetry()
		case !now.isRunning():
			return nil, c.ended(ctx)
		}
		if engine.Sleep(ctx, pollEvery) != nil {
			return nil, engine.Unavailable("The container %s is running, but its daemon did not answer within %v: %v%s", c.cfg.Name, c.limits.answer, err, c.lastLines(context.WithoutCancel(ctx))).
				WithFix("Ask the user to run `docker restart %s`, then call start_computer again. Where the engine is on another machine, COMPUTER_USE_PUBLISH=off is needed.", c.cfg.Name).WithRetry()
		}
	}
}

// ended is the error for a container that did not stay up.
func (c *call) ended(ctx context.Context) error {
	return api.Errorf(api.CodeComputerStopped, "The container %s stopped while it was starting.%s", c.cfg.Name, c.lastLines(ctx)).
		WithFix("The whole log: `docker logs %s`.", c.cfg.Name)
}

// endpoint returns how the daemon of a running container is reached.
func (c *call) endpoint(ctx context.Context, f *found) (*engine.Endpoint, error) {
	e := &engine.Endpoint{ComputerID: f.computer, Viewer: "http://127.0.0.1:" + strconv.Itoa(f.portBase)}
	port := f.spec().apiPort()
	if c.isTunnelled(f) {
		// By id, so that another container which takes the name is not called instead.
		e.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dialInside(ctx, f.id, port) }
	} else {
		var err error
		if port, err = c.publishedPort(ctx, f); err != nil {
			return nil, err
		}
	}
	var err error
	if e.Token, err = c.token(ctx, f.id); err != nil {
		return nil, err
	}
	e.BaseURL = "http://127.0.0.1:" + strconv.Itoa(port)
	return e, nil
}

// publishedPort returns the port of this machine that leads to the daemon's API.
func (c *call) publishedPort(ctx context.Context, f *found) (int, error) {
	published := f
	if f.spec().needsRelay() {
		relay, err := c.inspect(ctx, c.relayName())
		if err != nil {
			return 0, err
		}
		if relay != nil {
			published = relay
		}
	}
	port := published.hostPort(f.spec().apiPort())
	if port == 0 {
		return 0, engine.Unavailable("The container %s is running, but the port of its daemon is not published.", c.cfg.Name).
			WithFix("Set COMPUTER_USE_PUBLISH=off, which reaches it without. Or ask the user to run `docker rm --force %s`, then call start_computer again. Files in home stay.", c.cfg.Name)
	}
	return port, nil
}

// hostPort returns the port of this machine that leads to a port of the container, 0
// when none does.
func (f *found) hostPort(port int) int {
	inside, _ := network.PortFrom(uint16(port), network.TCP)
	for _, binding := range f.ports[inside] {
		if n, err := strconv.Atoi(binding.HostPort); err == nil {
			return n
		}
	}
	return 0
}

// probe asks the daemon who it is. The call carries the identity that the container was
// made with, so another computer refuses it. What is not known yet, the home and the
// identity of a container that was made by hand, is learned from the answer.
func (c *call) probe(ctx context.Context, e *engine.Endpoint) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.probe)
	defer cancel()
	computer := e.Client()
	defer computer.CloseIdle()
	info, err := computer.Info(ctx)
	if err == nil {
		e.ComputerID, e.HomeID = info.ComputerID, info.HomeID
	}
	return err
}

// wrongVersion is the error for a daemon that speaks another protocol. Only the user
// may stop it, and what to do depends on which side is older.
func (c *call) wrongVersion(f *found, cause error) *api.Error {
	e := api.Errorf(api.CodeVersionMismatch, "The computer of the container %s runs version %s, which this server (version %s) does not understand: %s",
		c.cfg.Name, f.image.version, c.cfg.Version, api.AsError(cause).Message)
	if isRelease(f.image.version) && isRelease(c.cfg.Version) && compareReleases(c.cfg.Version, f.image.version) < 0 {
		return e.WithFix("Ask the user to update computer-use-mcp to version %s.", f.image.version)
	}
	if !f.isOurs() {
		return e.WithFix("Ask the user to make the container %s again, of the image %s. Files in home stay.", c.cfg.Name, c.cfg.Image)
	}
	return e.WithFix("Ask the user to run `docker stop %s` when nobody works on it, then call start_computer again: that upgrades it. Files in home stay.", c.cfg.Name)
}

// lastLines returns the end of the daemon's log as part of a sentence.
func (c *call) lastLines(ctx context.Context) string {
	var out bytes.Buffer
	if err := c.copyLog(ctx, c.cfg.Name, &out, 5, false); err != nil || out.Len() == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return " It printed last: " + strings.Join(lines, " | ")
}

// copyLog copies the last lines of the log to w. The daemon's stdout
// is left out: it holds the key (S0-14).
func (c *call) copyLog(ctx context.Context, name string, w io.Writer, lines int, follow bool) error {
	if !follow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.limits.request)
		defer cancel()
	}
	answer, err := c.docker.ContainerLogs(ctx, name, client.ContainerLogsOptions{ShowStderr: true, Tail: strconv.Itoa(lines), Follow: follow})
	if err != nil {
		return c.explain(ctx, "read the log of the container "+name, err)
	}
	defer answer.Close()
	if _, err := stdcopy.StdCopy(w, w, answer); err != nil && (!follow || ctx.Err() == nil) {
		return fmt.Errorf("read the log of the container %s: %v", name, err)
	}
	return nil
}
