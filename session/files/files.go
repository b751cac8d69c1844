// Package files reads, writes and searches files for agents, with the rights of the
// programs' user and never with the daemon's.
//
// Each call runs in a child process of that user ([Runner.Call] starts it, [Serve] is
// its main function), so that the kernel decides what a path may reach: a link that an
// agent has planted leads no further than the agent's own programs get, and /proc/self
// is the child. See docs/adr/0005-files-in-a-child.md.
//
// Copies between host and computer run in such children too, see [Runner.Put] and
// [Runner.Get].
//
// Errors that leave this package are an [api.Error].
package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

const (
	// callLimit bounds one call: a network disk may hang.
	callLimit = time.Minute
	// maxAnswer bounds what is read of a child, in bytes. It runs as the agent's user,
	// so it is believed no more than an agent.
	maxAnswer = 16 << 20
	// maxWords is how much of a child's last words goes into an error, in bytes.
	maxWords = 1000
)

// Runner starts the children. Its methods may be called from any goroutine.
type Runner struct {
	Command []string              // the program, and the arguments that make it call Serve
	Home    string                // what ~ stands for
	User    *supervise.Credential // nil is the user of this process
	Env     []string              // of the child
}

// request is what a child reads from stdin.
type request struct {
	Act  string // a key of acts
	Home string
	Dir  string // where relative paths start
	Args json.RawMessage
}

// answer is what a child writes to stdout, with the bytes of an image behind it.
type answer struct {
	Error  *api.Error      `json:",omitempty"`
	Result json.RawMessage `json:",omitempty"`
}

// Acts of Call.
const (
	Enter  = "enter" // api.SetCwdRequest and Result
	List   = "list"
	Read   = "read"
	Write  = "write"
	Edit   = "edit"
	Search = "search"

	Identify = "identify" // api.OpenPathRequest and Identity
	Exists   = "exists"   // api.WaitRequest and bool
)

// Call does one act with the api package's request and result of its kind. dir is
// where relative paths start. image holds the file when one was read.
func (r Runner) Call(ctx context.Context, act, dir string, args interface{ Check() error }, result any) (image []byte, err error) {
	if err := args.Check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments of %s: %w", act, err)
	}
	data, err = json.Marshal(request{Act: act, Home: r.Home, Dir: dir, Args: data})
	if err != nil {
		return nil, fmt.Errorf("encode the request of %s: %w", act, err)
	}
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	out, err := r.run(limited, data)
	if cause, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
		return nil, cause
	}
	switch {
	case ctx.Err() != nil:
		return nil, api.Errorf(api.CodeCanceled, "The call was cancelled.")
	case limited.Err() != nil:
		return nil, api.Errorf(api.CodeTimeout, "The files did not answer within %v.", callLimit).
			WithFix("Use a path on another disk, or a smaller folder.")
	case err != nil:
		return nil, api.Errorf(api.CodeInternal, "The files cannot be reached: %v.", err)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	var a answer
	if err := dec.Decode(&a); err != nil {
		return nil, api.Errorf(api.CodeInternal, "The files gave no answer that can be read: %v.", err)
	}
	if a.Error != nil {
		return nil, a.Error
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return nil, api.Errorf(api.CodeInternal, "The files gave another answer than asked for: %v.", err)
	}
	return out[dec.InputOffset():], nil
}

// run starts a child and returns what it writes.
func (r Runner) run(ctx context.Context, stdin []byte) ([]byte, error) {
	cmd := r.child(ctx)
	cmd.Stdin = bytes.NewReader(stdin)
	out, words := &capped{most: maxAnswer}, &capped{most: maxWords}
	cmd.Stdout, cmd.Stderr = out, words
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := withWords(cmd.Run(), words)
	return out.Bytes(), err
}

// child returns the command that starts a child.
func (r Runner) child(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
	cmd.Env = append([]string{}, r.Env...) // not nil: nil would inherit
	cmd.Dir = "/"
	// A group of its own: a search starts another program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: r.User.Sys()}
	return cmd
}

// withWords adds a child's last words to an error.
func withWords(err error, words *capped) error {
	if err != nil && words.Len() > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(words.String()))
	}
	return err
}

// capped is a buffer that takes no more than most bytes.
type capped struct {
	bytes.Buffer
	most int
}

func (c *capped) Write(p []byte) (int, error) {
	c.Buffer.Write(p[:min(len(p), c.most-c.Len())])
	return len(p), nil
}

// place is where an act happens.
type place struct {
	home string
	dir  string
}

// acts holds what a child can do.
var acts = map[string]func(place, json.RawMessage) (any, error){
	Enter:  act(enter),
	List:   act(list),
	Read:   act(read),
	Write:  act(write),
	Edit:   act(edit),
	Search: act(search),

	Identify: act(identify),
	Exists:   act(lookFor),
}

// act makes a row of acts of a function that takes its arguments as a struct.
func act[A, R any](do func(place, A) (R, error)) func(place, json.RawMessage) (any, error) {
	return func(p place, data json.RawMessage) (any, error) {
		var args A
		if err := json.Unmarshal(data, &args); err != nil {
			return nil, err
		}
		return do(p, args)
	}
}

// picture is the result of reading an image.
type picture struct {
	api.ReadFileResult
	data []byte
}

// Serve is the main function of a child: it does the one act that it reads from stdin
// and writes the answer to stdout. An error means that nobody is there to tell.
func Serve(stdin io.Reader, stdout io.Writer) error {
	var r request
	dec := json.NewDecoder(stdin)
	if err := dec.Decode(&r); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	switch r.Act {
	case put:
		return servePut(r, io.MultiReader(dec.Buffered(), stdin), stdout)
	case get:
		return serveGet(r, stdout)
	}
	do := acts[r.Act]
	if do == nil {
		return fmt.Errorf("unknown act %q", r.Act)
	}
	result, err := do(place{home: r.Home, dir: r.Dir}, r.Args)
	var a answer
	if err != nil {
		a.Error = api.AsError(err)
	} else if a.Result, err = json.Marshal(result); err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	if p, ok := result.(picture); ok && a.Error == nil {
		data = append(data, p.data...)
	}
	_, err = stdout.Write(data)
	return err
}
