package docker

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// An address says which Docker engine to use, and why.
type address struct {
	host string // "unix:///var/run/docker.sock", "npipe:////./pipe/docker_engine", "tcp://127.0.0.1:2375"
	rule string // what chose it, as part of a sentence: "by DOCKER_HOST"
	fix  string // what to change about that rule when the engine does not answer
	tls  *tlsFiles
}

// tlsFiles is where the TLS material of an engine is. All files may be missing.
type tlsFiles struct {
	dir        string // with ca.pem, cert.pem and key.pem
	skipVerify bool   // accept whatever certificate the engine shows
}

// resolver finds the engine that the docker command would use. Neither of Docker's Go
// clients reads contexts.
type resolver struct {
	getenv func(string) string
	home   string // of the user
}

// resolve applies the docker command's rules in its order: DOCKER_HOST, DOCKER_CONTEXT,
// the current context in config.json, the platform's default. The context named
// "default" is the platform's default. Failures are of type [api.Error].
func (r resolver) resolve() (address, error) {
	if host := r.getenv("DOCKER_HOST"); host != "" {
		a := address{
			host: host, rule: "by the environment variable DOCKER_HOST", tls: r.tlsFromEnv(),
			fix: "Start the engine there, or correct or remove DOCKER_HOST in the environment of this MCP server.",
		}
		return a.checked()
	}
	name, rule := r.getenv("DOCKER_CONTEXT"), "the environment variable DOCKER_CONTEXT"
	if name == "" {
		var err error
		if name, err = r.currentContext(); err != nil {
			return address{}, err
		}
		rule = r.configFile()
	}
	if name == "" || name == "default" {
		return address{
			host: client.DefaultDockerHost, rule: "as the platform's default", tls: r.tlsFromEnv(),
			fix: "Install or start Docker, or choose another engine with `docker context use` or DOCKER_HOST.",
		}, nil
	}
	a, err := r.context(name)
	if err != nil {
		return address{}, engine.Unavailable("The Docker context %q, which %s names, cannot be used: %v.", name, rule, err).
			WithFix("Choose one that `docker context ls` lists, with `docker context use`.")
	}
	a.rule = fmt.Sprintf("by the Docker context %q, which %s names", name, rule)
	a.fix = "Start the engine of that context, or choose another one with `docker context use`."
	return a.checked()
}

func (r resolver) configDir() string {
	if dir := r.getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join(r.home, ".docker")
}

func (r resolver) configFile() string { return filepath.Join(r.configDir(), "config.json") }

// currentContext returns the context that `docker context use` chose, empty for none.
func (r resolver) currentContext() (string, error) {
	data, err := os.ReadFile(r.configFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var config struct{ CurrentContext string }
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err != nil {
		return "", engine.Unavailable("Docker's configuration cannot be read: %s: %v.", r.configFile(), err).
			WithFix("Correct the file; the docker command cannot read it either.")
	}
	return config.CurrentContext, nil
}

// context reads a context from the docker command's store, where folders are named by
// the SHA-256 of a context's name.
func (r resolver) context(name string) (address, error) {
	sum := sha256.Sum256([]byte(name))
	folder := hex.EncodeToString(sum[:])
	data, err := os.ReadFile(filepath.Join(r.configDir(), "contexts", "meta", folder, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return address{}, errors.New("there is no such context")
	}
	if err != nil {
		return address{}, err
	}
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return address{}, err
	}
	docker, ok := meta.Endpoints["docker"]
	if !ok || docker.Host == "" {
		return address{}, errors.New("it names no Docker engine")
	}
	a := address{host: docker.Host}
	dir := filepath.Join(r.configDir(), "contexts", "tls", folder, "docker")
	if _, err := os.Stat(dir); err == nil || docker.SkipTLSVerify {
		a.tls = &tlsFiles{dir: dir, skipVerify: docker.SkipTLSVerify}
	}
	return a, nil
}

// tlsFromEnv returns the TLS material of an engine that no context names.
func (r resolver) tlsFromEnv() *tlsFiles {
	dir, verify := r.getenv("DOCKER_CERT_PATH"), r.getenv("DOCKER_TLS_VERIFY") != ""
	if dir == "" && !verify {
		return nil
	}
	if dir == "" {
		dir = r.configDir()
	}
	return &tlsFiles{dir: dir, skipVerify: !verify}
}

// checked returns the address if engines can be reached by its scheme. http:// is
// another spelling of tcp://.
func (a address) checked() (address, error) {
	scheme, rest, ok := strings.Cut(a.host, "://")
	switch {
	case ok && (scheme == "unix" || scheme == "npipe" || scheme == "tcp"):
		return a, nil
	case ok && scheme == "http":
		a.host = "tcp://" + rest
		return a, nil
	case ok && scheme == "ssh":
		return a, api.Errorf(api.CodeUnsupported, "The Docker engine %s, chosen %s, is reached through SSH, which is not supported.", a.host, a.rule).
			WithFix("Use an engine on this machine: `docker context use default`, or set DOCKER_HOST to its socket.")
	}
	return a, api.Errorf(api.CodeUnsupported, "The Docker engine %q, chosen %s, has an address that is not understood.", a.host, a.rule).
		WithFix("Accepted are unix://, npipe://, tcp:// and http://.")
}

// isRemote reports whether the engine is on another machine, whose loopback ports are
// not this machine's.
func (a address) isRemote() bool {
	u, err := url.Parse(a.host)
	if err != nil || u.Scheme != "tcp" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return true
	}
	return !ip.IsLoopback() && !isOwn(ip)
}

// isOwn reports whether this machine has the address.
func isOwn(ip netip.Addr) bool {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip.AsSlice()) {
			return true
		}
	}
	return false
}

// connect returns a client of the engine. It connects when it is first used.
func (a address) connect() (*client.Client, error) {
	var options []client.Opt
	if a.tls != nil {
		config, err := a.tls.config()
		if err != nil {
			return nil, engine.Unavailable("The TLS files of the Docker engine %s, chosen %s, cannot be used: %v.", a.host, a.rule, err).WithFix("%s", a.fix)
		}
		options = append(options, client.WithHTTPClient(&http.Client{
			Transport: &http.Transport{TLSClientConfig: config}, CheckRedirect: client.CheckRedirect,
		}))
	}
	docker, err := client.New(append(options, client.WithHost(a.host))...)
	if err != nil {
		return nil, engine.Unavailable("The Docker engine %s, chosen %s, cannot be used: %v.", a.host, a.rule, err).WithFix("%s", a.fix)
	}
	return docker, nil
}

func (f *tlsFiles) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.skipVerify}
	ca, err := os.ReadFile(filepath.Join(f.dir, "ca.pem"))
	if err == nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s holds no certificate", filepath.Join(f.dir, "ca.pem"))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(f.dir, "cert.pem"), filepath.Join(f.dir, "key.pem"))
	if err == nil {
		config.Certificates = []tls.Certificate{pair}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return config, nil
}
