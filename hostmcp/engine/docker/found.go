package docker

import (
	"context"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// found is what is known of the container of the computer's name.
type found struct {
	id       string
	state    container.ContainerState
	started  string // when it was last started, as the engine words it
	computer string // the computer's id, empty when the container was not made here
	portBase int
	network  string          // of labelNetwork
	publish  string          // of labelPublish
	native   string          // of labelNative
	imageRef string          // as it was named when the container was made
	image    image           // as the container's labels know it; created is the container's own time
	ports    network.PortMap // while it runs
	networks map[string]bool // by name
}

// spec returns what the container was made with.
func (f *found) spec() spec {
	return spec{portBase: f.portBase, offline: f.isOffline(), unpublished: f.isUnpublished()}
}

// isOurs reports whether the container was made here, and not by hand.
func (f *found) isOurs() bool { return f.computer != "" }

func (f *found) isOffline() bool { return f.network == networkOffline }

func (f *found) isUnpublished() bool { return f.publish == publishOff }

func (f *found) isRunning() bool { return f.state == container.StateRunning }

// isChanging reports whether the engine is at work on the container.
func (f *found) isChanging() bool {
	return f.state == container.StateRemoving || f.state == container.StateRestarting
}

// neverRan reports whether the container has not been started with success.
func (f *found) neverRan() bool {
	return f.state == container.StateCreated && (f.started == "" || strings.HasPrefix(f.started, "0001-"))
}

// inspect returns the container of a name, nil when there is none.
func (c *call) inspect(ctx context.Context, name string) (*found, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	answer, err := c.docker.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(ctx, "look at the container "+name, err)
	}
	box := answer.Container
	f := &found{id: box.ID, image: image{id: box.Image}, networks: map[string]bool{}}
	f.image.created, _ = time.Parse(time.RFC3339Nano, box.Created)
	if box.State != nil {
		f.state, f.started = box.State.Status, box.State.StartedAt
	}
	if box.NetworkSettings != nil {
		f.ports = box.NetworkSettings.Ports
		for name := range box.NetworkSettings.Networks {
			f.networks[name] = true
		}
	}
	if box.Config != nil {
		labels := box.Config.Labels
		f.computer, f.imageRef = labels[labelComputer], box.Config.Image
		f.image.version, f.image.protocol = labels[labelVersion], labels[labelProtocol]
		f.portBase, _ = strconv.Atoi(labels[labelPortBase])
		f.network, f.publish, f.native = labels[labelNetwork], labels[labelPublish], labels[labelNative]
	}
	return f, nil
}
