package docker

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	imagespec "github.com/moby/moby/api/types/image"
	"github.com/moby/moby/api/types/network"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// stub is a Docker engine on a unix socket that knows the few routes this package
// uses. A container of it that runs is an HTTP server that answers as computerd does.
type stub struct {
	t    *testing.T
	host string

	mu         sync.Mutex
	calls      []string // method and path without version, in order
	containers map[string]*box
	images     map[string]imagespec.InspectResponse
	networks   map[string]bool
	registry   map[string]imagespec.InspectResponse // what can be pulled
	fail       map[string]error                     // by "METHOD verb", such as "POST start"; a stubError has a status
	protocol   string                               // of the daemons
	dies       bool                                 // containers end at their start
	podman     bool                                 // says that it is Podman
	inside     func(port string) (net.Conn, error)  // what a port of a container leads to; nil is its daemon
	made       int
}

// box is a container.
type box struct {
	id, name string
	request  container.CreateRequest
	image    string // id
	state    container.ContainerState
	started  string
	created  time.Time
	files    map[string]*tar.Header
	content  map[string]string
	networks map[string]*network.EndpointSettings
	daemon   *httptest.Server
}

type stubError struct {
	status  int
	message string
}

func (e stubError) Error() string { return e.message }

func newStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{
		t: t, host: "unix://" + filepath.Join(t.TempDir(), "docker.sock"),
		containers: map[string]*box{}, images: map[string]imagespec.InspectResponse{}, networks: map[string]bool{},
		registry: map[string]imagespec.InspectResponse{}, fail: map[string]error{}, protocol: api.Protocol(),
	}
	l, err := net.Listen("unix", strings.TrimPrefix(s.host, "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: s}}
	server.Start()
	t.Cleanup(func() {
		server.Close()
		for _, b := range s.containers {
			b.stop()
		}
	})
	s.images["computer:1"] = imageOf("1", "1.0.0", 1)
	return s
}

// imageOf returns an image that was built on a day of January 2026.
func imageOf(id, version string, day int) imagespec.InspectResponse {
	var i imagespec.InspectResponse
	config := fmt.Sprintf(`{"Id":"sha256:%s","Created":"2026-01-%02dT00:00:00Z","Config":{"Labels":{%q:%q,%q:%q}}}`,
		id, day, labelVersion, version, labelProtocol, "1.0")
	if err := json.Unmarshal([]byte(config), &i); err != nil {
		panic(err)
	}
	return i
}

// engine returns an Engine on the stub, of a computer named c with the image computer:1.
func (s *stub) engine(changes ...func(*Config)) *Engine {
	s.t.Helper()
	cfg := Config{
		Name: "c", Image: "computer:1", Version: "dev", PortBase: 21000,
		Getenv: env(map[string]string{"DOCKER_HOST": s.host, "TZ": "Europe/Athens"}),
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, change := range changes {
		change(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	e.limits = limits{request: 5 * time.Second, work: 5 * time.Second, answer: 5 * time.Second, probe: time.Second, others: 300 * time.Millisecond}
	s.t.Cleanup(func() {
		if e.docker != nil {
			e.docker.Close()
		}
	})
	return e
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// count returns how many calls there were of a method and a path's end.
func (s *stub) count(method, end string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if strings.HasPrefix(c, method+" ") && strings.HasSuffix(c, end) {
			n++
		}
	}
	return n
}

// find returns the container of a name or id, nil when there is none.
func (s *stub) find(name string) *box {
	for _, b := range s.containers {
		if b.id == name || b.name == name {
			return b
		}
	}
	return nil
}

// set changes the state of the container of a name as a person would.
func (s *stub) set(name string, state container.ContainerState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.find(name)
	if state != container.StateRunning {
		b.stop()
	}
	b.state = state
}

func (b *box) stop() {
	if b.daemon != nil {
		b.daemon.Close()
		b.daemon = nil
	}
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Api-Version", "1.41")
	path := r.URL.Path
	if strings.HasPrefix(path, "/v1.") {
		path = path[strings.Index(path[1:], "/")+1:]
	}
	if path == "/_ping" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r.Method+" "+path)
	answer, err := s.answer(r, path)
	if err != nil {
		status := http.StatusInternalServerError
		if e, ok := errors.AsType[stubError](err); ok {
			status = e.status
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": err.Error()})
		return
	}
	switch answer := answer.(type) {
	case nil:
		w.WriteHeader(http.StatusNoContent)
	case func(http.ResponseWriter):
		answer(w)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// list is the answer to a request for the containers that run.
func (s *stub) list() (all []container.Summary) {
	for _, b := range s.containers {
		if b.state == container.StateRunning {
			summary := container.Summary{ID: b.id, Names: []string{"/" + b.name}, Labels: b.request.Labels}
			for port, bindings := range b.inspect().NetworkSettings.Ports {
				public, _ := strconv.ParseUint(bindings[0].HostPort, 10, 16)
				summary.Ports = append(summary.Ports, container.PortSummary{IP: bindings[0].HostIP, PrivatePort: port.Num(), PublicPort: uint16(public), Type: "tcp"})
			}
			all = append(all, summary)
		}
	}
	return all
}

// answer carries out one request.
func (s *stub) answer(r *http.Request, path string) (any, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	verb := parts[len(parts)-1]
	if len(parts) == 2 && r.Method == http.MethodDelete {
		verb = "remove"
	}
	if err := s.fail[r.Method+" "+verb]; err != nil {
		return nil, err
	}
	switch {
	case path == "/version" && s.podman:
		return map[string]any{"Components": []map[string]string{{"Name": "Podman Engine", "Version": "4.3.1"}, {"Name": "Conmon"}}}, nil
	case path == "/version":
		return map[string]any{"Components": []map[string]string{{"Name": "Engine", "Version": "20.10.24"}}}, nil
	case path == "/info":
		return map[string]any{
			"ServerVersion": "27.1", "OperatingSystem": "Stub", "OSType": "linux", "SecurityOptions": []string{"name=seccomp,profile=builtin"},
		}, nil
	case path == "/containers/json":
		return s.list(), nil
	case parts[0] == "images" && verb == "create":
		return s.pull(r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag"))
	case parts[0] == "images":
		name := strings.TrimSuffix(strings.TrimPrefix(path, "/images/"), "/json")
		for tag, i := range s.images {
			if tag == name || i.ID == name {
				return i, nil
			}
		}
		return nil, stubError{404, "No such image: " + name}
	case parts[0] == "networks":
		return s.network(r, parts[1], verb)
	case verb == "create":
		return s.create(r)
	case parts[0] == "exec":
		_, err := io.Copy(io.Discard, r.Body)
		return s.attach(parts[1]), err
	}
	b := s.find(parts[1])
	if b == nil {
		return nil, stubError{404, "No such container: " + parts[1]}
	}
	switch verb {
	case "json":
		return b.inspect(), nil
	case "start":
		return nil, s.start(b)
	case "remove":
		if b.state == container.StateRunning && r.URL.Query().Get("force") != "1" {
			return nil, stubError{409, "You cannot remove a running container"}
		}
		b.stop()
		delete(s.containers, b.id)
		return nil, nil
	case "stop", "kill", "restart", "pause": // S0-5: that is the user's to do
		s.t.Errorf("the server wants to %s the container %s", verb, b.name)
	case "archive":
		return b.archive(r)
	case "exec":
		var request container.ExecCreateRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			return nil, err
		}
		if b.state != container.StateRunning {
			return nil, stubError{409, "Container " + b.id + " is not running"}
		}
		_, port, _ := strings.Cut(request.Cmd[len(request.Cmd)-1], "TCP:127.0.0.1:")
		port, _, _ = strings.Cut(port, ",")
		return container.ExecCreateResponse{ID: b.id + "-" + port}, nil
	case "logs":
		return func(w http.ResponseWriter) {
			line := "computerd: cannot serve\n"
			_, _ = w.Write([]byte{2, 0, 0, 0, 0, 0, 0, byte(len(line))})
			_, _ = io.WriteString(w, line)
		}, nil
	}
	return nil, stubError{404, "page not found"}
}

func (s *stub) network(r *http.Request, name, verb string) (any, error) {
	switch {
	case verb == "create":
		var request network.CreateRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			return nil, err
		}
		if !request.Internal || request.Options["com.docker.network.bridge.inhibit_ipv4"] != "true" {
			s.t.Errorf("the network of an offline computer: %+v", request)
		}
		s.networks[request.Name] = true
		return network.CreateResponse{ID: request.Name}, nil
	case !s.networks[name]:
		return nil, stubError{404, "network " + name + " not found"}
	case verb == "connect":
		var request struct{ Container string }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			return nil, err
		}
		s.find(request.Container).networks[name] = &network.EndpointSettings{}
		return nil, nil
	}
	return network.Inspect{Network: network.Network{Name: name}}, nil
}

func (s *stub) pull(name string) (any, error) {
	i, ok := s.registry[name]
	if !ok {
		return nil, stubError{404, "pull access denied for " + name}
	}
	s.images[name] = i
	return func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, `{"status":"Downloading","id":"a","progressDetail":{"current":5000000,"total":20000000}}`+"\n")
		_, _ = io.WriteString(w, `{"status":"Downloading","id":"b","progressDetail":{"current":1000000,"total":10000000}}`+"\n")
	}, nil
}

func (s *stub) create(r *http.Request) (any, error) {
	var request container.CreateRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, err
	}
	name := r.URL.Query().Get("name")
	if s.find(name) != nil {
		return nil, stubError{409, `Conflict. The container name "/` + name + `" is already in use`}
	}
	i, err := s.answer(&http.Request{Method: http.MethodGet}, "/images/"+request.Image+"/json")
	if err != nil {
		return nil, err
	}
	s.made++
	b := &box{
		id: fmt.Sprintf("id%d", s.made), name: name, request: request, image: i.(imagespec.InspectResponse).ID,
		state: container.StateCreated, started: "0001-01-01T00:00:00Z", created: time.Now(),
		files: map[string]*tar.Header{}, content: map[string]string{}, networks: map[string]*network.EndpointSettings{},
	}
	s.containers[b.id] = b
	return container.CreateResponse{ID: b.id}, nil
}

// start makes the container's daemon serve. The relay's port leads to the daemon of
// the container whose name it extends.
func (s *stub) start(b *box) error {
	if b.state == container.StateRunning {
		return nil
	}
	s.made++
	b.started = fmt.Sprintf("2026-02-01T00:00:%02dZ", s.made%60)
	if s.dies {
		b.state = container.StateExited
		return nil
	}
	b.state = container.StateRunning
	b.daemon = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		computer := b
		if of, ok := strings.CutSuffix(b.name, "-relay"); ok {
			computer = s.find(of)
		}
		protocol := s.protocol
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		var refusal *api.Error
		switch {
		case computer == nil:
			refusal = api.Errorf(api.CodeComputerStopped, "no computer")
		case r.Header.Get("Authorization") != "Bearer "+computer.content["token"]:
			refusal = api.Errorf(api.CodePermissionDenied, "wrong token")
		case protocol != r.Header.Get(api.HeaderProtocol):
			refusal = api.Errorf(api.CodeVersionMismatch, "other protocol")
		case r.Header.Get(api.HeaderComputer) != "" && r.Header.Get(api.HeaderComputer) != computer.content["computer-id"]:
			refusal = api.Errorf(api.CodeComputerMismatch, "another computer")
		}
		if refusal != nil {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(refusal)
			return
		}
		_ = json.NewEncoder(w).Encode(api.Info{ComputerID: computer.content["computer-id"], HomeID: "home-1"})
	}))
	return nil
}

func (b *box) inspect() container.InspectResponse {
	ports := network.PortMap{}
	if b.daemon != nil {
		for port, bindings := range b.request.HostConfig.PortBindings {
			binding := bindings[0]
			if binding.HostPort == "" {
				_, binding.HostPort, _ = net.SplitHostPort(b.daemon.Listener.Addr().String())
			}
			ports[port] = []network.PortBinding{binding}
		}
	}
	return container.InspectResponse{
		ID: b.id, Name: "/" + b.name, Image: b.image, Created: b.created.Format(time.RFC3339Nano),
		State:  &container.State{Status: b.state, StartedAt: b.started},
		Config: b.request.Config, HostConfig: b.request.HostConfig,
		NetworkSettings: &container.NetworkSettings{Ports: ports, Networks: b.networks},
	}
}

// archive reads, looks at or writes files of the container.
func (b *box) archive(r *http.Request) (any, error) {
	path := r.URL.Query().Get("path")
	if r.Method == http.MethodPut {
		for files := tar.NewReader(r.Body); ; {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			data, err := io.ReadAll(files)
			if err != nil {
				return nil, err
			}
			b.files[h.Name], b.content[h.Name] = h, string(data)
		}
	}
	name := filepath.Base(path)
	if b.files[name] == nil {
		return nil, stubError{404, "Could not find the file " + path}
	}
	return func(w http.ResponseWriter) {
		w.Header().Set("X-Docker-Container-Path-Stat", "eyJuYW1lIjoidG9rZW4ifQ==") // {"name":"token"}
		if r.Method == http.MethodHead {
			return
		}
		var buf bytes.Buffer
		_, _ = io.Copy(&buf, tarball(file{name, b.content[name]}))
		_, _ = w.Write(buf.Bytes())
	}, nil
}

// attach joins the caller's connection with a port of a container, as an exec of socat
// does: what the port says comes in frames.
func (s *stub) attach(exec string) func(http.ResponseWriter) {
	id, port, _ := strings.Cut(exec, "-")
	dial := s.inside
	if dial == nil {
		b := s.find(id)
		dial = func(string) (net.Conn, error) { return net.Dial("tcp", b.daemon.Listener.Addr().String()) }
	}
	return func(w http.ResponseWriter) {
		caller, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			s.t.Error(err)
			return
		}
		_, _ = io.WriteString(caller, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		go func() {
			defer caller.Close()
			there, err := dial(port)
			if err != nil { // as the engine shows what socat prints
				_, _ = caller.Write(append([]byte{2, 0, 0, 0, 0, 0, 0, 7}, "refused"...))
				return
			}
			defer there.Close()
			go func() {
				_, _ = io.Copy(there, caller)
				_ = there.(interface{ CloseWrite() error }).CloseWrite()
			}()
			buf := make([]byte, 1000)
			for {
				n, err := there.Read(buf)
				if err != nil {
					return
				}
				_, _ = caller.Write(append([]byte{1, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)}, buf[:n]...))
			}
		}()
	}
}
