package hostmcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
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
		r := &lineReader{in: bufio.NewReader(bytes.NewReader(data)), out: &out, most: maxLine}
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

// A message that is too long is answered under its own id, so that its caller does not
// wait, and the session goes on.
func TestLongLine(t *testing.T) {
	const most = 64 << 10
	pad := strings.Repeat("x", most)
	next := `{"jsonrpc":"2.0","method":"a"}` + "\n"
	for _, test := range []struct{ line, id string }{
		{`{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":"` + pad + `"}}`, `7`},
		{`{"method":"a","params":{"x":"` + pad + `"},"jsonrpc":"2.0","id":"q1"}`, `"q1"`},
		{`{"jsonrpc": "2.0", "id": 8, "params": {"x":"` + pad + `"}}`, `8`},
		{`{"method":"a","params":{"x":"` + pad + `","id":7}}`, `null`},
		{`{"method":"a","params":"` + pad + `,\"id\":7}"}`, `null`},
		{pad, `null`},
		{`{"jsonrpc":"2.0","id":9,"method":"a","params":"` + pad + `"}`, `9`},
	} {
		var out bytes.Buffer
		r := &lineReader{in: bufio.NewReader(strings.NewReader(test.line + "\n" + next)), out: &out, most: most}
		passed, err := io.ReadAll(r)
		if err != nil || string(passed) != next {
			t.Fatalf("passed on %.80q, %v", passed, err)
		}
		var answer struct{ ID json.RawMessage }
		if json.Unmarshal(out.Bytes(), &answer) != nil || string(answer.ID) != test.id {
			t.Errorf("%.40q...: answered %s, want the id %s", test.line, out.Bytes(), test.id)
		}
	}
	// Its ends alone are no message, also where the input ends with it.
	var out bytes.Buffer
	r := &lineReader{in: bufio.NewReader(strings.NewReader(`{"jsonrpc":"2.0","id":9,"method":"a","params":"` + pad + `"}`)), out: &out, most: most}
	if passed, err := io.ReadAll(r); err != nil || len(passed) > 0 {
		t.Errorf("passed on %.80q, %v", passed, err)
	}
}

// S0-115: what write_file takes comes through, and a little more is refused by the tool,
// with a code, and not by the line's length.
func TestTheLargestFileFitsIntoALine(t *testing.T) {
	const longest = len(`\u003c`) * api.MaxWriteFile // as JSON
	if longest+1000 > maxLine {
		t.Errorf("a line has at most %d bytes, a file's text can take %d", maxLine, longest)
	}
	p := newPipe(t, newServer(newFakeComputer(t), nil))
	p.initialize("2025-11-25")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_computer","arguments":{"title":"x"}}}`)
	p.receive()
	// The fake computer has no route for files.
	for size, want := range map[int]string{api.MaxWriteFile: "404", api.MaxWriteFile + 1: `"code":"too_large"`} {
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write_file","arguments":{"session":%q,"path":"x","content":"%s"}}}`,
			api.NewID(), strings.Repeat("x", size))
		if got := p.receive(); !strings.Contains(got, want) {
			t.Errorf("%d bytes: %.300s, want %s", size, got, want)
		}
	}
}
