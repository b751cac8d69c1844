package docker

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
	"github.com/falleng0d/computer-use-mcp/internal/freeports"
)

// page is a server at the end of every port of the stub's containers. It answers with
// the number of the port.
func (s *stub) page(home string) {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderHome, home)
		_, _ = io.WriteString(w, r.Host)
	})}
	go func() { _ = server.Serve(l) }()
	s.t.Cleanup(func() { server.Close() })
	s.inside = func(port string) (net.Conn, error) {
		to := l.Addr().String()
		if port == "7070" {
			s.mu.Lock()
			to = s.find("c").daemon.Listener.Addr().String()
			s.mu.Unlock()
		}
		return net.Dial("tcp", to)
	}
}

func unpublished(base int) func(*Config) {
	return func(c *Config) { c.Unpublished, c.PortBase = true, base }
}

// tunnelled is an Engine whose ports are closed at the end of the test.
func (s *stub) tunnelled(changes ...func(*Config)) *Engine {
	s.t.Helper()
	e := s.engine(changes...)
	s.t.Cleanup(e.Close)
	return e
}

func get(port int) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// Issue 7, 6: without a published port the API, the page and VNC go through the Docker
// API.
func TestTunnel(t *testing.T) {
	s := newStub(t)
	s.page("home-1")
	base := freeports.Row(t, 17)
	e := s.tunnelled(unpublished(base))
	endpoint := ensure(t, e)
	b := s.find("c")
	if len(b.request.HostConfig.PortBindings) != 0 || b.request.Labels[labelPublish] != publishOff || b.request.Cmd[1] != "127.0.0.1:7070" {
		t.Errorf("created with %+v", b.request)
	}
	if info, err := endpoint.Client().Info(t.Context()); err != nil || info.HomeID != "home-1" {
		t.Errorf("%+v, %v", info, err)
	}
	for port := base; port <= base+16; port++ {
		if got, err := get(port); err != nil || got != fmt.Sprintf("127.0.0.1:%d", port) {
			t.Errorf("port %d: %q, %v", port, got, err)
		}
	}
	if !strings.Contains(strings.Join(endpoint.Notes, " "), "as long as this server process runs") {
		t.Errorf("notes %q", endpoint.Notes)
	}
	// An engine that publishes finds it all the same, and info says how.
	status, err := s.engine(func(c *Config) { c.PortBase = base }).Status(t.Context())
	if err != nil || status.State != engine.StateRunning || !strings.Contains(detail(status, "ports"), "through the Docker API") {
		t.Errorf("%+v, %v", status, err)
	}

	s.set("c", container.StateExited)
	if _, err := endpoint.Client().Info(t.Context()); api.AsError(err).Code != api.CodeComputerStopped {
		t.Error(err)
	}
	ensure(t, e)
	if _, err := get(base); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	e.Close()
	if _, err := get(base); err == nil {
		t.Error("a closed engine serves the page")
	}
}

// A tunnel that takes long to close, as one does that waits for its connections, holds up
// nobody but whoever wants the next one.
func TestTunnelClosesUnlocked(t *testing.T) {
	s := newStub(t)
	base := freeports.Row(t, 17)
	e := s.tunnelled(unpublished(base))
	closing, release := make(chan struct{}), make(chan struct{})
	old := &tunnel{first: base - 1, cancel: func() { close(closing) }}
	old.running.Go(func() { <-release })
	e.tunnel = old
	opened := make(chan *tunnel)
	go func() { opened <- (&call{Engine: e}).tunnelFrom(base) }()
	<-closing
	locked := make(chan struct{})
	go func() {
		defer close(locked)
		e.mu.Lock()
		defer e.mu.Unlock()
	}()
	select {
	case <-locked:
	case <-time.After(10 * time.Second):
		t.Error("the engine is locked while a tunnel closes")
	}
	close(release)
	if next := <-opened; next.first != base {
		t.Errorf("a tunnel from port %d, want %d", next.first, base)
	}
	<-locked
}

// The second server process of a machine uses the first one's ports, and takes over.
func TestTunnelOfTwo(t *testing.T) {
	s := newStub(t)
	s.page("home-1")
	base := freeports.Row(t, 17)
	first, second := s.tunnelled(unpublished(base)), s.tunnelled(unpublished(base))
	ensure(t, first)
	endpoint := ensure(t, second)
	if !strings.Contains(strings.Join(endpoint.Notes, " "), "served by another process") {
		t.Errorf("notes %q", endpoint.Notes)
	}
	first.Close()
	deadline := time.Now().Add(10 * takeOverEvery)
	for {
		if _, err := get(base + 16); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the second one did not take over")
		}
		time.Sleep(pollEvery) // nothing tells of a port that opens
	}
	if endpoint := ensure(t, second); !strings.Contains(strings.Join(endpoint.Notes, " "), "as long as this server process runs") {
		t.Errorf("notes %q", endpoint.Notes)
	}
}

// S0-64: a port of another program is named, and so is the setting.
func TestTunnelPortTaken(t *testing.T) {
	s := newStub(t)
	s.page("home-2")
	base := freeports.Row(t, 17)
	for _, port := range []int{base, base + 9} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		stranger := &http.Server{Handler: http.NotFoundHandler()}
		go func() { _ = stranger.Serve(l) }()
		refused(t, s.tunnelled(unpublished(base)), api.CodePortTaken, fmt.Sprintf("Port %d ", port), "COMPUTER_USE_PORT_BASE", "docker rm c")
		stranger.Close()
	}
	// Another computer's page is a stranger too.
	ensure(t, s.tunnelled(unpublished(base)))
	other := newStub(t) // whose home is home-1
	other.page("home-1")
	refused(t, other.tunnelled(unpublished(base)), api.CodePortTaken, fmt.Sprintf("Port %d ", base))
}

// An engine on another machine gives the computer no ports there.
func TestRemoteEngine(t *testing.T) {
	s := newStub(t)
	s.page("home-1")
	e := s.tunnelled(func(c *Config) { c.PortBase = freeports.Row(t, 17) })
	if _, err := e.call(quiet); err != nil {
		t.Fatal(err)
	}
	e.address.host = "tcp://192.0.2.7:2375" // whose client leads to the stub
	endpoint := ensure(t, e)
	if endpoint.Dial == nil || s.find("c").request.Labels[labelPublish] != publishOff {
		t.Errorf("%+v", endpoint)
	}
}

// Offline and unpublished, a computer needs no network at all, and no relay. With Podman
// that is the only way.
func TestOfflineUnpublished(t *testing.T) {
	for _, podman := range []bool{false, true} {
		s := newStub(t)
		s.podman = podman
		s.page("home-1")
		ensure(t, s.tunnelled(unpublished(freeports.Row(t, 17)), func(c *Config) { c.Offline, c.Unpublished = true, !podman }))
		if b := s.find("c"); b.request.HostConfig.NetworkMode != "none" || len(s.containers) != 1 || len(s.networks) != 0 {
			t.Errorf("network %q, containers %v", b.request.HostConfig.NetworkMode, s.containers)
		}
	}
}

// A stream carries both directions whole, however the engine cuts them.
func TestStream(t *testing.T) {
	s := newStub(t)
	s.page("home-1")
	e := s.tunnelled(unpublished(freeports.Row(t, 17)))
	ensure(t, e)
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(conn, conn)
			conn.Close()
		}
	}()
	s.inside = func(port string) (net.Conn, error) {
		if port == "1" {
			return nil, io.EOF
		}
		return net.Dial("tcp", echo.Addr().String())
	}
	c, err := e.call(quiet)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.dialInside(t.Context(), "c", 5)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent := bytes.Repeat([]byte("0123456789"), 30_000)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*stream).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes of %d came back, %v", len(got), len(sent), err)
	}
	// A port that nobody listens on is an end without bytes.
	dead, err := c.dialInside(t.Context(), "c", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	if got, err := io.ReadAll(dead); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}

// S0-54, S0-187: what was chosen when the computer was made is kept, and told.
func TestKeptSettings(t *testing.T) {
	s := newStub(t)
	if endpoint := ensure(t, s.engine(func(c *Config) { c.NativeViewers = "watch" })); len(endpoint.Notes) != 0 {
		t.Errorf("notes %q", endpoint.Notes)
	}
	other := s.engine(func(c *Config) { c.NativeViewers, c.PortBase = "off", 30000 })
	notes := strings.Join(ensure(t, other).Notes, "\n")
	for _, words := range []string{"COMPUTER_USE_PORT_BASE=21000", "30000", "COMPUTER_USE_NATIVE_VIEWERS=watch", "off", "docker rm c"} {
		if !strings.Contains(notes, words) {
			t.Errorf("%q does not say %q", notes, words)
		}
	}
	status, err := other.Status(t.Context())
	if err != nil || !strings.Contains(detail(status, "settings"), "COMPUTER_USE_PORT_BASE=21000") {
		t.Errorf("%+v, %v", status, err)
	}
}
