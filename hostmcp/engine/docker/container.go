package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Labels. A container has all of them when it was made here, and those of its image when
// it was made by hand: all but the computer's id.
const (
	labelVersion  = "computer-use.version"
	labelProtocol = "computer-use.protocol"
	labelComputer = "computer-use.computer-id"
	labelPortBase = "computer-use.port-base"
	labelNetwork  = "computer-use.network"
)

// Values of labelNetwork.
const (
	networkInternet = "internet"
	networkOffline  = "offline"
	networkRelay    = "relay" // the container between an offline computer and this machine
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

// spec is what a new computer takes from the settings, or from the one it replaces.
type spec struct {
	portBase int
	offline  bool
}

// found is what is known of the container of the computer's name.
type found struct {
	id       string
	state    container.ContainerState
	started  string // when it was last started, as the engine words it
	computer string // the computer's id, empty when the container was not made here
	portBase int
	network  string          // of labelNetwork
	imageRef string          // as it was named when the container was made
	image    image           // as the container's labels know it; created is the container's own time
	ports    network.PortMap // while it runs
	networks map[string]bool // by name
}

// spec returns what the container was made with.
func (f *found) spec() spec { return spec{portBase: f.portBase, offline: f.isOffline()} }

// isOurs reports whether the container was made here, and not by hand.
func (f *found) isOurs() bool { return f.computer != "" }

func (f *found) isOffline() bool { return f.network == networkOffline }

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
		f.network = labels[labelNetwork]
	}
	return f, nil
}

// create makes the container and puts its secrets in. It returns errOthers when another
// process is making it, or removing the one before.
func (c *call) create(ctx context.Context, s spec) error {
	i, err := c.needImage(ctx)
	if err != nil {
		return err
	}
	if s.offline { // first, because the ports that may be taken are the relay's
		if err := c.ensureRelay(ctx, s, i.id); err != nil {
			return err
		}
	}
	c.progress("Creating the container " + c.cfg.Name + ".")
	ctx, cancel := context.WithTimeout(ctx, c.limits.work)
	defer cancel()
	computer := newUUID()
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

// createOptions describes the container.
func (c *call) createOptions(s spec, i *image, computer string) client.ContainerCreateOptions {
	base := strconv.Itoa(s.portBase)
	config := &container.Config{
		Hostname: "computer",
		Image:    c.cfg.Image,
		Labels: map[string]string{
			labelComputer: computer, labelVersion: i.version, labelProtocol: i.protocol,
			labelPortBase: base, labelNetwork: s.network(),
		},
		Cmd: []string{
			"--listen", "0.0.0.0:" + strconv.Itoa(s.apiPort()),
			// The same numbers inside and outside: what the daemon says of its links and
			// asks of a Host header is then true for both.
			"--viewer-listen", "0.0.0.0:" + base, "--port-base", base,
			"--network", s.network(), "--sandbox", "a container of Docker",
		},
	}
	if may := c.cfg.NativeViewers; may != "" {
		config.Cmd = append(config.Cmd, "--native-viewers", may)
	}
	if tz := timeZone(c.cfg.Getenv); tz != "" {
		config.Env = []string{"TZ=" + tz}
	}
	limit := int64(pidsLimit)
	host := &container.HostConfig{
		ShmSize:   sharedMemory,
		Resources: container.Resources{PidsLimit: &limit},
		Mounts:    []mount.Mount{{Type: mount.TypeVolume, Source: c.volume(), Target: homeDir}},
		// Raw packets, devices and more capabilities: sudo, apt and ping do without.
		CapDrop: []string{"NET_RAW", "MKNOD", "SETPCAP"},
	}
	options := client.ContainerCreateOptions{Name: c.cfg.Name, Config: config, HostConfig: host}
	if s.offline {
		host.NetworkMode = container.NetworkMode(c.networkName())
		options.NetworkingConfig = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			c.networkName(): {Aliases: []string{computerAlias}},
		}}
	} else {
		config.ExposedPorts, host.PortBindings = s.publish()
	}
	return options
}

func (c *call) volume() string { return c.cfg.Name + "-home" }

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

// isFinished reports whether the container has its token.
func (c *call) isFinished(ctx context.Context, f *found) bool {
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	_, err := c.docker.ContainerStatPath(ctx, f.id, client.ContainerStatPathOptions{Path: tokenFile})
	return err == nil
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
	taken := explainPort(err, name, f)
	if taken == nil {
		return c.explain(ctx, "start the container "+name, err)
	}
	if f.isOurs() && f.neverRan() || f.network == networkRelay {
		if undo := c.remove(ctx, f); undo != nil {
			c.log.Warn("remove a container whose ports are taken", "error", undo)
		}
	}
	return taken
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

// token returns the computer's bearer token, which stays the same while the container
// exists.
func (c *call) token(ctx context.Context, id string) (string, error) {
	c.mu.Lock()
	token := c.tokens[id]
	c.mu.Unlock()
	if token != "" {
		return token, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	answer, err := c.docker.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: tokenFile})
	if err != nil {
		return "", c.explain(ctx, "read the token of the container "+c.cfg.Name, err)
	}
	defer answer.Content.Close()
	files := tar.NewReader(answer.Content)
	_, err = files.Next()
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(files, maxTokenBytes))
	}
	if err != nil {
		return "", c.explain(ctx, "read the token of the container "+c.cfg.Name, err)
	}
	token = strings.TrimSpace(string(data))
	c.mu.Lock()
	c.tokens[id] = token
	c.mu.Unlock()
	return token, nil
}

type file struct{ name, content string }

// tarball holds files that only root can read.
func tarball(files ...file) io.Reader {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		// Writing to memory cannot fail.
		_ = w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.content)), ModTime: time.Now()})
		_, _ = io.WriteString(w, f.content)
	}
	_ = w.Close()
	return &buf
}

// newUUID returns a random UUID (RFC 9562 version 4).
func newUUID() string {
	b, _ := hex.DecodeString(api.NewID())
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
