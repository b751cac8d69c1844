package docker

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Labels. A container has all of them when it was made here, and those of its image when
// it was made by hand: all but the last three.
const (
	labelVersion  = "computer-use.version"
	labelProtocol = "computer-use.protocol"
	labelPortBase = "computer-use.port-base"
	labelNetwork  = "computer-use.network"
	labelComputer = "computer-use.computer-id"
	labelPublish  = "computer-use.publish"
	labelNative   = "computer-use.native-viewers"
)

// Values of labelNetwork.
const (
	networkInternet = "internet"
	networkOffline  = "offline"
	networkRelay    = "relay" // the container between an offline computer and this machine
)

// Values of labelPublish.
const (
	publishOn  = "on"
	publishOff = "off"
)

// What the image promises; see the Dockerfile.
const (
	homeDir       = "/home/computer"
	stateDir      = "/var/lib/computerd"
	tokenFile     = stateDir + "/token"
	computerFile  = "computer-id" // in stateDir
	apiPort       = 7070
	sharedMemory  = 2 << 30 // bytes of /dev/shm, which browsers crash without
	pidsLimit     = 4096    // 16 screens with a browser each have 1,800 threads
	maxTokenBytes = 256
)

// create makes the container and puts its secrets in. It returns errOthers when another
// process is making it, or removing the one before.
func (c *call) create(ctx context.Context, s spec) error {
	i, err := c.needImage(ctx)
	if err != nil {
		return err
	}
	if s.needsRelay() && c.isPodman(ctx) {
		s.unpublished = true // on Podman's internal networks the relay would not find the computer's name
	}
	if s.needsRelay() { // first, because the ports that may be taken are the relay's
		if err := c.ensureRelay(ctx, s, i.id); err != nil {
			return err
		}
	}
	c.progress("Creating the container " + c.cfg.Name + ".")
	ctx, cancel := context.WithTimeout(ctx, c.limits.work)
	defer cancel()
	computer := api.NewUUID()
	made, err := c.docker.ContainerCreate(ctx, c.createOptions(s, i, computer))
	if isNameTaken(err) {
		return errOthers
	}
	if err != nil {
		return c.explain(ctx, "create the container "+c.cfg.Name, err)
	}
	for _, warning := range made.Warnings {
		c.log.Warn("docker", "warning", warning)
	}
	// The token comes last: it is what says that a container is finished.
	secrets := tarball(file{computerFile, computer}, file{path.Base(tokenFile), api.NewID()})
	_, err = c.docker.CopyToContainer(ctx, made.ID, client.CopyToContainerOptions{DestinationPath: stateDir, Content: secrets})
	if err == nil {
		return nil
	}
	if undo := c.remove(context.WithoutCancel(ctx), &found{id: made.ID}); undo != nil {
		c.log.Warn("remove a container that could not be finished", "error", undo)
	}
	return c.explain(ctx, "put the token into the container "+c.cfg.Name, err)
}

// isNameTaken reports whether a container of the name exists. Podman says so with
// another status than Docker.
func isNameTaken(err error) bool {
	return cerrdefs.IsConflict(err) || err != nil && strings.Contains(err.Error(), "name is already in use")
}

// isPodman reports whether the engine is Podman's imitation of Docker's.
func (c *call) isPodman(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	version, err := c.docker.ServerVersion(ctx, client.ServerVersionOptions{})
	return err == nil && slices.ContainsFunc(version.Components, func(part system.ComponentVersion) bool {
		return strings.HasPrefix(part.Name, "Podman")
	})
}

func (c *call) volume() string { return c.cfg.Name + "-home" }

// createOptions describes the container.
func (c *call) createOptions(s spec, i *image, computer string) client.ContainerCreateOptions {
	base := strconv.Itoa(s.portBase)
	config := &container.Config{
		Hostname: "computer",
		Image:    c.cfg.Image,
		Labels: map[string]string{
			labelComputer: computer, labelVersion: i.version, labelProtocol: i.protocol,
			labelPortBase: base, labelNetwork: s.network(), labelPublish: s.publishing(), labelNative: c.cfg.NativeViewers,
		},
		Cmd: []string{
			"--listen", s.host() + ":" + strconv.Itoa(s.apiPort()),
			// The same numbers inside and outside: what the daemon says of its links and
			// asks of a Host header is then true for both.
			"--viewer-listen", s.host() + ":" + base, "--port-base", base,
			"--network", s.network(), "--sandbox", "a container of Docker",
		},
	}
	if may := c.cfg.NativeViewers; may != "" {
		config.Cmd = append(config.Cmd, "--native-viewers", may)
	}
	if c.cfg.Debug {
		config.Cmd = append(config.Cmd, "--log", "debug")
	}
	if tz := timeZone(c.cfg.Getenv); tz != "" {
		config.Env = []string{"TZ=" + tz}
	}
	limit := int64(pidsLimit)
	host := &container.HostConfig{
		ShmSize:   sharedMemory,
		Resources: container.Resources{PidsLimit: &limit},
		Mounts:    []mount.Mount{{Type: mount.TypeVolume, Source: c.volume(), Target: homeDir}},
		LogConfig: boundedLog(),
		// Raw packets, devices and more capabilities: sudo, apt and ping do without.
		CapDrop: []string{"NET_RAW", "MKNOD", "SETPCAP"},
	}
	options := client.ContainerCreateOptions{Name: c.cfg.Name, Config: config, HostConfig: host}
	switch {
	case s.needsRelay():
		host.NetworkMode = container.NetworkMode(c.networkName())
		options.NetworkingConfig = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			c.networkName(): {Aliases: []string{computerAlias}},
		}}
	case s.offline:
		host.NetworkMode = network.NetworkNone
	case !s.unpublished:
		config.ExposedPorts, host.PortBindings = s.publish()
	}
	return options
}

// boundedLog is how much of what a container prints the engine keeps: by itself it would
// keep all. The driver is named because others refuse these options.
func boundedLog() container.LogConfig {
	return container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "16m", "max-file": "2"}}
}

// start starts the container. One that has never run and cannot have a port that it
// wants is removed, so that another choice of ports is free.
func (c *call) start(ctx context.Context, name string, f *found) error {
	c.progress("Starting the container " + name + ".")
	ctx, cancel := context.WithTimeout(ctx, c.limits.work)
	defer cancel()
	_, err := c.docker.ContainerStart(ctx, f.id, client.ContainerStartOptions{})
	if err == nil {
		return nil
	}
	// Whoever lost a race against another start, or a removal, has nothing to complain of.
	if now, look := c.inspect(ctx, name); look == nil && (now == nil || now.id != f.id || now.isRunning()) {
		return nil
	}
	port, taken := takenPort(err, f)
	if !taken {
		return c.explain(ctx, "start the container "+name, err)
	}
	refusal := portTaken(err, name, f, port, c.holder(ctx, port))
	if f.isOurs() && f.neverRan() || f.network == networkRelay {
		if undo := c.remove(ctx, f); undo != nil {
			c.log.Warn("remove a container whose ports are taken", "error", undo)
		}
	}
	return refusal
}

// remove removes the container unless it runs, which another process may have seen to.
func (c *call) remove(ctx context.Context, f *found) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.work)
	defer cancel()
	_, err := c.docker.ContainerRemove(ctx, f.id, client.ContainerRemoveOptions{})
	if err == nil || cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) {
		return nil
	}
	return c.explain(ctx, "remove the container "+c.cfg.Name, err)
}
