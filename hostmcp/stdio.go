package hostmcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one incoming message in bytes.
const maxLine = 16 << 20

// Stdio returns the transport over this process's stdin and stdout. From then on
// os.Stdout is stderr, so that nothing but the protocol can get between its lines.
func Stdio() mcp.Transport {
	stdout := os.Stdout
	os.Stdout = os.Stderr
	return lineTransport(os.Stdin, stdout)
}

// lineTransport returns a transport of one JSON message a line.
func lineTransport(r io.ReadCloser, w io.WriteCloser) mcp.Transport {
	out := &lockedWriter{WriteCloser: w}
	return &mcp.IOTransport{
		Reader:        &lineReader{Closer: r, in: bufio.NewReaderSize(r, 64<<10), out: out},
		Writer:        out,
		MaxLineLength: -1, // lineReader bounds lines without ending the session
	}
}

// lockedWriter writes whole lines of several goroutines.
type lockedWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

// lineReader passes on the lines that hold a message. The SDK ends the session at any
// other line; here it is answered as JSON-RPC 2.0 section 5.1 asks, and the session
// goes on.
type lineReader struct {
	io.Closer
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of a line that was passed on in part
}

func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.next()
		if errors.Is(err, errLineTooLong) {
			r.refuse(jsonrpc.CodeInvalidRequest, err.Error())
			continue
		}
		if err != nil && len(bytes.TrimSpace(line)) == 0 {
			return 0, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := checkMessage(line); err != nil {
			r.refuse(jsonrpc.CodeParseError, "This line is not a JSON-RPC message: "+err.Error())
			continue
		}
		r.rest = append(bytes.TrimSpace(line), '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

var errLineTooLong = errors.New("the message is longer than 16 MiB")

// next reads one line. A line that is too long is read to its end and dropped.
func (r *lineReader) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if tooLong && err == nil {
			err = errLineTooLong
		}
		return line, err
	}
}

// checkMessage reports why the SDK would not accept a line: it must be a message or
// an array of them.
func checkMessage(line []byte) error {
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil {
		_, err := jsonrpc.DecodeMessage(line)
		return err
	}
	if len(batch) == 0 {
		return errors.New("an empty batch")
	}
	for _, message := range batch {
		if _, err := jsonrpc.DecodeMessage(message); err != nil {
			return err
		}
	}
	return nil
}

func (r *lineReader) refuse(code int64, message string) {
	answer := struct {
		Version string        `json:"jsonrpc"`
		ID      any           `json:"id"`
		Error   jsonrpc.Error `json:"error"`
	}{Version: "2.0", Error: jsonrpc.Error{Code: code, Message: message}}
	line, err := json.Marshal(answer)
	if err != nil {
		return
	}
	_, _ = r.out.Write(append(line, '\n')) // a client that reads nothing has left
}
