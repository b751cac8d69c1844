package hostmcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"testing"
)

// FuzzLines: whatever arrives, what is passed on is messages, and what is written is
// JSON.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", "{\n", "hello\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\r\n",
		`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]` + "\n[1]\n",
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		r := &lineReader{in: bufio.NewReader(bytes.NewReader(data)), out: &out}
		passed, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(passed) {
			if err := checkMessage(line); err != nil {
				t.Errorf("passed on %q: %v", line, err)
			}
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("wrote %q", line)
			}
		}
	})
}
