package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// isPublished reports whether Docker publishes any port of a container.
func isPublished(t *testing.T, name string) bool {
	t.Helper()
	return docker(t, "inspect", "--format", "{{len .HostConfig.PortBindings}}", name) != "0"
}

// told returns what start_computer and info say.
func (c *dockerComputer) told(start answer) string {
	c.t.Helper()
	out, err := c.command("info").Output()
	if err != nil {
		c.t.Errorf("info: %v", err)
	}
	return fmt.Sprint(start.fields["notes"]) + string(out)
}

// Issue 7, 6: COMPUTER_USE_PUBLISH=off, with no network at all for good measure.
func TestDockerUnpublished(t *testing.T) {
	c := newDockerComputer(t, "COMPUTER_USE_PUBLISH=off", "COMPUTER_USE_NETWORK=offline")
	a := c.agent()
	begin := time.Now()
	start := a.call("start_computer", map[string]any{"title": "unpublished"})
	t.Logf("from nothing to a session: %v", time.Since(begin))
	s := &session{agent: a, id: start.fields["session"].(string)}
	s.terminal()
	if isPublished(t, c.name) || c.id(c.name+"-relay") != "" {
		t.Error("a port is published")
	}
	if out := s.stdout("ls /sys/class/net"); strings.TrimSpace(out) != "lo" {
		t.Errorf("its network interfaces are %q", out)
	}
	c.watched(start.fields["viewer"].(string))
	if told := c.told(start); !strings.Contains(told, "as long as this server process runs") || !strings.Contains(told, "through the Docker API while") {
		t.Errorf("told of the tunnel: %s", told)
	}

	// A second server process uses the ports of the first one, and takes them over.
	b := c.agent()
	second := b.call("start_computer", map[string]any{"title": "second"})
	if notes := fmt.Sprint(second.fields["notes"]); !strings.Contains(notes, "served by another process") {
		t.Errorf("notes %s", notes)
	}
	if err := a.process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = a.client.Wait()
	address, _, _ := strings.Cut(strings.TrimPrefix(second.fields["viewer"].(string), "http://"), "/#key=")
	other := &session{agent: b, id: second.fields["session"].(string)}
	other.terminal()
	b.eventually("the second process serves the page", func() bool { return c.load(address) == nil })
	c.watched(second.fields["viewer"].(string))

	// Stopped in the middle of a batch, it says so as a published one does.
	ended := other.slowBatch()
	docker(t, "kill", c.name)
	other.endsWith(ended, "computer_stopped")
	b.start("started again").observe()
}

// island is a network namespace with a loopback interface and nothing else: another
// machine, as far as ports go. Making it needs root.
type island struct {
	path string // for nsenter
	do   chan func()
}

func newIsland(t *testing.T) *island {
	t.Helper()
	xvfbtest.Need(t, "ip", "nsenter")
	i := &island{do: make(chan func())}
	made := make(chan error)
	go func() {
		// Never unlocked, so the thread ends with this goroutine.
		runtime.LockOSThread()
		i.path = fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		made <- unix.Unshare(unix.CLONE_NEWNET)
		for f := range i.do {
			f()
		}
	}()
	t.Cleanup(func() { close(i.do) })
	if err := <-made; err != nil {
		t.Fatalf("make a network namespace: %v", err)
	}
	// Packets to 192.0.2.0/24 (RFC 5737) stay here, but no interface has such an address.
	for _, command := range []string{"link set lo up", "route add local 192.0.2.0/24 dev lo"} {
		args := append([]string{"--net=" + i.path, "ip"}, strings.Fields(command)...)
		if out, err := exec.Command("nsenter", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", command, err, out)
		}
	}
	return i
}

// in runs f on the island. Sockets that it opens stay there.
func (i *island) in(f func()) {
	done := make(chan struct{})
	i.do <- func() { defer close(done); f() }
	<-done
}

func (i *island) dial(address string) (conn net.Conn, err error) {
	i.in(func() { conn, err = net.DialTimeout("tcp", address, 10*time.Second) })
	return conn, err
}

// engine leads a port of the island to the engine's socket, and returns its address.
func (i *island) engine(t *testing.T) string {
	t.Helper()
	socket := strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if !filepath.IsAbs(socket) {
		t.Fatalf("DOCKER_HOST=%s is not a socket", os.Getenv("DOCKER_HOST"))
	}
	var l net.Listener
	var err error
	i.in(func() { l, err = net.Listen("tcp", "0.0.0.0:0") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			caller, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer caller.Close()
				engine, err := net.Dial("unix", socket)
				if err != nil {
					return
				}
				defer engine.Close()
				go func() {
					_, _ = io.Copy(engine, caller)
					_ = engine.(*net.UnixConn).CloseWrite()
				}()
				_, _ = io.Copy(caller, engine)
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "tcp://192.0.2.7:" + port
}

// Issue 7, 6: an engine on another machine. The server runs where no port of the engine's
// machine is within reach, and nor is the rest of the world.
func TestDockerRemoteEngine(t *testing.T) {
	c := newDockerComputer(t)
	away := newIsland(t)
	c.via, c.dial = []string{"nsenter", "--net=" + away.path}, away.dial
	c.env = append(c.env, "DOCKER_HOST="+away.engine(t))
	a := c.agent()
	start := a.call("start_computer", map[string]any{"title": "far away"})
	s := &session{agent: a, id: start.fields["session"].(string)}
	s.terminal()
	if isPublished(t, c.name) {
		t.Error("a port of the engine's machine is published")
	}
	c.watched(start.fields["viewer"].(string))
	if out := s.stdout("echo $HOSTNAME"); out != "computer\n" {
		t.Errorf("the shell says %q", out)
	}
	if told := c.told(start); !strings.Contains(told, "through the Docker API while") || !strings.Contains(told, "tcp://192.0.2.7") {
		t.Errorf("told of the engine: %s", told)
	}
	docker(t, "stop", c.name)
	a.start("after the stop").observe()
}
