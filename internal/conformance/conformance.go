// Package conformance runs the official MCP conformance suite, an npm package, against
// a server. It is for tests.
package conformance

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// Check is the result of one check.
type Check struct {
	ID     string
	Status string // SUCCESS, FAILURE, WARNING (a SHOULD), SKIPPED or INFO
	Error  string `json:"errorMessage"`
}

// Suite is an installed suite and a server to judge.
type Suite struct {
	Clients string // the folder with the suite's node_modules
	URL     string // of the protocol's endpoint
	Token   string // a bearer token, which the suite cannot send by itself
}

// Run runs one scenario of a protocol revision, or all that the revision requires when
// the name is empty, and returns the checks of each.
func (s Suite) Run(t testing.TB, revision, scenario string) map[string][]Check {
	t.Helper()
	program := filepath.Join(s.Clients, "node_modules/.bin/conformance")
	xvfbtest.NeedThat(t, exists(program), "the conformance suite (scripts/install test)")
	out := t.TempDir()
	args := []string{program, "server", "--url", s.proxy(t), "--timeout", "20000", "-o", out}
	if scenario == "" {
		args = append(args, "--requirements", revision)
	} else {
		args = append(args, "--spec-version", revision, "--scenario", scenario)
	}
	output, err := exec.CommandContext(t.Context(), s.node(), args...).CombinedOutput()
	// It fails when any check does; which of them matter is for the caller to say.
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	results := read(t, out)
	if len(results) == 0 {
		t.Fatalf("the suite ran nothing:\n%s", output)
	}
	return results
}

// node returns a Node of the version that the suite needs, 22 or newer.
func (s Suite) node() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	own := filepath.Join(s.Clients, "node_modules", "node-linux-"+arch, "bin/node")
	if exists(own) {
		return own
	}
	return "node"
}

// proxy returns the address of a proxy that adds the token and changes nothing else.
func (s Suite) proxy(t testing.TB) string {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+s.Token)
		},
		FlushInterval: -1, // streams of events
		ErrorLog:      log.New(io.Discard, "", 0),
	})
	t.Cleanup(proxy.Close)
	return proxy.URL + target.Path
}

// folder is the name of a scenario's results.
var folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT`)

func read(t testing.TB, dir string) map[string][]Check {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string][]Check{}
	for _, e := range entries {
		m := folder.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name(), "checks.json"))
		var checks []Check
		if err == nil {
			err = json.Unmarshal(data, &checks)
		}
		if err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		results[m[1]] = checks
	}
	return results
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
