//go:build linux

package local

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

// TestMain makes the test binary its own daemon when it is started under the
// daemon's name, and a server process that starts a computer when starterDir says
// where.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "computerd" {
		fakeDaemon()
	}
	if dir := os.Getenv(starterDir); dir != "" {
		e, err := New(testConfig(dir))
		check(err)
		_, err = e.Ensure(context.Background(), func(string) {})
		check(err)
		os.Exit(0)
	}
	leaktest.Main(m)
}

const starterDir = "TEST_STARTER_DIR"

// testConfig is the computer of a test's folder.
func testConfig(dir string) Config {
	return Config{
		Name:      "test",
		StateDir:  filepath.Join(dir, "state"),
		HomeDir:   filepath.Join(dir, "home"),
		Computerd: filepath.Join(dir, "computerd"),
	}
}

// fakeDaemon has the daemon's command line, facts, health, info and shutdown. The
// file "mode" in its home chooses a fault. Its one addition is POST /run, which
// runs a shell command and answers with its output.
func fakeDaemon() {
	flags := flag.NewFlagSet("computerd", flag.ExitOnError)
	state := flags.String("state", "", "")
	home := flags.String("home", "", "")
	tokenFile := flags.String("token-file", "", "")
	sandbox := flags.String("sandbox", "", "")
	listen := flags.String("listen", "", "")
	viewer := flags.String("viewer-listen", "", "")
	native := flags.String("native-viewers", "control", "")
	for _, name := range []string{"port-base", "program-uid", "program-gid", "server-uid", "server-gid"} {
		flags.String(name, "", "")
	}
	flags.Bool("browser-sandbox", false, "")
	flags.Parse(os.Args[1:])
	mode, _ := os.ReadFile(filepath.Join(*home, "mode"))
	facts := filepath.Join(*state, api.FactsFile)
	switch string(mode) {
	case "exit":
		os.Stderr.WriteString("fake: no reason\n")
		os.Exit(3)
	case "silent":
		os.WriteFile(facts, []byte(`{"pid": 1, "api": "127.0`), 0o600)
		<-time.After(time.Hour) // not select {}, which a program without cgo takes for a deadlock
	}
	// One start in the folder leaves one line, whoever counts them.
	starts, err := os.OpenFile(filepath.Join(*home, "starts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
	starts.WriteString("start\n")
	token, err := os.ReadFile(*tokenFile)
	check(err)
	l, err := net.Listen("tcp", *listen)
	check(err)
	id := api.NewID()

	mux := http.NewServeMux()
	mux.HandleFunc(api.RouteInfo, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(api.Info{ComputerID: id, PID: os.Getpid()})
	})
	mux.HandleFunc(api.RouteShutdown, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{}")
		w.(http.Flusher).Flush()
		os.Exit(0)
	})
	mux.HandleFunc("POST /run", func(w http.ResponseWriter, r *http.Request) {
		command, _ := io.ReadAll(r.Body)
		out, _ := exec.Command("sh", "-c", string(command)).CombinedOutput()
		w.Write(out)
	})
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+strings.TrimSpace(string(token)) {
			http.Error(w, "wrong token", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
	data, err := json.Marshal(api.Facts{PID: os.Getpid(), API: l.Addr().String(), ComputerID: id, Sandbox: *sandbox, Viewer: *viewer, NativeViewers: *native})
	check(err)
	check(os.WriteFile(facts, data, 0o600))
	check(http.Serve(l, guarded))
}

func check(err error) {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
