package devtools

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

// TestMain is also the two processes of a relay's life: the bridge that starts it, and the
// server.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == Command:
		if err := Run(os.Args[2:], os.Getenv, os.Stdin, os.Stdout, os.Getppid()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == "bridge":
		relay := exec.Command(os.Args[0], os.Args[2:]...)
		relay.Stdin, relay.Stdout, relay.Stderr = os.Stdin, os.Stdout, os.Stderr
		relay.Run()
		time.Sleep(time.Hour) // it is told to end long before
	case len(os.Args) > 1 && os.Args[1] == "server":
		serve(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	leaktest.Main(m)
}

// serve answers every request but one for "slow", which "finish" answers.
func serve(in io.Reader, out io.Writer) {
	var slow json.RawMessage
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 2<<20)
	for lines.Scan() {
		var m message
		json.Unmarshal(lines.Bytes(), &m)
		switch {
		case m.Method == "exit":
			return
		case m.Method == "slow":
			slow = m.ID
			continue
		case m.Method == "finish":
			fmt.Fprintf(out, `{"id":%s,"result":"slow"}`+"\n", slow)
		}
		if len(m.ID) > 0 {
			fmt.Fprintf(out, `{"id":%s,"result":{}}`+"\n", m.ID)
		}
	}
}

// bridge is a running bridge with its relay and server.
type bridge struct {
	*exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	ended chan error
}

func start(t *testing.T, idle string) *bridge {
	t.Helper()
	b := &bridge{Cmd: exec.Command(os.Args[0], "bridge", Command, relay, idle, os.Args[0], "server"), ended: make(chan error, 1)}
	var err error
	if b.in, err = b.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b.Stdout, b.Stderr = w, os.Stderr
	b.out = bufio.NewScanner(out)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() { b.ended <- b.Wait() }()
	t.Cleanup(func() {
		b.Process.Kill()
		b.in.Close()
		for b.out.Scan() { // until the relay and the server have let go of it
		}
		out.Close()
		<-b.ended
	})
	return b
}

// call sends a message and returns the next one that comes back.
func (b *bridge) call(t *testing.T, message string) string {
	t.Helper()
	b.send(t, message)
	if !b.out.Scan() {
		t.Fatalf("no answer to %.100s", message)
	}
	return b.out.Text()
}

func (b *bridge) send(t *testing.T, message string) {
	t.Helper()
	if _, err := io.WriteString(b.in, message+"\n"); err != nil {
		t.Fatal(err)
	}
}

// S0-221: without a call the relay ends the bridge, however often that asks whether the
// server is alive.
func TestRelayEndsIdleBridge(t *testing.T) {
	b := start(t, "400ms")
	if got := b.call(t, `{"id":1,"method":"tools/call","params":"`+strings.Repeat("x", 1<<20)+`"}`); got != `{"id":1,"result":{}}` {
		t.Errorf("got %s", got)
	}
	pings := time.NewTicker(20 * time.Millisecond)
	defer pings.Stop()
	for id := 2; ; id++ {
		select {
		case err := <-b.ended:
			b.ended <- err
			if err == nil || !strings.Contains(err.Error(), "terminated") {
				t.Errorf("the bridge ended by %v", err)
			}
			return
		case <-pings.C:
			fmt.Fprintf(b.in, `{"id":%d,"method":"ping"}`+"\n", id) // it may have ended
		case <-time.After(20 * time.Second):
			t.Fatal("the bridge did not end within 20 s")
		}
	}
}

// A call that takes longer than the idle time is not cut off.
func TestRelayWaitsForCalls(t *testing.T) {
	b := start(t, "200ms")
	b.send(t, `{"id":1,"method":"slow"}`)
	select {
	case err := <-b.ended:
		b.ended <- err
		t.Fatalf("the bridge ended during a call: %v", err)
	case <-time.After(time.Second):
	}
	if got := b.call(t, `{"id":2,"method":"finish"}`); got != `{"id":1,"result":"slow"}` {
		t.Errorf("got %s", got)
	}
	select {
	case err := <-b.ended:
		b.ended <- err
	case <-time.After(20 * time.Second):
		t.Error("the bridge did not end after the call")
	}
}

// The server's end is the relay's, and a server that does not start is told of.
func TestRelayEnds(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
		want string
	}{
		{[]string{"1m", os.Args[0], "server"}, `{"method":"exit"}` + "\n", ""},
		{[]string{"1m", os.Args[0], "server"}, "", ""},
		{[]string{"1m", "sh", "-c", "cat >/dev/null; exit 3"}, "", "exit status 3"},
		{[]string{"1m", "/no/such/program"}, "", "start the server"},
		{[]string{"soon", "cat"}, "", "invalid duration"},
		{[]string{"1m"}, "", "unknown arguments"},
	} {
		err := Run(append([]string{relay}, c.args...), os.Getenv, strings.NewReader(c.in), io.Discard, os.Getpid())
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) && err != nil {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}

// S0-219, S0-224: what is started, in the versions of the image.
func TestConnect(t *testing.T) {
	s := Session{Screen: 3, Address: "http://127.0.0.1:9224", Idle: 10 * time.Minute, Home: "/home/computer", Program: "/opt/it's/computerd"}
	script, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"@cdt-3", `'/opt/it'\''s/computerd' devtools connect`, `"devtools","relay","10m0s","chrome-devtools-mcp"`, `"--browserUrl","http://127.0.0.1:9224"`, "--no-usage-statistics", "--no-performance-crux", "NO_UPDATE_CHECKS"} {
		if !strings.Contains(script, want) {
			t.Errorf("%s lacks %s", script, want)
		}
	}
	lock, err := os.ReadFile("../../image/tools/package.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{BridgePackage, ServerPackage} {
		at := strings.LastIndex(pkg, "@")
		if want := fmt.Sprintf("%q: %q", pkg[:at], pkg[at+1:]); !strings.Contains(string(lock), want) {
			t.Errorf("the image does not have %s", want)
		}
	}
}
