package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/clip"
)

// lastWords is how long output is waited for once the shell has exited. What was in
// the pipe is there at once; this is for a filter that the shell did not wait for.
const lastWords = 100 * time.Millisecond

// errTimeout is the cause of a context whose time was up.
var errTimeout = errors.New("timeout")

// Run runs a command and returns when its shell exits, whatever still holds its
// output. When timeout passes, or ctx or the session ends before, everything that it
// has started is ended; the result has the output up to then and says why.
func (s *Shell) Run(ctx context.Context, c Command, timeout time.Duration) (api.ShellResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	started := time.Now()
	stdout, outEnd, err := newStream()
	if err != nil {
		return api.ShellResult{}, startError(c, err)
	}
	stderr, errEnd, err := newStream()
	if err != nil {
		stdout.discard()
		outEnd.Close()
		return api.ShellResult{}, startError(c, err)
	}
	p, err := s.start(c, s.scope, outEnd, errEnd)
	if err != nil {
		stdout.discard()
		stderr.discard()
		return api.ShellResult{}, err
	}
	go stdout.collect(s.ctx)
	go stderr.collect(s.ctx)

	var result api.ShellResult
	select {
	case <-p.exited:
		p.reap()
		if s.hasEnded() { // it did not exit by itself
			result.Stopped = endedError()
		}
	case <-ctx.Done():
		p.end(callGrace)
		result.Stopped = stopped(ctx, timeout)
		result.TimedOut = result.Stopped.Code == api.CodeTimeout
	}
	finish(stdout, stderr)
	result.ExitCode = p.exitCode()
	result.DurationMS = time.Since(started).Milliseconds()
	result.Stdout, result.StdoutDropped = stdout.text.Text()
	result.Stderr, result.StderrDropped = stderr.text.Text()
	return result, nil
}

// stopped says why a command was ended before its end.
func stopped(ctx context.Context, timeout time.Duration) *api.Error {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*api.Error](cause); ok {
		return e
	}
	if errors.Is(cause, errTimeout) || errors.Is(cause, context.DeadlineExceeded) {
		return api.Errorf(api.CodeTimeout, "The command ran longer than %v and was ended with everything it had started.", timeout).
			WithFix("Give a longer timeout, run it with background, or do less at once.")
	}
	return api.Errorf(api.CodeCanceled, "The call was cancelled; the command was ended with everything it had started.")
}

// stream collects one of a command's outputs. It belongs to the goroutine of collect
// until finish has returned.
type stream struct {
	pipe *os.File
	text clip.Writer
	read chan struct{} // closed when text is complete
}

// newStream returns a stream and the end of its pipe that the command writes to.
func newStream() (*stream, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &stream{pipe: r, read: make(chan struct{})}, w, nil
}

func (s *stream) discard() { s.pipe.Close() }

// collect reads until nobody can write any more, or until finish says that it is
// enough. A program that was left in the background would die of a pipe without
// reader, so what it still writes is read and thrown away, until ctx ends.
func (s *stream) collect(ctx context.Context) {
	defer s.pipe.Close()
	_, err := io.Copy(&s.text, s.pipe)
	close(s.read)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.pipe.SetReadDeadline(time.Time{})
		defer context.AfterFunc(ctx, s.discard)()
		io.Copy(io.Discard, s.pipe)
	}
}

// finish returns when the streams hold what a command that has exited has written.
func finish(streams ...*stream) {
	end := time.Now().Add(lastWords)
	for _, s := range streams {
		s.pipe.SetReadDeadline(end)
	}
	for _, s := range streams {
		<-s.read
	}
}
