package hostmcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
)

// maxLine bounds one incoming message in bytes: a file of the most that write_file takes
// fits in, however it is written as JSON, so that a larger one gets that tool's answer.
const maxLine = api.MaxFileBody

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
		Reader:        &lineReader{Closer: r, in: bufio.NewReaderSize(r, 64<<10), out: out, most: maxLine},
		Writer:        out,
		MaxLineLength: -1, // lineReader bounds lines without ending the session
	}
}

// lockedWriter writes whole lines of several goroutines.
type lockedWriter struct {
	io.WriteCloser
	turn sync.Mutex
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	return w.WriteCloser.Write(p)
}

// lineReader passes on the lines that hold a message. The SDK ends the session at any
// other line; here it is answered as JSON-RPC 2.0 section 5.1 asks, and the session
// goes on.
type lineReader struct {
	io.Closer
	in   *bufio.Reader
	out  io.Writer
	most int    // bytes of a line
	rest []byte // of a line that was passed on in part
}

func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.next()
		if errors.Is(err, errLineTooLong) {
			r.refuse(requestID(line), jsonrpc.CodeInvalidRequest, err.Error())
			continue
		}
		if err != nil && len(bytes.TrimSpace(line)) == 0 {
			return 0, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := checkMessage(line); err != nil {
			r.refuse(nil, jsonrpc.CodeParseError, "This line is not a JSON-RPC message: "+err.Error())
			continue
		}
		r.rest = append(bytes.TrimSpace(line), '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

var errLineTooLong = fmt.Errorf("the message is longer than %d MiB; send less in one call", maxLine>>20)

// next reads one line. A line that is too long is read to its end and comes back as
// its beginning and end with the error.
func (r *lineReader) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > r.most {
			tooLong = true
		}
		if tooLong && len(line) > 2*lineEnds {
			line = append(line[:lineEnds:lineEnds], line[len(line)-lineEnds:]...)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if tooLong {
			err = errLineTooLong // the end of the input, if this was it, shows again
		}
		return line, err
	}
}

// lineEnds is how many bytes of each end of a line that is too long are kept.
const lineEnds = 256

// idAtEnd matches the id of a request where clients write it: as the first or second
// member, or as the last. A member in these places belongs to the message itself.
var idAtEnd = regexp.MustCompile(`^\s*\{(?:"jsonrpc":\s?"2\.0",\s?)?"id":\s?(\d{1,18}|"[^"\\]{1,99}")\s*,` +
	`|,\s*"id":\s?(\d{1,18}|"[^"\\]{1,99}")\s*\}\s*$`)

// requestID returns the id in a line of which only the ends are known, nil when it is
// not there. Without it the client would wait for its answer until it gives up.
func requestID(line []byte) json.RawMessage {
	m := idAtEnd.FindSubmatch(line)
	if m == nil {
		return nil
	}
	return append(m[1], m[2]...)
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

// refuse answers a line that was not passed on; id is nil when it is not known.
func (r *lineReader) refuse(id json.RawMessage, code int64, message string) {
	answer := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{Version: "2.0", ID: id, Error: jsonrpc.Error{Code: code, Message: message}}
	line, err := json.Marshal(answer)
	if err != nil {
		return
	}
	_, _ = r.out.Write(append(line, '\n')) // a client that reads nothing has left
}
