package docker

import (
	"context"
	"fmt"
	"strconv"
	"strings"

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
	if found.spec().needsRelay() {
		detail("network", "offline, reached through the container %s", c.relayName())
	} else {
		detail("network", "%s", found.spec().network())
	}
	detail("ports", "127.0.0.1:%d to %d, %s", found.portBase, found.portBase+api.MaxScreens, c.leading(found))
	if kept := c.kept(found); len(kept) > 0 {
		detail("settings", "%s", strings.Join(kept, " "))
	}
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

// leading says how the ports lead to the container.
func (c *call) leading(f *found) string {
	if c.isTunnelled(f) {
		return "through the Docker API while an MCP server of the computer runs"
	}
	return "published by Docker"
}

// kept returns a sentence for each setting that is another one for the container, which
// keeps what it was made with. Of one that was made by hand not all is known.
func (c *call) kept(f *found) (notes []string) {
	keeps := func(setting, is, wanted string) {
		if is != "" && is != wanted {
			notes = append(notes, fmt.Sprintf("The computer keeps %s=%s, with which it was made; the setting %s applies after `docker stop %s` and `docker rm %[4]s`. Files in home stay.",
				setting, is, wanted, c.cfg.Name))
		}
	}
	keeps("COMPUTER_USE_PORT_BASE", strconv.Itoa(f.portBase), strconv.Itoa(c.cfg.PortBase))
	keeps("COMPUTER_USE_NATIVE_VIEWERS", f.native, c.cfg.NativeViewers)
	keeps("COMPUTER_USE_NETWORK", f.network, spec{offline: c.cfg.Offline}.network())
	return notes
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
