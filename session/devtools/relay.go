package devtools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// endTime is how long the server may take to end once its input has.
const endTime = 2 * time.Second

// Relay runs an MCP server whose messages, one in a line, it passes on: those of stdin to
// the server, the answers to stdout. It returns when the server has ended: by itself, at
// the end of stdin, or because no call has been under way for the idle time, which it then
// says to its parent, the bridge, with a SIGTERM.
func Relay(idle time.Duration, server []string, stdin io.Reader, stdout io.Writer, parent int) error {
	cmd := exec.Command(server[0], server[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	w := &watch{open: map[string]bool{}, idle: idle}
	w.timer = time.AfterFunc(idle, func() { syscall.Kill(parent, syscall.SIGTERM) })
	defer w.timer.Stop()
	ended := make(chan struct{})
	go func() {
		copyLines(in, stdin, w.called)
		in.Close()
		select {
		case <-ended:
		case <-time.After(endTime):
			cmd.Process.Kill()
		}
	}()
	copyLines(stdout, out, w.answered)
	err = cmd.Wait()
	close(ended)
	return err
}

// copyLines passes lines on until one of the ends is closed, and shows each to see first.
func copyLines(to io.Writer, from io.Reader, see func(line []byte)) {
	for r := bufio.NewReader(from); ; {
		line, err := r.ReadBytes('\n')
		see(line)
		if _, werr := to.Write(line); err != nil || werr != nil {
			return
		}
	}
}

// watch runs a timer while no call is under way.
type watch struct {
	idle time.Duration

	mu    sync.Mutex
	timer *time.Timer     // guarded by mu
	open  map[string]bool // guarded by mu; ids of the calls under way
}

// message is what counts of a JSON-RPC message here.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// called sees a message to the server. Only a request is a call, and a ping is none: the
// bridge sends them by itself.
func (w *watch) called(line []byte) {
	m, ok := parse(line)
	if !ok || m.Method == "" || m.Method == "ping" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[string(m.ID)] = true
	w.timer.Stop()
}

// answered sees a message of the server.
func (w *watch) answered(line []byte) {
	m, ok := parse(line)
	if !ok || m.Method != "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.open[string(m.ID)] {
		return
	}
	delete(w.open, string(m.ID))
	if len(w.open) == 0 {
		w.timer.Reset(w.idle)
	}
}

// parse returns a message that has an id.
func parse(line []byte) (m message, ok bool) {
	if json.Unmarshal(bytes.TrimSpace(line), &m) != nil {
		return m, false
	}
	return m, len(m.ID) > 0
}
