package docker

import (
	"context"
	"errors"
	"strconv"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// An offline computer is alone on a network of its own that leads nowhere: it is
// internal, and without an address of the host on it, so that not even the host's own
// services are reached. Engines publish no ports of a container on such a network. So a
// second container, the relay, is on that network and on an ordinary one. It forwards
// the published ports to the computer, and nothing from the computer to anywhere.
//
// The relay is the computer's image with another command. It holds no state, so it may
// be removed and made again whenever the computer does not run.

// computerAlias is the computer's name on its network.
const computerAlias = "computer"

const relaySuffix = "-relay"

const (
	relayCommand = "/usr/local/sbin/computer-relay" // takes a host and ports
	relayMemory  = 256 << 20                        // bytes
	relayPids    = 1024                             // it has a process for each connection
	noOne        = "65534:65534"                    // user and group of the relay
)

func (c *call) relayName() string   { return c.cfg.Name + relaySuffix }
func (c *call) networkName() string { return c.cfg.Name + "-net" }

// ensureRelay sees to it that the relay runs, with the ports of s and the image.
// Several processes may do this at once.
func (c *call) ensureRelay(ctx context.Context, s spec, image string) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.work)
	defer cancel()
	started := "" // id of the container that this call has started
	for {
		relay, err := c.inspect(ctx, c.relayName())
		switch {
		case err != nil:
			return err
		case relay == nil:
			err = c.createRelay(ctx, s, image)
		case relay.network != networkRelay:
			err = api.Errorf(api.CodeComputerMismatch, "The container %s is not the relay of an offline computer: it has no label %s=%s.",
				c.relayName(), labelNetwork, networkRelay).
				WithFix("Set COMPUTER_USE_NAME to another name, or remove that container.")
		case relay.portBase != s.portBase:
			err = c.removeRelay(ctx)
		case relay.isRunning():
			return nil
		case relay.id == started:
			return c.stuckRelay()
		case !relay.networks[c.networkName()]:
			err = c.connectRelay(ctx, relay)
		case relay.state == container.StateCreated || relay.state == container.StateExited:
			started = relay.id
			err = c.start(ctx, c.relayName(), relay)
		default:
			err = api.Errorf(api.CodeComputerStopped, "The container %s, through which the offline computer is reached, is %s.", c.relayName(), relay.state).
				WithFix("Ask the user to run `docker rm --force %s`, then call start_computer again.", c.relayName())
		}
		if errors.Is(err, errOthers) {
			if engine.Sleep(ctx, 5*pollEvery) != nil {
				return c.stuckRelay()
			}
		} else if err != nil {
			return err
		}
	}
}

// stuckRelay is the error for a relay that does not come up.
func (c *call) stuckRelay() error {
	return engine.Unavailable("The container %s, through which the offline computer is reached, was not ready within %v.", c.relayName(), c.limits.work).
		WithFix("Ask the user to run `docker rm --force %s`, then call start_computer again.", c.relayName())
}

// createNetwork makes the network of an offline computer, if it is missing.
func (c *call) createNetwork(ctx context.Context) error {
	_, err := c.docker.NetworkInspect(ctx, c.networkName(), client.NetworkInspectOptions{})
	if err == nil {
		return nil
	}
	if cerrdefs.IsNotFound(err) {
		_, err = c.docker.NetworkCreate(ctx, c.networkName(), client.NetworkCreateOptions{
			Driver: "bridge", Internal: true,
			// Engine 28 calls the two together the gateway mode "isolated".
			Options: map[string]string{"com.docker.network.bridge.inhibit_ipv4": "true"},
			Labels:  map[string]string{labelNetwork: networkOffline},
		})
	}
	if err == nil || cerrdefs.IsConflict(err) {
		return nil
	}
	return c.explain(ctx, "create the network "+c.networkName(), err)
}

func (c *call) createRelay(ctx context.Context, s spec, image string) error {
	if err := c.createNetwork(ctx); err != nil {
		return err
	}
	config := &container.Config{
		Image:      image,
		User:       noOne,
		Entrypoint: []string{relayCommand},
		Cmd:        []string{computerAlias, strconv.Itoa(s.apiPort())},
		Labels:     map[string]string{labelPortBase: strconv.Itoa(s.portBase), labelNetwork: networkRelay},
	}
	for port := s.portBase; port <= s.portBase+api.MaxScreens; port++ {
		config.Cmd = append(config.Cmd, strconv.Itoa(port))
	}
	limit := int64(relayPids)
	host := &container.HostConfig{
		Resources:      container.Resources{PidsLimit: &limit, Memory: relayMemory},
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: true,
		LogConfig:      boundedLog(),
		// It stands on two networks; the kernel must not become a router between them.
		Sysctls: map[string]string{"net.ipv4.ip_forward": "0"},
	}
	config.ExposedPorts, host.PortBindings = s.publish()
	_, err := c.docker.ContainerCreate(ctx, client.ContainerCreateOptions{Name: c.relayName(), Config: config, HostConfig: host})
	if isNameTaken(err) {
		return errOthers
	}
	if err == nil {
		return nil
	}
	return c.explain(ctx, "create the container "+c.relayName(), err)
}

// connectRelay puts the relay on the computer's network. Old engines take one network
// when a container is created.
func (c *call) connectRelay(ctx context.Context, relay *found) error {
	_, err := c.docker.NetworkConnect(ctx, c.networkName(), client.NetworkConnectOptions{Container: relay.id})
	if cerrdefs.IsConflict(err) || cerrdefs.IsPermissionDenied(err) { // it is connected already
		return errOthers
	}
	if err == nil {
		return nil
	}
	return c.explain(ctx, "connect the container "+c.relayName(), err)
}

// removeRelay removes the relay even while it runs: it has no state to lose.
func (c *call) removeRelay(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.work)
	defer cancel()
	relay, err := c.inspect(ctx, c.relayName())
	if err != nil || relay == nil || relay.network != networkRelay {
		return err
	}
	_, err = c.docker.ContainerRemove(ctx, relay.id, client.ContainerRemoveOptions{Force: true})
	if cerrdefs.IsConflict(err) {
		return errOthers
	}
	if err == nil || cerrdefs.IsNotFound(err) {
		return nil
	}
	return c.explain(ctx, "remove the container "+c.relayName(), err)
}
