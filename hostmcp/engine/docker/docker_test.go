package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

func quiet(string) {}

func ensure(t *testing.T, e *Engine) *engine.Endpoint {
	t.Helper()
	endpoint, err := e.Ensure(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

// refused expects Ensure to fail with a code and with words in its message or fix.
func refused(t *testing.T, e *Engine, code api.Code, words ...string) *api.Error {
	t.Helper()
	_, err := e.Ensure(t.Context(), quiet)
	refusal, ok := errors.AsType[*api.Error](err)
	if !ok || refusal.Code != code {
		t.Fatalf("got %v, want code %s", err, code)
	}
	if refusal.Fix == "" {
		t.Errorf("no fix: %v", refusal)
	}
	for _, w := range words {
		if !strings.Contains(refusal.Error(), w) {
			t.Errorf("%q does not say %q", refusal.Error(), w)
		}
	}
	return refusal
}

// S0-3, S0-4, S0-46: one container, and one volume for its home.
func TestCreate(t *testing.T) {
	s := newStub(t)
	var said []string
	endpoint, err := s.engine().Ensure(t.Context(), func(m string) { said = append(said, m) })
	if err != nil {
		t.Fatal(err)
	}
	b := s.find("c")
	if endpoint.Token != b.content["token"] || len(endpoint.Token) != 32 || endpoint.HomeID != "home-1" ||
		endpoint.ComputerID != b.content["computer-id"] || endpoint.Viewer != "http://127.0.0.1:21000" {
		t.Errorf("endpoint %+v, files %v", endpoint, b.content)
	}
	if want := []string{"Creating the container c.", "Starting the container c."}; !slices.Equal(said, want) {
		t.Errorf("progress %q", said)
	}
	for name, h := range b.files {
		if h.Mode != 0o600 || h.Uid != 0 {
			t.Errorf("%s has mode %o and owner %d", name, h.Mode, h.Uid)
		}
	}
	// S0-177, S0x.9, S1-16: whoever may look at a container must not learn its token.
	if request, _ := json.Marshal(b.request); strings.Contains(string(request), endpoint.Token) {
		t.Errorf("the token shows in %s", request)
	}
	host := b.request.HostConfig
	if host.ShmSize != 2<<30 || *host.PidsLimit != 4096 || host.Privileged || len(host.Binds) != 0 {
		t.Errorf("host config %+v", host)
	}
	// What it prints cannot fill the disk.
	if log := host.LogConfig; log.Type != "json-file" || log.Config["max-size"] == "" || log.Config["max-file"] == "" {
		t.Errorf("log %+v", log)
	}
	// S1-6, S1-7: nothing of the host is in it, neither folders nor the engine's socket.
	if len(host.Mounts) != 1 || host.Mounts[0].Type != "volume" || host.Mounts[0].Source != "c-home" || host.Mounts[0].Target != "/home/computer" {
		t.Errorf("mounts %+v", host.Mounts)
	}
	// S0-35: this machine's time zone.
	if !slices.Contains(b.request.Env, "TZ=Europe/Athens") || len(b.request.Env) != 1 {
		t.Errorf("environment %q", b.request.Env)
	}
	if len(s.containers) != 1 || len(s.networks) != 0 {
		t.Errorf("%d containers, networks %v", len(s.containers), s.networks)
	}
	labels := b.request.Labels
	if labels[labelComputer] != endpoint.ComputerID || labels[labelVersion] != "1.0.0" || labels[labelProtocol] != "1.0" {
		t.Errorf("labels %v", labels)
	}
}

// S0-179 to S0-183: the page's port, one for each screen, and one that the engine chooses for
// the API; all on 127.0.0.1, and nothing else.
func TestPorts(t *testing.T) {
	for _, test := range []struct{ base, api int }{{21000, 7070}, {7054, 7071}, {7070, 7087}, {7071, 7070}, {65519, 7070}} {
		_, bindings := spec{portBase: test.base}.publish()
		got := map[string]string{}
		for port, b := range bindings {
			if len(b) != 1 || b[0].HostIP.String() != "127.0.0.1" {
				t.Errorf("%v is bound to %v", port, b)
			}
			got[port.String()] = b[0].HostPort
		}
		if len(got) != 18 || got[fmt.Sprintf("%d/tcp", test.api)] != "" {
			t.Errorf("base %d: %v", test.base, got)
		}
		for port := test.base; port <= test.base+16; port++ {
			if got[fmt.Sprintf("%d/tcp", port)] != fmt.Sprint(port) {
				t.Errorf("base %d: port %d leads to %q", test.base, port, got[fmt.Sprintf("%d/tcp", port)])
			}
		}
	}
}

// S0-60: nothing is asked of Docker before the first Ensure, and little of a warm computer.
func TestFewCalls(t *testing.T) {
	s := newStub(t)
	e := s.engine()
	if len(s.calls) != 0 {
		t.Errorf("New asked for %q", s.calls)
	}
	first := ensure(t, e)
	s.calls = nil
	if again := ensure(t, e); again.BaseURL != first.BaseURL || again.Token != first.Token {
		t.Errorf("%+v, then %+v", first, again)
	}
	if want := []string{"GET /containers/c/json"}; !slices.Equal(s.calls, want) {
		t.Errorf("a warm Ensure asked for %q", s.calls)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := newStub(t)
	var wg sync.WaitGroup
	endpoints := make([]*engine.Endpoint, 10)
	for i := range endpoints {
		e := s.engine()
		wg.Go(func() {
			var err error
			if endpoints[i], err = e.Ensure(t.Context(), quiet); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for _, e := range endpoints {
		if e.BaseURL != endpoints[0].BaseURL || e.Token != endpoints[0].Token || e.ComputerID != endpoints[0].ComputerID {
			t.Errorf("%+v and %+v", e, endpoints[0])
		}
	}
	if len(s.containers) != 1 || s.count("DELETE", "") != 0 {
		t.Errorf("%d containers, calls %q", len(s.containers), s.calls)
	}
}

// Podman's words for a name that is taken, with status 500.
func TestNameTaken(t *testing.T) {
	s := newStub(t)
	s.fail["POST create"] = errors.New(`container create: creating container storage: the container name "c" is already in use by 646c22. ` +
		`You have to remove that container to be able to reuse that name: that name is already in use`)
	refused(t, s.engine(), api.CodeComputerStopped, "neither there nor free to be made")
}

// A process that died between creating the container and finishing it must not stand
// in everybody's way for ever; one that is merely slow must not be disturbed.
func TestUnfinishedContainer(t *testing.T) {
	s := newStub(t)
	ensure(t, s.engine())
	half := s.find("c")
	files := half.files
	half.stop()
	half.state, half.started, half.files = container.StateCreated, "0001-01-01T00:00:00Z", nil
	time.AfterFunc(100*time.Millisecond, func() {
		s.mu.Lock()
		half.files = files
		s.mu.Unlock()
	})
	ensure(t, s.engine())
	if len(s.containers) != 1 || s.find("c") != half {
		t.Error("a container that was being finished was removed")
	}

	half.stop()
	half.state, half.started, half.files = container.StateCreated, "0001-01-01T00:00:00Z", nil
	ensure(t, s.engine())
	if b := s.find("c"); b == half || len(s.containers) != 1 {
		t.Error("a container that nobody finishes was kept")
	}
}

func TestCopyFails(t *testing.T) {
	s := newStub(t)
	s.fail["PUT archive"] = stubError{500, "no space left on device"}
	refused(t, s.engine(), api.CodeEngineUnavailable, "no space left on device")
	if len(s.containers) != 0 {
		t.Error("the container was left behind")
	}
}

// S0-4: a stopped container is started, not made again.
func TestStopped(t *testing.T) {
	s := newStub(t)
	first := ensure(t, s.engine())
	s.set("c", container.StateExited)
	second := ensure(t, s.engine())
	if len(s.containers) != 1 || s.count("DELETE", "") != 0 || s.count("POST", "/create") != 1 {
		t.Errorf("calls %q", s.calls)
	}
	if second.ComputerID != first.ComputerID || second.Token != first.Token {
		t.Errorf("%+v, then %+v", first, second)
	}
}

func TestStates(t *testing.T) {
	for state, fix := range map[container.ContainerState]string{
		container.StatePaused:     "docker unpause c",
		container.StateDead:       "docker rm --force c",
		container.StateRemoving:   "docker ps",
		container.StateRestarting: "docker ps",
	} {
		s := newStub(t)
		e := s.engine()
		ensure(t, e)
		s.set("c", state)
		refused(t, e, api.CodeComputerStopped, string(state), fix)
		if len(s.containers) != 1 || s.count("DELETE", "") != 0 {
			t.Errorf("%s: calls %q", state, s.calls)
		}
	}
}

func TestStranger(t *testing.T) {
	s := newStub(t)
	ensure(t, s.engine())
	s.find("c").request.Labels = nil
	refused(t, s.engine(), api.CodeComputerMismatch, "COMPUTER_USE_NAME")
}

// Containers that somebody made of our image by hand are used, and never removed.
func TestMadeByHand(t *testing.T) {
	s := newStub(t)
	made := ensure(t, s.engine())
	b := s.find("c")
	delete(b.request.Labels, labelComputer)
	if joined := ensure(t, s.engine()); joined.ComputerID != made.ComputerID || joined.Token != made.Token {
		t.Errorf("%+v, want %+v", joined, made)
	}
	s.set("c", container.StateExited)
	s.images["computer:2"] = imageOf("2", "2.0.0", 9)
	newer := s.engine(func(c *Config) { c.Image = "computer:2" })
	if status, err := newer.Status(t.Context()); err != nil || !strings.Contains(detail(status, "upgrade"), "by hand") {
		t.Errorf("%+v, %v", status, err)
	}
	ensure(t, newer)
	b.stop()
	b.state, b.started = container.StateCreated, "0001-01-01T00:00:00Z"
	s.fail["POST start"] = errors.New("Bind for 127.0.0.1:21007 failed: port is already allocated")
	refused(t, newer, api.CodePortTaken, "Port 21007 ", "docker rm c")
	if s.find("c") != b {
		t.Error("the container was removed")
	}
	delete(s.fail, "POST start")
	ensure(t, newer)
	s.protocol = "9.0"
	refused(t, newer, api.CodeVersionMismatch, "make the container c again", "computer:2")
}

// S0-57, S0-58: which image, and who pulls it.
func TestImages(t *testing.T) {
	release := func(version string) func(*Config) { return func(c *Config) { c.Image, c.Version = "", version } }
	t.Run("development builds never pull", func(t *testing.T) {
		s := newStub(t)
		s.registry[DevImage] = imageOf("9", "dev", 9)
		for _, version := range []string{"dev", "v1.2.3-4-gabcdef", "v1.2.3-dirty"} {
			refused(t, s.engine(release(version)), api.CodeImageMissing, DevImage, "make image", version)
		}
		refused(t, s.engine(func(c *Config) { c.Image = "mine:1" }), api.CodeImageMissing, "COMPUTER_USE_IMAGE")
		if s.count("POST", "/images/create") != 0 {
			t.Error("pulled")
		}
	})
	t.Run("releases pull their own", func(t *testing.T) {
		s := newStub(t)
		s.registry["ghcr.io/falleng0d/computer-use-mcp:1.2.3"] = imageOf("9", "v1.2.3", 9)
		var said []string
		if _, err := s.engine(release("v1.2.3")).Ensure(t.Context(), func(m string) { said = append(said, m) }); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, "5 of 20 MB") || !strings.Contains(all, "6 of 30 MB") {
			t.Errorf("progress %q", said)
		}
		ensure(t, s.engine(release("v1.2.3")))
		if s.count("POST", "/images/create") != 1 {
			t.Error("pulled again")
		}
	})
	t.Run("nothing to pull", func(t *testing.T) {
		s := newStub(t)
		refused(t, s.engine(release("1.2.3-rc.1")), api.CodeImageMissing, "pull access denied", "docker login", "computer-use-mcp:1.2.3-rc.1")
	})
	t.Run("another image", func(t *testing.T) {
		s := newStub(t)
		s.images["debian:13"] = imageOf("9", "", 9)
		refused(t, s.engine(func(c *Config) { c.Image = "debian:13" }), api.CodeImageMissing, "not one of a computer")
	})
}

// S0-59: the command that is named where the image is missing builds that image.
func TestMakeImage(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(makefile), "\nimage: ")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	if !strings.Contains(recipe, "scripts/docker-image full "+DevImage+" ") {
		t.Errorf("make image does %q", recipe)
	}
}

// S0-6, S0-7, S0-8: only a stopped container of an older image is replaced; S0-10: info tells.
func TestUpgrade(t *testing.T) {
	for _, test := range []struct {
		name     string
		want     [2]any // version and day of the image that the binary wants
		running  bool
		replaced bool
	}{
		{"newer release", [2]any{"1.1.0", 1}, false, true},
		{"newer release of an earlier day", [2]any{"1.0.1", 1}, false, true},
		{"the same release, built again", [2]any{"1.0.0", 9}, false, true},
		{"older release of a later day", [2]any{"0.9.9", 9}, false, false},
		{"pre-release of the same", [2]any{"1.0.0-rc.2", 9}, false, false},
		{"later development build", [2]any{"dev", 9}, false, true},
		{"earlier development build", [2]any{"dev", 1}, false, false},
		{"no computer", [2]any{"", 9}, false, false},
		{"newer, but it runs", [2]any{"2.0.0", 9}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStub(t)
			s.images["computer:1"] = imageOf("1", "1.0.0", 5)
			first := ensure(t, s.engine())
			if !test.running {
				s.set("c", container.StateExited)
			}
			s.images["computer:2"] = imageOf("2", test.want[0].(string), test.want[1].(int))
			e := s.engine(func(c *Config) { c.Image, c.PortBase = "computer:2", 30000 })
			status, err := e.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pending := detail(status, "upgrade")
			if (test.replaced || test.running) != strings.HasPrefix(pending, "pending") {
				t.Errorf("info says %q", pending)
			}
			second := ensure(t, e)
			if replaced := second.ComputerID != first.ComputerID; replaced != test.replaced {
				t.Errorf("replaced: %v", replaced)
			}
			if second.Viewer != first.Viewer {
				t.Errorf("the ports moved from %s to %s", first.Viewer, second.Viewer)
			}
			if home := s.find("c").request.HostConfig.Mounts[0].Source; home != "c-home" {
				t.Errorf("the home is %s", home)
			}
			if len(s.containers) != 1 {
				t.Errorf("%d containers", len(s.containers))
			}
		})
	}
}

// A release that finds an older computer gets its own image, and keeps the old computer
// where it cannot.
func TestUpgradePulls(t *testing.T) {
	s := newStub(t)
	first := ensure(t, s.engine())
	s.set("c", container.StateExited)
	e := s.engine(func(c *Config) { c.Image, c.Version = "", "1.1.0" })
	if status, err := e.Status(t.Context()); err != nil || !strings.HasPrefix(detail(status, "upgrade"), "pending") {
		t.Errorf("%+v, %v", status, err)
	}
	if kept := ensure(t, e); kept.ComputerID != first.ComputerID {
		t.Error("the computer was replaced by nothing")
	}
	s.set("c", container.StateExited)
	s.registry["ghcr.io/falleng0d/computer-use-mcp:1.1.0"] = imageOf("9", "1.1.0", 9)
	if upgraded := ensure(t, e); upgraded.ComputerID == first.ComputerID {
		t.Error("the computer was not upgraded")
	}
}

func TestPortTaken(t *testing.T) {
	s := newStub(t)
	s.fail["POST start"] = errors.New("driver failed programming external connectivity on endpoint c: Bind for 127.0.0.1:21007 failed: port is already allocated")
	refused(t, s.engine(), api.CodePortTaken, "Port 21007 ", "COMPUTER_USE_PORT_BASE")
	if len(s.containers) != 0 {
		t.Error("the half-made container was left behind")
	}
	delete(s.fail, "POST start")
	ensure(t, s.engine(func(c *Config) { c.PortBase = 22000 }))

	// One that has worked keeps its ports, whatever the setting says now.
	s.set("c", container.StateExited)
	s.fail["POST start"] = errors.New("Error starting userland proxy: listen tcp4 127.0.0.1:22000: bind: address already in use")
	refused(t, s.engine(), api.CodePortTaken, "Port 22000 ", "docker rm c")
	if len(s.containers) != 1 {
		t.Error("a computer was removed because of a port")
	}

	// Two computers for one row of ports.
	delete(s.fail, "POST start")
	ensure(t, s.engine())
	s.fail["POST start"] = errors.New("Bind for 127.0.0.1:22016 failed: port is already allocated")
	second := s.engine(func(c *Config) { c.Name, c.PortBase = "d", 22005 })
	refused(t, second, api.CodePortTaken, "Port 22016 is taken by the container c, another computer", "COMPUTER_USE_PORT_BASE")
	// That c has some of the ports says nothing about the others.
	s.fail["POST start"] = errors.New("Bind for 127.0.0.1:22017 failed: port is already allocated")
	refused(t, second, api.CodePortTaken, "Port 22017 is taken by another program")
	s.fail["POST start"] = errors.New("address already in use")
	refused(t, second, api.CodePortTaken, "One of the ports is taken by another program")
}

func TestTakenPorts(t *testing.T) {
	f := &found{portBase: 20900}
	for _, test := range []struct{ text, port string }{
		{"driver failed programming external connectivity on endpoint x (1f): Bind for 127.0.0.1:20907 failed: port is already allocated", "Port 20907 is taken"},
		{"failed to set up container networking: driver failed: Bind for 127.0.0.1:20916 failed: port is already allocated", "Port 20916 is taken"},
		{"Error starting userland proxy: listen tcp4 127.0.0.1:20900: bind: address already in use", "Port 20900 is taken"},
		{"failed to bind host port 127.0.0.1:20901/tcp: address already in use", "Port 20901 is taken"},
		{"failed to bind host port for 127.0.0.1:20901:172.17.0.2:20901/tcp: address already in use", "Port 20901 is taken"},
		{"rootlessport listen tcp 127.0.0.1:20903: bind: address already in use", "Port 20903 is taken"},
		{"Ports are not available: exposing port TCP 127.0.0.1:20904 -> 127.0.0.1:0: listen tcp 127.0.0.1:20904: bind: address already in use", "Port 20904 is taken"},
		{"Ports are not available: exposing port TCP 127.0.0.1:20905 -> 0.0.0.0:0: listen tcp 127.0.0.1:20905: bind: Only one usage of each socket address (protocol/network address/port) is normally permitted.", "Port 20905 is taken"},
		{"Ports are not available: exposing port TCP 127.0.0.1:20906 -> 0.0.0.0:0: listen tcp 127.0.0.1:20906: bind: An attempt was made to access a socket in a way forbidden by its access permissions.", "Port 20906 is kept by Windows"},
		{"address already in use", "One of the ports is taken"},
		{"listen tcp 127.0.0.1:99: bind: address already in use", "One of the ports is taken"},
	} {
		port, ok := takenPort(errors.New(test.text), f)
		e := portTaken(errors.New(test.text), "c", f, port, "another program")
		if !ok || e.Code != api.CodePortTaken || !strings.HasPrefix(e.Message, test.port) || !strings.Contains(e.Error(), "COMPUTER_USE_PORT_BASE") {
			t.Errorf("%q: %v", test.text, e)
		}
	}
	if port, ok := takenPort(errors.New("exec: computer-start: no such file"), f); ok {
		t.Errorf("port %d", port)
	}
}

func TestContainerEnds(t *testing.T) {
	s := newStub(t)
	s.dies = true
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := s.engine().Ensure(ctx, quiet)
	if e := api.AsError(err); e.Code != api.CodeComputerStopped || !strings.Contains(e.Message, "cannot serve") || !strings.Contains(e.Fix, "docker logs c") {
		t.Error(err)
	}
}

func TestSilentDaemon(t *testing.T) {
	s := newStub(t)
	e := s.engine()
	ensure(t, e)
	s.find("c").daemon.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	e.limits.answer, e.limits.probe = 300*time.Millisecond, 100*time.Millisecond
	if e := refused(t, e, api.CodeEngineUnavailable, "did not answer within 300ms", "docker restart c"); !e.Retryable {
		t.Error("not worth trying again")
	}
}

func TestOtherProtocol(t *testing.T) {
	s := newStub(t)
	s.protocol = "9.0"
	refused(t, s.engine(), api.CodeVersionMismatch, "1.0.0", "docker stop c")
	refused(t, s.engine(func(c *Config) { c.Version = "0.9.0" }), api.CodeVersionMismatch, "update computer-use-mcp to version 1.0.0")
}

// S1-29: a computer that is not the one its container was made for changes nothing.
func TestOtherComputer(t *testing.T) {
	s := newStub(t)
	e := s.engine()
	ensure(t, e)
	s.find("c").content["computer-id"] = "another"
	refused(t, e, api.CodeComputerMismatch, "docker rm --force c")
}

// S1-24: two names are two computers, with nothing in common.
func TestTwoComputers(t *testing.T) {
	s := newStub(t)
	offline := func(c *Config) { c.Offline = true }
	one := ensure(t, s.engine(offline))
	two := ensure(t, s.engine(offline, func(c *Config) { c.Name, c.PortBase = "d", 22000 }))
	if one.ComputerID == two.ComputerID || one.Token == two.Token || one.BaseURL == two.BaseURL || one.Viewer == two.Viewer {
		t.Errorf("%+v, %+v", one, two)
	}
	c, d := s.find("c").request.HostConfig, s.find("d").request.HostConfig
	if c.Mounts[0].Source != "c-home" || d.Mounts[0].Source != "d-home" || c.NetworkMode != "c-net" || d.NetworkMode != "d-net" {
		t.Errorf("mounts %+v, %+v, networks %s, %s", c.Mounts, d.Mounts, c.NetworkMode, d.NetworkMode)
	}
}

// S1-20, S1-22: a network that leads nowhere is a choice for each computer, at its creation.
func TestOffline(t *testing.T) {
	s := newStub(t)
	offline := func(c *Config) { c.Offline = true }
	endpoint := ensure(t, s.engine(offline))
	relay, computer := s.find("c-relay"), s.find("c")
	if endpoint.BaseURL != relay.daemon.URL {
		t.Errorf("reached at %s, the relay is at %s", endpoint.BaseURL, relay.daemon.URL)
	}
	if len(computer.request.HostConfig.PortBindings) != 0 || computer.request.HostConfig.NetworkMode != "c-net" {
		t.Errorf("the computer: %+v", computer.request.HostConfig)
	}
	host := relay.request.HostConfig
	if !slices.Equal(host.CapDrop, []string{"ALL"}) || !host.ReadonlyRootfs || host.Sysctls["net.ipv4.ip_forward"] != "0" || relay.networks["c-net"] == nil || host.LogConfig.Config["max-size"] == "" {
		t.Errorf("the relay: %+v, %v", host, relay.networks)
	}

	// It stays offline, and reachable, whoever asks for it.
	s.set("c", container.StateExited)
	s.set("c-relay", container.StateExited)
	if again := ensure(t, s.engine()); again.ComputerID != endpoint.ComputerID || again.BaseURL == endpoint.BaseURL {
		t.Errorf("%+v, then %+v", endpoint, again)
	}
	// A new image replaces both.
	s.set("c", container.StateExited)
	s.images["computer:2"] = imageOf("2", "2.0.0", 2)
	if next := ensure(t, s.engine(func(c *Config) { c.Image = "computer:2" })); next.ComputerID == endpoint.ComputerID {
		t.Error("not replaced")
	}
	if s.find("c-relay").request.Image != "sha256:2" || s.find("c").request.Labels[labelNetwork] != networkOffline {
		t.Error("the relay kept its image, or the computer got a network")
	}
	// One that reaches the internet is not what was asked for.
	delete(s.containers, s.find("c").id)
	ensure(t, s.engine())
	refused(t, s.engine(offline), api.CodeComputerMismatch, "COMPUTER_USE_NETWORK", "docker rm c")
}

func TestOfflinePortTaken(t *testing.T) {
	s := newStub(t)
	offline := func(c *Config) { c.Offline = true }
	s.fail["POST start"] = errors.New("Bind for 127.0.0.1:21016 failed: port is already allocated")
	refused(t, s.engine(offline), api.CodePortTaken, "Port 21016 ", "COMPUTER_USE_PORT_BASE")
	if len(s.containers) != 0 {
		t.Error("the relay was left behind")
	}
	delete(s.fail, "POST start")
	ensure(t, s.engine(offline, func(c *Config) { c.PortBase = 22000 }))

	// A relay that does not stay up is not started for ever.
	s.set("c-relay", container.StateExited)
	s.dies = true
	refused(t, s.engine(offline), api.CodeEngineUnavailable, "c-relay", "docker rm --force c-relay")
	s.dies = false

	// A container of that name which is somebody else's stays.
	delete(s.containers, s.find("c").id)
	s.find("c-relay").request.Labels = nil
	refused(t, s.engine(offline), api.CodeComputerMismatch, "c-relay", "COMPUTER_USE_NAME")
}

// S0-40, S0-41, S0-42.
func TestStatus(t *testing.T) {
	s := newStub(t)
	e := s.engine()
	see := func() (*engine.Status, string) {
		t.Helper()
		status, err := e.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, d := range status.Details {
			fmt.Fprintf(&b, "%s: %s\n", d.Name, d.Value)
		}
		return status, b.String()
	}
	status, text := see()
	if status.State != engine.StateStopped || !strings.Contains(text, "container: c does not exist") ||
		!strings.Contains(text, s.host+", chosen by the environment variable DOCKER_HOST") {
		t.Errorf("%s\n%s", status.State, text)
	}
	ensure(t, e)
	status, text = see()
	if status.State != engine.StateRunning || status.Endpoint == nil || status.HostPID(1) != 0 || !strings.Contains(text, "upgrade: none pending") ||
		!strings.Contains(text, "computer:1, version 1.0.0") || !strings.Contains(text, "home: volume c-home") || !strings.Contains(text, "127.0.0.1:21000 to 21016") {
		t.Errorf("%s\n%s", status.State, text)
	}
	s.set("c", container.StatePaused)
	if status, text = see(); status.State != engine.StateUnresponsive || !strings.Contains(text, "docker unpause c") {
		t.Errorf("%s\n%s", status.State, text)
	}
	s.set("c", container.StateExited)
	if status, text = see(); status.State != engine.StateStopped || !strings.Contains(text, "exited") {
		t.Errorf("%s\n%s", status.State, text)
	}
	if s.count("POST", "/start") != 1 || s.count("POST", "/create") != 1 {
		t.Error("a look changed something")
	}
	var log strings.Builder
	if err := e.Log(t.Context(), &log, 200, false); err != nil || log.String() != "computerd: cannot serve\n" {
		t.Errorf("%q, %v", log.String(), err)
	}
}

func TestReady(t *testing.T) {
	s := newStub(t)
	if err := s.engine().Ready(t.Context()); err != nil {
		t.Error(err)
	}
	missing := s.engine(func(c *Config) { c.Image = "" })
	if err := missing.Ready(t.Context()); api.AsError(err).Code != api.CodeImageMissing {
		t.Error(err)
	}
	ensure(t, s.engine())
	if err := missing.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.engine(func(c *Config) { c.Version, c.Image, c.Name = "1.0.0", "", "d" }).Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func detail(s *engine.Status, name string) string {
	for _, d := range s.Details {
		if d.Name == name {
			return d.Value
		}
	}
	return ""
}
