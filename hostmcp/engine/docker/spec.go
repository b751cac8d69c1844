package docker

import (
	"net/netip"
	"strconv"

	"github.com/moby/moby/api/types/network"

	"github.com/falleng0d/computer-use-mcp/api"
)

// spec is what a new computer takes from the settings, or from the one it replaces.
type spec struct {
	portBase    int
	offline     bool
	unpublished bool // no port of the engine's machine leads to it
}

// needsRelay reports whether the ports are published by a container of their own.
func (s spec) needsRelay() bool { return s.offline && !s.unpublished }

func (s spec) publishing() string {
	if s.unpublished {
		return publishOff
	}
	return publishOn
}

// host is the address that the daemon listens on inside the container.
func (s spec) host() string {
	if s.unpublished {
		return "127.0.0.1" // where dialInside connects from
	}
	return "0.0.0.0"
}

func (s spec) network() string {
	if s.offline {
		return networkOffline
	}
	return networkInternet
}

// apiPort is the API's port inside the container, beside the 17 ports that have the
// same number there as on the host.
func (s spec) apiPort() int {
	if s.portBase <= apiPort && apiPort <= s.portBase+api.MaxScreens {
		return s.portBase + api.MaxScreens + 1
	}
	return apiPort
}

// publish returns the ports of the container that lead to it from 127.0.0.1: the API's
// from one that the engine chooses at every start, the others from the same number.
func (s spec) publish() (network.PortSet, network.PortMap) {
	set, bindings := network.PortSet{}, network.PortMap{}
	add := func(port int, hostPort string) {
		inside, _ := network.PortFrom(uint16(port), network.TCP)
		set[inside] = struct{}{}
		bindings[inside] = []network.PortBinding{{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: hostPort}}
	}
	add(s.apiPort(), "")
	for port := s.portBase; port <= s.portBase+api.MaxScreens; port++ {
		add(port, strconv.Itoa(port))
	}
	return set, bindings
}
