package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/private"
	"github.com/falleng0d/computer-use-mcp/transfer"
)

// Acts of Put and Get. Their children pass a stream: put reads an archive behind its
// request, get writes one behind its answer.
const (
	put = "put"
	get = "get"
)

const (
	// endLimit is how long a child that lost its stream may take to drop what is not
	// complete. Then it is killed.
	endLimit = 3 * time.Second
	// reportEvery is how often a child tells how far it is, while it gets further.
	reportEvery = time.Second
	// pipeSize and copySize make fewer turns between the processes, in bytes.
	pipeSize = 1 << 20
	copySize = 256 << 10
)

// news is what a put's child writes to stdout, one after the other: that it can begin,
// how far it is, and in the end a result or an error.
type news struct {
	Ready    bool                `json:",omitempty"`
	Progress *transfer.Progress  `json:",omitempty"`
	Result   *api.TransferResult `json:",omitempty"`
	Error    *api.Error          `json:",omitempty"`
}

// Put unpacks an archive. It begins to read the archive once nothing is known that
// would refuse it, and reads it to its end, after its return if need be. progress is
// called about every second while something moves, from the goroutine of Put.
func (r Runner) Put(ctx context.Context, dir string, args api.PutArchiveRequest, archive io.Reader, progress func(api.Progress)) (result api.TransferResult, err error) {
	if err := args.Check(); err != nil {
		return result, err
	}
	c, err := r.start(ctx, put, dir, args)
	if err != nil {
		return result, err
	}
	defer c.stop()
	var done transfer.Progress
	died := func(err error) error {
		e := *api.AsError(c.died(ctx, err))
		if done != (transfer.Progress{}) {
			e.Message += transfer.Computer.HowFar(done, "")
		}
		return &e
	}
	fed := false
	limited := &io.LimitedReader{R: c.stdout}
	for dec := json.NewDecoder(limited); ; {
		limited.N = maxAnswer
		var n news
		if err := dec.Decode(&n); err != nil {
			return result, died(err)
		}
		switch {
		case n.Ready && !fed:
			fed = true
			go c.feed(archive)
		case n.Progress != nil:
			done = *n.Progress
			progress(api.Progress{Message: done.String(), Done: float64(done.Bytes)})
		case n.Result != nil:
			return *n.Result, nil
		case n.Error == nil:
			return result, died(errors.New("it gave no answer"))
		case ctx.Err() != nil: // the child can tell only that its stream broke off
			return result, died(n.Error)
		default:
			return result, n.Error
		}
	}
}

// Get packs a file or folder into an archive. An error before anything was written to
// out is about the path; after that the archive is broken off.
func (r Runner) Get(ctx context.Context, dir string, args api.GetArchiveRequest, out io.Writer) error {
	if err := args.Check(); err != nil {
		return err
	}
	c, err := r.start(ctx, get, dir, args)
	if err != nil {
		return err
	}
	defer c.stop()
	dec := json.NewDecoder(c.stdout)
	var a answer
	if err := dec.Decode(&a); err != nil {
		return c.died(ctx, err)
	}
	if a.Error != nil {
		return a.Error
	}
	if _, err := io.Copy(out, dec.Buffered()); err != nil {
		return c.died(ctx, err)
	}
	if _, err := io.CopyBuffer(writer{out}, reader{c.stdout}, make([]byte, copySize)); err != nil {
		return c.died(ctx, err)
	}
	if err := c.stop(); err != nil {
		return c.died(ctx, err)
	}
	return nil
}

// reader and writer hide methods that would make io.CopyBuffer use a buffer of its own.
type (
	reader struct{ io.Reader }
	writer struct{ io.Writer }
)

// stream is a child with a stream.
type stream struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	words  *capped
	waited bool
}

// start starts a child and sends it its request.
func (r Runner) start(ctx context.Context, act, dir string, args any) (*stream, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments of %s: %w", act, err)
	}
	if data, err = json.Marshal(request{Act: act, Home: r.Home, Dir: dir, Args: data}); err != nil {
		return nil, fmt.Errorf("encode the request of %s: %w", act, err)
	}
	c := &stream{cmd: r.child(ctx), words: &capped{most: maxWords}}
	c.cmd.Stderr = c.words
	if c.stdin, err = c.cmd.StdinPipe(); err == nil {
		c.stdout, err = c.cmd.StdoutPipe()
	}
	// A child whose stream ends early drops what is not complete, and then ends.
	c.cmd.Cancel = func() error { return errors.Join(c.stdin.Close(), c.stdout.Close()) }
	c.cmd.WaitDelay = endLimit
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, api.Errorf(api.CodeInternal, "The files cannot be reached: %v.", err)
	}
	widen(c.stdin)
	widen(c.stdout)
	if _, err := c.stdin.Write(data); err != nil {
		return nil, c.died(ctx, err)
	}
	return c, nil
}

// widen makes a pipe hold more. A smaller one works too, so it is only tried.
func widen(pipe any) {
	file, ok := pipe.(syscall.Conn)
	if !ok {
		return
	}
	if conn, err := file.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// feed passes an archive to the child, and reads it to its end when the child does not
// want more: whoever sends it shall not be stopped by a broken connection before it has
// read the answer.
func (c *stream) feed(archive io.Reader) {
	_, err := io.CopyBuffer(writer{c.stdin}, reader{archive}, make([]byte, copySize))
	c.stdin.Close()
	if err != nil {
		io.Copy(io.Discard, archive)
	}
}

// stop ends the child's streams and waits for its end.
func (c *stream) stop() error {
	if c.waited {
		return nil
	}
	c.waited = true
	c.stdin.Close()
	c.stdout.Close()
	defer time.AfterFunc(endLimit, func() { c.cmd.Process.Kill() }).Stop()
	return withWords(c.cmd.Wait(), c.words)
}

// died returns the error of a call whose child, or whose stream, ended early.
func (c *stream) died(ctx context.Context, err error) error {
	if waitErr := c.stop(); waitErr != nil {
		err = waitErr
	}
	if cause, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
		return cause
	}
	if ctx.Err() != nil {
		return api.Errorf(api.CodeCanceled, "The call was cancelled.")
	}
	return api.Errorf(api.CodeInternal, "The process that works on the files ended early: %v.", err).
		WithFix("Look at what has arrived, then try again.").WithRetry()
}

// slashed keeps the slash at the end of a path, which makes it that of a folder.
func (p place) slashed(name string) string {
	path := p.path(name)
	if strings.HasSuffix(name, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path
}

// servePut is put in the child.
func servePut(r request, archive io.Reader, stdout io.Writer) error {
	// When nobody listens any more, what is not complete must still be dropped.
	signal.Ignore(syscall.SIGPIPE)
	out := json.NewEncoder(stdout)
	result, err := unpack(r, archive, func(n news) { _ = out.Encode(n) }) // who is gone needs no news
	if err != nil {
		return out.Encode(news{Error: api.AsError(err)})
	}
	return out.Encode(news{Result: &result})
}

func unpack(r request, archive io.Reader, tell func(news)) (result api.TransferResult, err error) {
	var args api.PutArchiveRequest
	if err := json.Unmarshal(r.Args, &args); err != nil {
		return result, err
	}
	origin := transfer.Origin{Name: string(args.Name), Folder: args.Folder}
	path := place{home: r.Home, dir: r.Dir}.slashed(args.Path)
	target, err := transfer.Aim(transfer.Computer, path, origin, transfer.Options{Overwrite: args.Overwrite, Verify: args.Verify})
	if err != nil {
		return result, err
	}
	tell(news{Ready: true})
	if args.Compress {
		d, err := transfer.Decompress(archive)
		if err != nil {
			return result, err
		}
		defer d.Close()
		archive = d
	}
	a, err := transfer.NewArchive(archive)
	if err != nil {
		return result, err
	}
	var done transfer.Progress
	last := time.Now()
	result, err = target.Unpack(context.Background(), a, func(p transfer.Progress) {
		done = p
		if time.Since(last) >= reportEvery {
			last = time.Now()
			tell(news{Progress: &done})
		}
	})
	if err != nil {
		tell(news{Progress: &done})
	}
	result.Path = show(result.Path)
	return result, err
}

// serveGet is get in the child.
func serveGet(r request, stdout io.Writer) error {
	var args api.GetArchiveRequest
	if err := json.Unmarshal(r.Args, &args); err != nil {
		return err
	}
	source, err := transfer.Open(transfer.Computer, place{home: r.Home, dir: r.Dir}.path(args.Path))
	if err != nil {
		return json.NewEncoder(stdout).Encode(answer{Error: api.AsError(err)})
	}
	defer source.Close()
	source.LeaveOut(filepath.Join(r.Home, private.Folder), "it is the computer's own and not for programs")
	// No newline: what comes behind the answer is the archive.
	if data, err := json.Marshal(answer{}); err != nil {
		return err
	} else if _, err := stdout.Write(data); err != nil {
		return err
	}
	pack := func(w io.Writer) error { return source.Pack(context.Background(), w, func(transfer.Progress) {}) }
	if !args.Compress {
		return pack(stdout)
	}
	z, err := transfer.Compress(stdout)
	if err != nil {
		return err
	}
	return errors.Join(pack(z), z.Close())
}
