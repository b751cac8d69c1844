package docker

import (
	"context"
	"fmt"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// Status implements [engine.Engine].
func (e *Engine) Status(ctx context.Context) (*engine.Status, error) {
	c, err := e.call(func(string) {})
	if err != nil {
		return nil, err
	}
	found, err := c.inspect(ctx, c.cfg.Name)
	if err != nil {
		return nil, err
	}
	want, err := c.inspectImage(ctx, c.cfg.Image)
	if err != nil {
		return nil, err
	}
	s := &engine.Status{
		State: engine.StateStopped,
		// The engine may be on a virtual machine, where process ids say nothing here.
		HostPID: func(int) int { return 0 },
	}
	s.Details = []engine.Detail{
		{Name: "docker", Value: fmt.Sprintf("%s, chosen %s", c.address.host, c.address.rule)},
		{Name: "image", Value: c.cfg.Image + ", " + want.words()},
	}
	detail := func(name, format string, args ...any) {
		s.Details = append(s.Details, engine.Detail{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	if found == nil {
		detail("container", "%s does not exist; start_computer makes it", c.cfg.Name)
		detail("home", "volume %s", c.volume())
		return s, nil
	}
	detail("container", "%s, %s, of %s, version %s", c.cfg.Name, found.state, found.imageRef, found.image.version)
	detail("upgrade", "%s", c.upgrade(ctx, found, want))
	detail("home", "volume %s", c.volume())
	if found.isOffline() {
		detail("network", "offline, reached through the container %s", c.relayName())
	} else {
		detail("network", "internet")
	}
	detail("ports", "127.0.0.1:%d to %d", found.portBase, found.portBase+api.MaxScreens)
	if refusal := c.check(found); refusal != nil {
		s.State = engine.StateUnresponsive
		detail("problem", "%v", refusal)
		return s, nil
	}
	if !found.isRunning() {
		return s, nil
	}
	s.State = engine.StateUnresponsive
	endpoint, err := c.endpoint(ctx, found)
	if err == nil {
		err = c.probe(ctx, endpoint)
	}
	if err != nil {
		detail("problem", "%v", err)
		return s, nil
	}
	s.State, s.Endpoint = engine.StateRunning, endpoint
	return s, nil
}

func (i *image) words() string {
	switch {
	case i == nil:
		return "not on this engine"
	case i.version == "":
		return "not an image of a computer"
	}
	return "version " + i.version
}

// upgrade says whether the container's image would be replaced.
func (c *call) upgrade(ctx context.Context, f *found, want *image) string {
	pending := c.isOlder(ctx, f, want) || want == nil && c.isBehind(f)
	switch {
	case !f.isOurs():
		return "none: the container was made by hand"
	case !pending:
		return "none pending"
	case f.isRunning():
		return fmt.Sprintf("pending: `docker stop %s`, then start_computer", c.cfg.Name)
	}
	return "pending: start_computer does it"
}

// Ready reports why [Engine.Ensure] could not work, as far as that can be told
// without changing anything: the engine does not answer, or it has neither a computer
// nor the image to make one.
func (e *Engine) Ready(ctx context.Context) error {
	c, err := e.call(func(string) {})
	if err != nil {
		return err
	}
	if found, err := c.inspect(ctx, c.cfg.Name); err != nil || found != nil {
		return err
	}
	if want, err := c.inspectImage(ctx, c.cfg.Image); err != nil {
		return err
	} else if want == nil && !isRelease(c.cfg.Version) {
		return c.imageMissing()
	}
	return nil
}
