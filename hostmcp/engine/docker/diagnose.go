package docker

import (
	"context"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// Diagnose implements [engine.Engine].
func (e *Engine) Diagnose(ctx context.Context) []engine.Check {
	c, err := e.call(func(string) {})
	if err != nil {
		return []engine.Check{engine.Failed("docker", err)}
	}
	reached, err := c.diagnoseEngine(ctx)
	if err != nil {
		return []engine.Check{engine.Failed("docker", err)}
	}
	found, err := c.inspect(ctx, c.cfg.Name)
	if err != nil {
		return append(reached, engine.Failed("container", err))
	}
	checks := append(reached, c.diagnoseImage(ctx, found), c.diagnoseContainer(ctx, found))
	switch {
	case found == nil || found.state == container.StateCreated || found.state == container.StateExited:
		checks = append(checks, c.diagnosePorts(found))
	case found.isRunning():
		checks = append(checks, engine.Passed("ports", "127.0.0.1:%d to %d, %s", found.portBase, found.portBase+api.MaxScreens, c.leading(found)))
	}
	return checks
}

// diagnoseEngine says which engine answers and how it separates containers.
func (c *call) diagnoseEngine(ctx context.Context) ([]engine.Check, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	answer, err := c.docker.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, c.explain(ctx, "describe itself", err)
	}
	info := answer.Info
	if info.OSType != "" && info.OSType != "linux" {
		return nil, engine.Unavailable("The Docker engine %s, chosen %s, runs %s containers.", c.address.host, c.address.rule, info.OSType).
			WithFix("Switch Docker to Linux containers.")
	}
	seccomp := "no filter: this engine lets containers make any system call"
	if i := slices.IndexFunc(info.SecurityOptions, func(o string) bool { return strings.HasPrefix(o, "name=seccomp") }); i >= 0 {
		_, profile, _ := strings.Cut(info.SecurityOptions[i], "profile=")
		seccomp = "profile " + profile
	}
	return []engine.Check{
		engine.Passed("docker", "version %s, API %s, %s, at %s, chosen %s",
			info.ServerVersion, c.docker.ClientVersion(), info.OperatingSystem, c.address.host, c.address.rule),
		engine.Passed("seccomp", "%s", seccomp),
	}, nil
}

// diagnoseImage looks for the image that a new container is made of. One that exists
// does without.
func (c *call) diagnoseImage(ctx context.Context, f *found) engine.Check {
	want, err := c.inspectImage(ctx, c.cfg.Image)
	switch {
	case err != nil:
		return engine.Failed("image", err)
	case want != nil || f != nil:
		return engine.Passed("image", "%s, %s", c.cfg.Image, want.words())
	case isRelease(c.cfg.Version):
		return engine.Failed("image", api.Errorf(api.CodeImageMissing, "The engine does not have the image %s yet.", c.cfg.Image).
			WithFix("Run `docker pull %s`; otherwise the first start_computer does, which takes a while.", c.cfg.Image))
	}
	return engine.Failed("image", c.imageMissing())
}

func (c *call) diagnoseContainer(ctx context.Context, f *found) engine.Check {
	if f == nil {
		return engine.Passed("container", "%s does not exist yet; the first start makes it, with the volume %s as its home", c.cfg.Name, c.volume())
	}
	if refusal := c.check(f); refusal != nil {
		return engine.Failed("container", refusal)
	}
	text := string(f.state) + ", of " + f.imageRef + ", version " + f.image.version + "; upgrade: " + c.upgrade(ctx, f, nil)
	return engine.Passed("container", "%s, %s", c.cfg.Name, strings.TrimSpace(strings.Join(append([]string{text}, c.kept(f)...), ". ")))
}

// diagnosePorts looks whether the ports that a start would publish are free.
func (c *call) diagnosePorts(f *found) engine.Check {
	base := c.cfg.PortBase
	if f != nil {
		base = f.portBase
	}
	if c.address.isRemote() {
		return engine.Passed("ports", "127.0.0.1:%d to %d, through the Docker API", base, base+api.MaxScreens)
	}
	if err := engine.CheckPorts(base); err != nil {
		return engine.Failed("ports", err)
	}
	return engine.Passed("ports", "127.0.0.1:%d to %d are free", base, base+api.MaxScreens)
}
