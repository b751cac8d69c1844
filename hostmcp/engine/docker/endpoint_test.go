package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
)

// writeContext makes a context in a configuration folder as `docker context create` does.
func writeContext(t *testing.T, config, name, host string, files map[string]string) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	folder := hex.EncodeToString(sum[:])
	write(t, filepath.Join(config, "contexts", "meta", folder, "meta.json"),
		fmt.Sprintf(`{"Name":%q,"Metadata":{},"Endpoints":{"docker":{"Host":%q,"SkipTLSVerify":false}}}`, name, host))
	for file, content := range files {
		write(t, filepath.Join(config, "contexts", "tls", folder, "docker", file), content)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// S0-153 to S0-160, C49 to C51.
func TestResolve(t *testing.T) {
	home := t.TempDir()
	moved := t.TempDir()
	write(t, filepath.Join(home, ".docker", "config.json"), `{"auths":{},"currentContext":"colima"}`)
	write(t, filepath.Join(moved, "config.json"), `{"currentContext":"default"}`)
	broken := t.TempDir()
	write(t, filepath.Join(broken, "config.json"), `{`)
	config := filepath.Join(home, ".docker")
	writeContext(t, config, "colima", "unix:///home/u/.colima/default/docker.sock", nil)
	writeContext(t, config, "orbstack", "unix:///home/u/.orbstack/run/docker.sock", nil)
	writeContext(t, config, "pipe", "npipe:////./pipe/dockerDesktopLinuxEngine", nil)
	writeContext(t, config, "far", "ssh://u@far", nil)
	writeContext(t, config, "tls", "tcp://10.1.1.1:2376", map[string]string{"ca.pem": ""})
	writeContext(t, config, "nothing", "", nil)

	for _, test := range []struct {
		env        string // VARIABLE=value separated by spaces
		host, rule string
		code       api.Code // of a refusal, whose text has host and rule in it
	}{
		{"DOCKER_HOST=unix:///a.sock DOCKER_CONTEXT=orbstack", "unix:///a.sock", "DOCKER_HOST", ""},
		{"DOCKER_HOST=tcp://127.0.0.1:2375", "tcp://127.0.0.1:2375", "DOCKER_HOST", ""},
		{"DOCKER_HOST=http://127.0.0.1:2375", "tcp://127.0.0.1:2375", "DOCKER_HOST", ""},
		{"DOCKER_HOST=npipe:////./pipe/docker_engine", "npipe:////./pipe/docker_engine", "DOCKER_HOST", ""},
		// S0-154, S0-155, S0-158: also an engine that is not Docker's own.
		{"DOCKER_CONTEXT=orbstack", "unix:///home/u/.orbstack/run/docker.sock", `"orbstack", which the environment variable DOCKER_CONTEXT`, ""},
		{"DOCKER_CONTEXT=pipe", "npipe:////./pipe/dockerDesktopLinuxEngine", "DOCKER_CONTEXT", ""},
		// S0-156, S0-157
		{"DOCKER_CONTEXT=default", client.DefaultDockerHost, "as the platform's default", ""},
		{"DOCKER_CONTEXT=tls", "tcp://10.1.1.1:2376", `"tls"`, ""},
		{"", "unix:///home/u/.colima/default/docker.sock", `"colima", which ` + filepath.Join(config, "config.json"), ""},
		{"DOCKER_CONFIG=" + moved, client.DefaultDockerHost, "as the platform's default", ""},
		{"DOCKER_CONFIG=" + t.TempDir(), client.DefaultDockerHost, "as the platform's default", ""},

		// S0-159, S0-160: refused by name, with what is accepted.
		{"DOCKER_HOST=ssh://u@far", "ssh://u@far", "DOCKER_HOST", api.CodeUnsupported},
		{"DOCKER_CONTEXT=far", "ssh://u@far", `"far"`, api.CodeUnsupported},
		{"DOCKER_HOST=fd://", "fd://", "Accepted are unix://", api.CodeUnsupported},
		{"DOCKER_HOST=/var/run/docker.sock", "/var/run/docker.sock", "Accepted are unix://", api.CodeUnsupported},
		{"DOCKER_CONTEXT=gone", `"gone"`, "there is no such context", api.CodeEngineUnavailable},
		{"DOCKER_CONTEXT=nothing", `"nothing"`, "names no Docker engine", api.CodeEngineUnavailable},
		{"DOCKER_CONFIG=" + broken, filepath.Join(broken, "config.json"), "cannot be read", api.CodeEngineUnavailable},
	} {
		values := map[string]string{}
		for _, pair := range strings.Fields(test.env) {
			name, value, _ := strings.Cut(pair, "=")
			values[name] = value
		}
		a, err := resolver{getenv: env(values), home: home}.resolve()
		if test.code == "" {
			if err != nil || a.host != test.host || !strings.Contains(a.rule, test.rule) {
				t.Errorf("%s: %+v, %v", test.env, a, err)
			}
			continue
		}
		e := api.AsError(err)
		if err == nil || e.Code != test.code || e.Fix == "" || !strings.Contains(e.Error(), test.host) || !strings.Contains(e.Error(), test.rule) {
			t.Errorf("%s: %v", test.env, err)
		}
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	host := "tcp://" + server.Listener.Addr().String()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))

	config := t.TempDir()
	writeContext(t, config, "good", host, map[string]string{"ca.pem": ca})
	writeContext(t, config, "strange", host, map[string]string{"key.pem": ""})
	writeContext(t, config, "empty", host, map[string]string{"ca.pem": ""})
	certs := t.TempDir()
	write(t, filepath.Join(certs, "ca.pem"), ca)

	ping := func(values map[string]string) error {
		values["DOCKER_CONFIG"] = config
		a, err := resolver{getenv: env(values)}.resolve()
		if err != nil {
			return err
		}
		docker, err := a.connect()
		if err != nil {
			return err
		}
		defer docker.Close()
		_, err = docker.Ping(t.Context(), client.PingOptions{})
		return err
	}
	for _, good := range []map[string]string{
		{"DOCKER_CONTEXT": "good"},
		{"DOCKER_HOST": host, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": certs},
		{"DOCKER_HOST": host, "DOCKER_CERT_PATH": t.TempDir()}, // TLS without verification
	} {
		if err := ping(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for _, bad := range []map[string]string{
		{"DOCKER_CONTEXT": "strange"},
		{"DOCKER_CONTEXT": "empty"},
		{"DOCKER_HOST": host, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": t.TempDir()},
	} {
		if err := ping(bad); err == nil {
			t.Errorf("%v: a certificate of nobody was accepted", bad)
		}
	}
}

func TestRemote(t *testing.T) {
	for host, remote := range map[string]bool{
		"unix:///var/run/docker.sock":         false,
		"npipe:////./pipe/docker_engine":      false,
		"tcp://127.0.0.1:2375":                false,
		"tcp://localhost:2375":                false,
		"tcp://[::1]:2375":                    false,
		"tcp://192.0.2.7:2376":                true,
		"tcp://docker.example:2376":           true,
		"tcp://docker.example:2376/some/path": true,
	} {
		if got := (address{host: host}).isRemote(); got != remote {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// C51: a stale DOCKER_HOST is hard to see unless the error names it.
func TestDeadEngine(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "dead.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false) // as an engine leaves it that was killed
	left.Close()
	host := "unix://" + socket
	e, err := New(Config{Name: "c", PortBase: 21000, Getenv: env(map[string]string{"DOCKER_HOST": host})})
	if err != nil {
		t.Fatal(err)
	}
	if got := refused(t, e, api.CodeEngineUnavailable, host, "DOCKER_HOST"); strings.HasSuffix(got.Message, "?.") {
		t.Errorf("%q ends twice", got.Message)
	}
	if _, err := e.Status(t.Context()); !strings.Contains(fmt.Sprint(err), "DOCKER_HOST") {
		t.Error(err)
	}
	if err := e.Ready(t.Context()); api.AsError(err).Code != api.CodeEngineUnavailable {
		t.Error(err)
	}
}

// An engine that takes a connection and says nothing must not hold an agent for ever.
func TestSilentEngine(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	host := "tcp://" + silent.Listener.Addr().String()
	e, err := New(Config{Name: "c", PortBase: 21000, Getenv: env(map[string]string{"DOCKER_HOST": host})})
	if err != nil {
		t.Fatal(err)
	}
	e.limits.request = 100 * time.Millisecond
	refused(t, e, api.CodeEngineUnavailable, host, "no answer within 100ms")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Ensure(ctx, quiet); api.AsError(err).Code != api.CodeCanceled {
		t.Error(err)
	}
	e.docker.Close()
}

// S0-36, S0-54, S0-57: a release has the image of its own version; a base leaves room for 17 ports.
func TestNew(t *testing.T) {
	for _, cfg := range []Config{
		{Name: "", PortBase: 21000},
		{Name: "-x", PortBase: 21000},
		{Name: "a b", PortBase: 21000},
		{Name: "c", PortBase: 0},
		{Name: "c", PortBase: 65520},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	if e, err := New(Config{Name: "c", PortBase: 65519, Version: "v1.2.3"}); err != nil || e.Name() != "docker" ||
		e.cfg.Image != "ghcr.io/falleng0d/computer-use-mcp:1.2.3" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestCompareReleases(t *testing.T) {
	order := []string{"0.9.0", "v0.10.0", "1.0.0-alpha.2", "1.0.0-beta.1", "1.0.0-rc.2", "1.0.0-rc.10", "v1.0.0", "1.0.1", "1.10.0", "10.0.0"}
	for i, a := range order {
		for j, b := range order {
			got := compareReleases(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
	for _, version := range []string{"dev", "1.2", "1.2.3-4-gabcdef0", "1.2.3-dirty", "x1.2.3"} {
		if isRelease(version) {
			t.Errorf("%s counts as a release", version)
		}
	}
}

// S0-35: the name of this machine's time zone, where it is found.
func TestTimeZone(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/usr/share/zoneinfo/Europe/Berlin", filepath.Join(dir, "localtime")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "timezone"), "Asia/Tokyo\n")
	none := filepath.Join(dir, "none")
	if got := zoneName(filepath.Join(dir, "localtime"), none); got != "Europe/Berlin" {
		t.Error(got)
	}
	if got := zoneName(none, filepath.Join(dir, "timezone")); got != "Asia/Tokyo" {
		t.Error(got)
	}
	if got := zoneName(none, none); got != "" {
		t.Error(got)
	}
	for east, want := range map[int]string{0: "", 3600: "<+0100>-1:00", 19800: "<+0530>-5:30", -12600: "<-0330>+3:30"} {
		if got := zoneOfOffset(east); got != want {
			t.Errorf("%d: %q, want %q", east, got, want)
		}
	}
	if got := timeZone(env(map[string]string{"TZ": ":America/Lima"})); got != "America/Lima" {
		t.Error(got)
	}
}
