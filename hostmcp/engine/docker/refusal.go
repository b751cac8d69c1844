package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// explain makes an [api.Error] of an engine's error. act says what was tried.
func (c *call) explain(ctx context.Context, act string, err error) *api.Error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return api.Errorf(api.CodeCanceled, "The call ended before the Docker engine could %s.", act)
	case client.IsErrConnectionFailed(err), errors.Is(err, context.DeadlineExceeded):
		return c.noAnswer(err)
	}
	cause := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	return engine.Unavailable("The Docker engine could not %s: %s.", act, strings.TrimSuffix(cause, ".")).
		WithFix("This is the answer of the engine %s, chosen %s. Check it with `docker info`.", c.address.host, c.address.rule)
}

// noAnswer is the error for an engine that cannot be reached. It names the engine and
// the rule that chose it: a forgotten DOCKER_HOST is otherwise hard to see.
func (c *call) noAnswer(cause error) *api.Error {
	why := cause.Error()
	if dial := (*net.OpError)(nil); errors.As(cause, &dial) {
		why = dial.Err.Error() // without the address, which is said already, twice
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		why = "no answer within " + c.limits.request.String()
	}
	fix := c.address.fix
	if strings.Contains(why, "permission denied") {
		fix = "Let this user use Docker (on Linux: add it to the group docker and log in again), or choose another engine with `docker context use`."
	}
	if runtime.GOOS == "linux" {
		fix += " COMPUTER_USE_ENGINE=local runs the computer without Docker."
	}
	return engine.Unavailable("Docker does not answer at %s, chosen %s: %s.", c.address.host, c.address.rule, strings.TrimRight(why, ".?")).
		WithFix("%s", fix).WithRetry()
}

// check refuses a container that cannot be used as it is.
func (c *call) check(f *found) error {
	name := c.cfg.Name
	if f.image.version == "" || f.portBase == 0 {
		return api.Errorf(api.CodeComputerMismatch, "The container %s is not a computer of this product: its image has no label %s.", name, labelVersion).
			WithFix("Set COMPUTER_USE_NAME to another name, or remove that container.")
	}
	if c.cfg.Offline && !f.isOffline() {
		return api.Errorf(api.CodeComputerMismatch, "COMPUTER_USE_NETWORK=offline is asked for, but the computer %s was made with the internet.", name).
			WithFix("Ask the user to run `docker stop %s` and `docker rm %s`, then call start_computer again: it makes one without. Files in home stay.", name, name)
	}
	stuck := func(format string, args ...any) *api.Error {
		return api.Errorf(api.CodeComputerStopped, "The container %s is %s.", name, f.state).WithFix(format, args...)
	}
	switch f.state {
	case container.StatePaused:
		return stuck("Ask the user to run `docker unpause %s`, then call start_computer again.", name)
	case container.StateDead:
		return stuck("Ask the user to run `docker rm --force %s`, then call start_computer again. Files in home stay.", name)
	}
	return nil
}

// portWords is how engines say that a port of the host cannot be had: the engine
// itself, its proxy, Docker Desktop, Podman, and Windows for a port that is used, or
// that it keeps for itself though nobody listens.
var portWords = []string{
	"port is already allocated",
	"address already in use",
	"Ports are not available",
	"Only one usage of each socket address",
	"forbidden by its access permissions",
}

var portForm = regexp.MustCompile(`127\.0\.0\.1:(\d+)`)

// takenPort returns which of f's ports cannot be had by the words of err, 0 when they do
// not tell. ok is false when err is about something else.
func takenPort(err error, f *found) (port int, ok bool) {
	text := err.Error()
	if !slices.ContainsFunc(portWords, func(words string) bool { return strings.Contains(text, words) }) {
		return 0, false
	}
	for _, match := range portForm.FindAllStringSubmatch(text, -1) {
		if n, _ := strconv.Atoi(match[1]); f.portBase <= n && n <= f.portBase+api.MaxScreens {
			return n, true
		}
	}
	return 0, true
}

// holder says who has a port of 127.0.0.1: a container if the engine lists one with it.
func (c *call) holder(ctx context.Context, port int) string {
	list, err := c.docker.ContainerList(ctx, client.ContainerListOptions{})
	if err != nil {
		return "another program" // this only adds to another error
	}
	for _, other := range list.Items {
		has := slices.ContainsFunc(other.Ports, func(p container.PortSummary) bool {
			return int(p.PublicPort) == port && (p.IP.IsLoopback() || p.IP.IsUnspecified())
		})
		if !has || port == 0 || len(other.Names) == 0 {
			continue
		}
		name := "the container " + strings.TrimPrefix(other.Names[0], "/")
		if other.Labels[labelPortBase] != "" {
			name += ", another computer"
		}
		return name
	}
	return "another program"
}

// portTaken returns the refusal for a port, 0 for one of f's, that holder has.
func portTaken(err error, name string, f *found, port int, holder string) *api.Error {
	which := "One of the ports"
	if port != 0 {
		which = fmt.Sprintf("Port %d", port)
	}
	why := "is taken by " + holder
	if strings.Contains(err.Error(), "forbidden by its access permissions") {
		why = "is kept by Windows for itself (`netsh interface ipv4 show excludedportrange tcp` lists such ranges)"
	}
	e := api.Errorf(api.CodePortTaken, "%s %s. The container %s needs ports %d to %d of 127.0.0.1.",
		which, why, name, f.portBase, f.portBase+api.MaxScreens)
	switch {
	case f.network == networkRelay:
		return e.WithFix("End the program that has the port, or set COMPUTER_USE_PORT_BASE to the first of 17 free ports. "+
			"A computer that exists takes others only after `docker rm %s`; files in home stay.", strings.TrimSuffix(name, relaySuffix))
	case f.isOurs() && f.neverRan():
		return e.WithFix("Set COMPUTER_USE_PORT_BASE to the first of 17 free ports, or end the program that has the port.")
	}
	return e.WithFix("End the program that has the port. Or the user runs `docker rm %s`, after which COMPUTER_USE_PORT_BASE chooses other ports; files in home stay.", name)
}
