package hostmcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/transfer"
)

// Directions of a copy.
const (
	toComputer   = "to_computer"
	fromComputer = "from_computer"
)

// transferTool copies between this machine and the computer.
func transferTool() Tool {
	return Tool{
		Name: "file_transfer", Title: "Copy between host and computer",
		Description: "Copy a file or a whole folder, of any kind and size, between the host (the user's machine, where this server runs) and the computer. " +
			"As cp -r does: into an existing folder under its own name, otherwise to that name; missing parent folders are made. " +
			"Folders keep empty folders, executable bits and links.",
		Destructive: true,
		Fields: []Field{
			{Name: "direction", Kind: String, Required: true, Enum: []string{toComputer, fromComputer}, Doc: "Which way."},
			{Name: "host_path", Kind: String, Required: true, Doc: "On the host: absolute, from ~, or relative to where this server was started."},
			{Name: "computer_path", Kind: String, Required: true, Doc: "On the computer: absolute, relative to the session's folder, or from ~."},
			{Name: "overwrite", Kind: Boolean, Doc: "Replace files and merge folders. Default: refuse when the destination exists."},
			{Name: "verify", Kind: Boolean, Doc: "Read every copied file back and compare digests."},
		},
		Run: with(fileTransfer),
	}
}

type transferArgs struct {
	Direction    string `json:"direction"`
	HostPath     string `json:"host_path"`
	ComputerPath string `json:"computer_path"`
	Overwrite    bool   `json:"overwrite"`
	Verify       bool   `json:"verify"`
}

func fileTransfer(ctx context.Context, c *Call, args transferArgs) (*Reply, error) {
	host, err := hostPath(args.HostPath)
	if err == nil {
		err = checkPath("computer_path", args.ComputerPath)
	}
	if err != nil {
		return nil, err
	}
	ctx, moved, stop := transfer.Watch(ctx)
	defer stop()
	job := &transferJob{Call: c, transferArgs: args, host: host, moved: moved, start: time.Now()}
	r, err := job.run(ctx)
	if err != nil {
		return nil, job.explain(ctx, err)
	}
	r.DurationMS = time.Since(job.start).Milliseconds()
	return &Reply{Text: transferText(r), Structured: r}, nil
}

// checkPath refuses what is no path at either end, by the name of the argument.
func checkPath(argument, path string) error {
	if path == "" || strings.Contains(path, "\x00") {
		return api.Errorf(api.CodeBadRequest, "The %s %q is not a path.", argument, path).WithFix("Give the path of a file or folder.")
	}
	return nil
}

// hostPath makes a path that an agent gives absolute. One that ends in a slash keeps it.
func hostPath(path string) (string, error) {
	if err := checkPath("host_path", path); err != nil {
		return "", err
	}
	full := path
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", api.Errorf(api.CodeUnsupported, "The host does not say where ~ is: %v.", err).WithFix("Give an absolute host_path.")
		}
		full = filepath.Join(home, rest)
	}
	full, err := filepath.Abs(full)
	if err != nil {
		return "", api.Errorf(api.CodeUnsupported, "The host does not say where this server was started: %v.", err).WithFix("Give an absolute host_path.")
	}
	if os.IsPathSeparator(path[len(path)-1]) && !os.IsPathSeparator(full[len(full)-1]) {
		full += string(filepath.Separator)
	}
	return full, nil
}

// transferJob is one copy.
type transferJob struct {
	*Call
	transferArgs
	host  string // absolute
	moved func()
	start time.Time

	mu   sync.Mutex
	told time.Time         // guarded by mu; when progress was last reported
	done transfer.Progress // guarded by mu; on this side
}

func (j *transferJob) run(ctx context.Context) (api.TransferResult, error) {
	if j.Direction == toComputer {
		return j.send(ctx)
	}
	return j.receive(ctx)
}

// compress reports whether the archive is worth compressing: it is where the engine has
// a way of its own to the computer, which may be to another machine.
func (j *transferJob) compress() bool { return j.Computer.Dial != nil }

func (j *transferJob) send(ctx context.Context) (result api.TransferResult, err error) {
	source, err := transfer.Open(transfer.Host, filepath.Clean(j.host))
	if err != nil {
		return result, err
	}
	defer source.Close()
	pack := func(w io.Writer) error { return source.Pack(ctx, w, j.progress) }
	if j.compress() {
		plain := pack
		pack = func(w io.Writer) error {
			z, err := transfer.Compress(w)
			if err != nil {
				return err
			}
			return errors.Join(plain(z), z.Close())
		}
	}
	return j.Computer.PutArchive(ctx, j.Session, api.PutArchiveRequest{
		Path: j.ComputerPath, Name: []byte(source.Name), Folder: source.Folder,
		Overwrite: j.Overwrite, Verify: j.Verify, Compress: j.compress(),
	}, pack, func(api.Progress) { j.moved() })
}

func (j *transferJob) receive(ctx context.Context) (result api.TransferResult, err error) {
	body, err := j.Computer.GetArchive(ctx, j.Session, api.GetArchiveRequest{Path: j.ComputerPath, Compress: j.compress()})
	if err != nil {
		return result, err
	}
	defer body.Close()
	stream := io.Reader(movingReader{body, j.moved})
	if j.compress() {
		z, err := transfer.Decompress(stream)
		if err != nil {
			return result, err
		}
		defer z.Close()
		stream = z
	}
	archive, err := transfer.NewArchive(stream)
	if err != nil {
		return result, err
	}
	target, err := transfer.Aim(transfer.Host, j.host, archive.Origin, transfer.Options{Overwrite: j.Overwrite, Verify: j.Verify})
	if err != nil {
		return result, err
	}
	result, err = target.Unpack(ctx, archive, j.progress)
	result.Path = api.ShowName(result.Path)
	return result, err
}

// movingReader tells when something comes, before a decompressor holds it back.
type movingReader struct {
	io.Reader
	moved func()
}

func (r movingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.moved()
	}
	return n, err
}

// progress tells the person how far the copy is, once a second.
func (j *transferJob) progress(done transfer.Progress) {
	j.moved()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done = done
	now := time.Now()
	if now.Sub(j.told) < time.Second {
		return
	}
	j.told = now
	j.Progress(fmt.Sprintf("Copying %s: %v, %s/s.", strings.ReplaceAll(j.Direction, "_", " "), done, transfer.Size(rate(done.Bytes, now.Sub(j.start)))))
}

// explain adds how far the copy got to an error that does not say that yet: one of the
// way between the two ends.
func (j *transferJob) explain(ctx context.Context, err error) error {
	j.mu.Lock()
	done := j.done
	j.mu.Unlock()
	e := *api.AsError(err)
	cause := context.Cause(ctx)
	if reason, ok := errors.AsType[*api.Error](cause); ok {
		e = *reason
	} else if cause != nil {
		e = *api.Errorf(api.CodeCanceled, "The call ended early: %v.", cause)
	}
	switch {
	case j.Direction == fromComputer && cause != nil:
		e.Message += transfer.Host.HowFar(done, "")
	case j.Direction == fromComputer || done == (transfer.Progress{}):
	case e.Code == api.CodeTimeout, e.Code == api.CodeCanceled, e.Code == api.CodeComputerStopped, e.Code == api.CodeEngineUnavailable:
		e.Message += fmt.Sprintf(" By then %v had been sent; complete files stay on the computer.", done)
	}
	return &e
}

func rate(bytes int64, d time.Duration) int64 {
	return int64(float64(bytes) / max(d, time.Millisecond).Seconds())
}

// transferText tells a model what was copied.
func transferText(r api.TransferResult) string {
	took := time.Duration(r.DurationMS) * time.Millisecond
	done := transfer.Progress{Files: r.Files, Folders: r.Folders, Links: r.Links, Bytes: r.Bytes}
	var b strings.Builder
	fmt.Fprintf(&b, "Copied to %s: %v in %.1f s (%s/s).", r.Path, done, took.Seconds(), transfer.Size(rate(r.Bytes, took)))
	if r.Verified {
		b.WriteString(" Every file was read back and is what was sent.")
	}
	for _, note := range r.Notes {
		b.WriteString("\n" + note)
	}
	if r.SkippedTotal > 0 {
		fmt.Fprintf(&b, "\nSkipped, not copied: %d.", r.SkippedTotal)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "\n- %s: %s", s.Path, s.Why)
	}
	if more := r.SkippedTotal - len(r.Skipped); more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}
