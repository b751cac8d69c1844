package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpServer is a process that serves MCP over HTTP.
type httpServer struct {
	t       testing.TB
	url     string
	token   string
	process *os.Process
	exited  chan error
}

var servingAt = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// newHTTPServer starts a server, whose log goes to w.
func newHTTPServer(t testing.TB, c *computer, w io.Writer) *httpServer {
	t.Helper()
	tokenFile := filepath.Join(t.TempDir(), "token")
	cmd := c.command("serve", "--http", "127.0.0.1:0", "--token-file", tokenFile)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &httpServer{t: t, process: cmd.Process, exited: make(chan error, 1)}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	s.url = servingAt.FindString(line)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(w, lines)
	}()
	go func() {
		<-drained
		s.exited <- cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-drained
	})
	if err != nil || s.url == "" {
		t.Fatalf("it says %q, %v", line, err)
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	suite.secret("HTTP token", s.token)
	if strings.Contains(line, s.token) {
		t.Error("the token is in the log")
	}
	return s
}

// withToken adds a bearer token to every request.
type withToken struct {
	http.RoundTripper
	token string
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.RoundTripper.RoundTrip(r)
}

// agent connects as a client of a protocol version.
func (s *httpServer) agent(version string) *agent {
	s.t.Helper()
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: withToken{transport, s.token}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { session.Close() })
	return &agent{t: s.t, client: session}
}

// Issue 10, item 4: clients of both eras work side by side on one server; a client's
// sessions end with it, and all of them with the server, within 3 s.
func TestHTTPServer(t *testing.T) {
	c := newComputer(t)
	s := newHTTPServer(t, c, &prefixed{t: t})
	leaves, stays, modern := s.agent("2025-06-18"), s.agent("2025-11-25"), s.agent("2026-07-28")
	first := leaves.start("leaves")
	second, third := stays.start("stays"), modern.start("modern")
	for _, session := range []*session{first, second, third} {
		session.act(map[string]any{"kind": "move", "x": 40, "y": 50})
		if o := session.observe(); o.image == nil && o.mime == "" {
			t.Error("no picture")
		}
	}
	if n := len(c.info().Screens); n != 3 {
		t.Errorf("%d screens", n)
	}
	leaves.client.Close()
	modern.client.Close()
	second.eventually("the end of the session whose client has left", func() bool { return len(c.info().Screens) == 2 })
	second.observe()

	begin := time.Now()
	if err := s.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.exited:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	t.Logf("it ended in %v", time.Since(begin))
	if n := len(c.info().Screens); n != 0 {
		t.Errorf("%d screens are left", n)
	}
}
