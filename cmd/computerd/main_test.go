package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const secret = "0123456789abcdef0123456789abcdef"

// computer is a computerd that runs inside the test.
type computer struct {
	*client.Client
	dir   string
	facts api.Facts
	out   string // what it wrote to stdout until it served
	stop  func() int
}

// boot runs computerd on the folders of dir until stop or the test's end.
func boot(t testing.TB, dir string) *computer {
	t.Helper()
	for _, d := range []string{"state", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stdout, stderr := newWatched(), newWatched()
	code := make(chan int, 1)
	args := []string{
		"--state", filepath.Join(dir, "state"), "--home", filepath.Join(dir, "home"),
		"--token-file", filepath.Join(dir, "token"), "--listen", "127.0.0.1:0", "--port-base", "20900",
	}
	go func() {
		code <- run(ctx, args, func(string) string { return "" }, stdout, stderr)
		close(stdout.done)
	}()
	c := &computer{dir: dir}
	c.stop = sync.OnceValue(func() int {
		if c.Client != nil {
			c.CloseIdle()
		}
		cancel()
		return <-code
	})
	t.Cleanup(func() {
		if got := c.stop(); got != 0 {
			t.Errorf("computerd ended with %d: %s", got, stderr)
		}
	})
	c.out = stdout.await("VNC password")
	data, err := os.ReadFile(filepath.Join(dir, "state", api.FactsFile))
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if err := json.Unmarshal(data, &c.facts); err != nil {
		t.Fatal(err)
	}
	c.Client = &client.Client{BaseURL: "http://" + c.facts.API, Token: secret, Computer: c.facts.ComputerID, Home: c.facts.HomeID}
	return c
}

// watched is output that can be waited for.
type watched struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	news chan struct{}
	done chan struct{}
}

func newWatched() *watched {
	return &watched{news: make(chan struct{}, 1), done: make(chan struct{})}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default:
	}
	return w.buf.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// await returns the output once it holds text, or when there will be no more.
func (w *watched) await(text string) string {
	for !strings.Contains(w.String(), text) {
		select {
		case <-w.news:
		case <-w.done:
			return w.String()
		}
	}
	return w.String()
}

func (c *computer) start(t testing.TB) string {
	t.Helper()
	s, err := c.Start(t.Context(), api.StartRequest{Title: "Test", Owner: api.NewID(), ScreenSize: "800x600"})
	if err != nil {
		t.Fatal(err)
	}
	return s.Session
}

func (c *computer) act(t testing.TB, session, actions string) (api.ActResult, []client.Image) {
	t.Helper()
	var r api.ActRequest
	if err := json.Unmarshal([]byte(`{"actions":`+actions+`}`), &r); err != nil {
		t.Fatal(err)
	}
	result, images, err := c.Act(t.Context(), session, r, nil)
	if err != nil {
		t.Fatalf("%s: %v", actions, err)
	}
	return result, images
}

func needScreens(t testing.TB) {
	t.Helper()
	for _, program := range []string{"Xvfb", "fluxbox", "xterm"} {
		xvfbtest.Need(t, program)
	}
}

func TestComputer(t *testing.T) {
	needScreens(t)
	c := boot(t, t.TempDir())
	session := c.start(t)
	if info, err := c.Info(t.Context()); err != nil || len(info.Screens) != 0 {
		t.Fatalf("a screen without a call for it: %+v, %v", info, err)
	}
	o, images, err := c.Observe(t.Context(), session, api.ObserveRequest{})
	if err != nil || len(images) != 1 {
		t.Fatalf("%d images, %v", len(images), err)
	}
	if p, err := png.Decode(bytes.NewReader(images[0].Data)); err != nil || p.Bounds().Dx() != 800 || o.Frame.Height != 600 {
		t.Errorf("%+v, %v", o.Frame, err)
	}
	info, err := c.Info(t.Context())
	if err != nil || len(info.Screens) != 1 || info.Screens[0].Session != session {
		t.Fatalf("%+v, %v", info, err)
	}

	// Type into a terminal that focus starts. The text goes through the shell into a
	// pipe, which is how the test knows that it has arrived.
	fifo := filepath.Join(c.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	const text = `Ñandú ß を "x" $HOME`
	result, images := c.act(t, session, fmt.Sprintf(
		`[{"kind":"focus","application":"xterm"},{"kind":"type","text":"cat >%s\n"},{"kind":"type","text":%q},{"kind":"key","key":"enter"},{"kind":"key","key":"ctrl+d"}]`, fifo, text))
	if result.Stopped != nil || len(images) != 1 {
		t.Errorf("%+v with %d images", result, len(images))
	}
	got := make(chan string, 1)
	go func() {
		data, _ := os.ReadFile(fifo)
		got <- string(data)
	}()
	select {
	case data := <-got:
		if data != text+"\n" {
			t.Errorf("typed %q, arrived %q", text, data)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("nothing arrived; steps %+v", result.Steps)
		os.WriteFile(fifo, nil, 0) // lets the reader go
	}
	if result.ActiveWindow == "" || len(result.Windows) != 1 || result.Windows[0].Class != "XTerm" {
		t.Errorf("active window %q of %+v", result.ActiveWindow, result.Windows)
	}

	// The end takes the X server and everything on the screen with it.
	pid := info.Screens[0].XvfbPID
	if _, err := c.End(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the X server is still there: %v", err)
	}
	if info, err := c.Info(t.Context()); err != nil || len(info.Screens)+len(info.Sessions) != 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

// An X server that dies is replaced, and the next answer says so.
func TestServerDies(t *testing.T) {
	needScreens(t)
	c := boot(t, t.TempDir())
	session := c.start(t)
	before, _, err := c.Observe(t.Context(), session, api.ObserveRequest{})
	if err != nil {
		t.Fatal(err)
	}
	c.act(t, session, `[{"kind":"down","x":5,"y":5}]`)
	info, err := c.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(info.Screens[0].XvfbPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var after api.Observation
	for notes := ""; !strings.Contains(notes, "X server"); notes = strings.Join(after.Notes, " ") {
		after, _, err = c.Observe(t.Context(), session, api.ObserveRequest{})
		if err != nil && !api.AsError(err).Retryable {
			t.Fatal(err)
		}
	}
	if after.Frame.Epoch == before.Frame.Epoch {
		t.Errorf("frame %+v after %+v", after.Frame, before.Frame)
	}
	c.act(t, session, `[{"kind":"click","x":5,"y":5}]`) // what was held is forgotten
}

// S0-14, S0-63, S0-178: every start prints the link and the password, the same ones.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	first := boot(t, dir)
	if !strings.Contains(first.out, "http://127.0.0.1:20900/#key=") {
		t.Errorf("stdout %q", first.out)
	}
	// Two computers cannot share a state folder.
	var stderr bytes.Buffer
	args := []string{"--state", filepath.Join(dir, "state"), "--home", filepath.Join(dir, "home"), "--token-file", filepath.Join(dir, "token"), "--listen", "127.0.0.1:0"}
	if code := run(t.Context(), args, os.Getenv, &bytes.Buffer{}, &stderr); code != 1 || !strings.Contains(stderr.String(), "another computerd uses it") {
		t.Errorf("exit status %d: %s", code, &stderr)
	}
	// The shutdown route ends the first one by itself.
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := first.stop(); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "state", api.FactsFile)); !os.IsNotExist(err) {
		t.Errorf("the facts are still there: %v", err)
	}
	second := boot(t, dir)
	if second.out != first.out || second.facts.ComputerID != first.facts.ComputerID || second.facts.HomeID != first.facts.HomeID {
		t.Errorf("%q, %+v\n after %q, %+v", second.out, second.facts, first.out, first.facts)
	}
	resp, err := http.Get("http://" + second.facts.API + "/v1/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != 200 {
		t.Errorf("health: %s", resp.Status)
	}
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "--state is missing"},
		{"--state s --home h", 2, "--token-file is missing"},
		{"--state s --home h --token-file t --network wifi", 2, `--network "wifi" is neither`},
		{"--state s --home h --token-file t --port-base 65520", 2, "--port-base 65520 is outside"},
		{"--state s --home h --token-file t --program-uid 5", 2, "are not a user and a group"},
		{"--state s --home h --token-file t extra", 2, `unexpected argument "extra"`},
		{"--what", 2, "not defined: -what"},
		{"-h", 0, "folder for the daemon alone"},
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), os.Getenv, &bytes.Buffer{}, &stderr); code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: exit status %d, %s", c.args, code, &stderr)
		}
	}
}

// BenchmarkObserve measures a round trip through the API, the X server included.
func BenchmarkObserve(b *testing.B) {
	needScreens(b)
	c := boot(b, b.TempDir())
	s, err := c.Start(b.Context(), api.StartRequest{Title: "Bench", Owner: api.NewID(), IdleMS: 3_600_000})
	if err != nil {
		b.Fatal(err)
	}
	c.act(b, s.Session, `[{"kind":"focus","application":"xterm"}]`)
	for _, mode := range []struct {
		name  string
		force bool
	}{{"unchanged", false}, {"image", true}} {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := c.Observe(b.Context(), s.Session, api.ObserveRequest{Force: mode.force}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAct measures a click that waits for nothing.
func BenchmarkAct(b *testing.B) {
	needScreens(b)
	c := boot(b, b.TempDir())
	s, err := c.Start(b.Context(), api.StartRequest{Title: "Bench", Owner: api.NewID(), IdleMS: 3_600_000})
	if err != nil {
		b.Fatal(err)
	}
	x, y := 0, 400
	none, zero := false, int64(0)
	b.ReportAllocs()
	for b.Loop() {
		x = (x + 1) % 1280 // else the loop guard steps in
		r := api.ActRequest{Actions: []api.Action{{Kind: api.KindClick, X: &x, Y: &y}}, SettleMS: &zero, Observe: &none}
		if _, _, err := c.Act(b.Context(), s.Session, r, nil); err != nil {
			b.Fatal(err)
		}
	}
}
