package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// captured is a log that several processes write to.
type captured struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *captured) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	suite.log("captured", p)
	return c.text.Write(p)
}

func (c *captured) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// seek fails the test when the text holds one of them.
func (s secrets) seek(t *testing.T, where, text string) {
	t.Helper()
	for _, err := range s.in(where, text) {
		t.Error(err)
	}
}

// seekInProcesses looks at the command line and environment of every process.
func (s secrets) seekInProcesses(t *testing.T) {
	t.Helper()
	looked := 0
	for _, name := range []string{"cmdline", "environ"} {
		files, err := filepath.Glob("/proc/[0-9]*/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				continue // it has ended, or belongs to somebody else
			}
			looked++
			s.seek(t, file, string(data))
		}
	}
	if looked < 20 {
		t.Errorf("only %d could be looked at", looked)
	}
}

// Issue 10, item 8: a whole drive, with every log at its most talkative, leaves no key,
// token or typed text in a log, a command line or an environment.
func TestNoSecretsInLogs(t *testing.T) {
	c := newComputer(t, "COMPUTER_USE_LOG=debug")
	var log captured
	server := newHTTPServer(t, c, &log)
	legacy, modern := server.agent("2025-11-25"), server.agent("2026-07-28")
	start := legacy.call("start_computer", map[string]any{"title": "secrets"})
	link, err := url.Parse(start.fields["viewer"].(string))
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(c.home, "../../../../state/computer-use-mcp/e2e")
	token, err := os.ReadFile(filepath.Join(state, "token"))
	if err != nil {
		t.Fatal(err)
	}
	typed, ran := "typed-"+rand.Text(), "ran-"+rand.Text()
	key := strings.TrimPrefix(link.Fragment, "key=")
	secret := secrets{
		key: "key", strings.TrimSpace(string(token)): "API token", server.token: "HTTP token",
		typed: "typed text", ran: "text of a shell command",
	}
	for value, name := range secret {
		if len(value) < 8 {
			t.Fatalf("the %s is %q", name, value)
		}
	}

	s := &session{agent: legacy, id: start.fields["session"].(string)}
	s.terminal()
	s.act(map[string]any{"kind": "type", "text": "echo " + typed + "\n"})
	s.call("clipboard", map[string]any{"session": s.id, "action": "set", "text": typed})
	s.call("shell", map[string]any{"session": s.id, "command": "echo " + ran + " >&2; exit 3"})
	s.call("write_file", map[string]any{"session": s.id, "path": "note", "content": typed})
	s.refused("bad_request", "computer_act", map[string]any{"session": s.id, "actions": []any{map[string]any{"kind": "type", "txt": typed}}})
	s.refused("not_found", "read_file", map[string]any{"session": s.id, "path": "/no/such"})
	modern.start("another").observe()

	c.hostile(t, link.Host, server.url)
	var shown captured
	for _, args := range [][]string{{"doctor"}, {"logs", "--lines", "1000000"}} {
		cmd := c.command(args...)
		cmd.Stdout, cmd.Stderr = &shown, &log
		if err := cmd.Run(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, shown.String())
		}
	}
	// What was typed into a shell may stand in that shell's processes, and does not.
	secret.seekInProcesses(t)

	legacy.client.Close()
	modern.client.Close()
	server.process.Signal(os.Interrupt)
	<-server.exited
	if out, err := c.command("stop").CombinedOutput(); err != nil {
		t.Errorf("stop: %v\n%s", err, out)
	}
	secret.seek(t, "stderr", log.String())
	secret.seek(t, "what doctor and logs print", shown.String())
	logs := 0
	err = filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(entry.Name(), ".log") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		logs++
		secret.seek(t, path, string(data))
		return nil
	})
	if err != nil || logs == 0 {
		t.Errorf("%d log files, %v", logs, err)
	}
	// The drive has left its traces, so the logs were at work.
	for _, want := range []string{"wrong key", "level=DEBUG"} {
		if !strings.Contains(shown.String()+log.String(), want) {
			t.Errorf("no log says %q", want)
		}
	}
}

// hostile knocks at every door with the wrong key or token.
func (c *computer) hostile(t *testing.T, page, mcpURL string) {
	t.Helper()
	conn, answer, err := websocket.DefaultDialer.Dial("ws://"+page+"/live", http.Header{"Origin": {"http://" + page}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	defer conn.Close()
	if err := conn.WriteJSON(map[string]string{"type": "hello", "key": "wrongkey"}); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, 4001) {
		t.Errorf("a wrong key on the page: %v", err)
	}

	vnc, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.base+1))
	if err != nil {
		t.Fatal(err)
	}
	defer vnc.Close()
	vnc.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(vnc, "RFB 003.008\n\x02"+strings.Repeat("\x00", 16)); err != nil {
		t.Fatal(err)
	}
	if said, _ := io.ReadAll(vnc); !bytes.HasPrefix(said, []byte("RFB 003.008\n")) { // then it hangs up
		t.Errorf("a wrong VNC password: %q", said)
	}

	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, mcpURL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer wrong")
	answer, err = http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong token: %s", answer.Status)
	}
}
