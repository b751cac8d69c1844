package supervise

import (
	"strings"
	"sync"
)

const (
	tailBytes = 4096
	tailLines = 5
)

// tail is a writer that remembers the end of what was written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte // guarded by mu; at most 2*tailBytes
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	p = p[max(0, n-tailBytes):]
	if len(t.buf)+len(p) > 2*tailBytes {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailBytes:]...)
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// String returns the last lines with text on them, joined for a one-line
// message.
func (t *tail) String() string {
	t.mu.Lock()
	text := string(t.buf[max(0, len(t.buf)-tailBytes):])
	t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.ToValidUTF8(strings.Join(lines[max(0, len(lines)-tailLines):], "; "), "?")
}
