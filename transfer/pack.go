package transfer

import (
	"archive/tar"
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// packer writes one archive.
type packer struct {
	ctx     context.Context
	end     End
	dir     string // where the source is, for messages
	tar     *tar.Writer
	sum     checksum
	buf     []byte
	done    Progress
	moved   func(Progress)
	omit    omission
	skipped skipped
	changed skipped
	denied  *api.Error // of the first entry that may not be read; nil for none
	others  skipped    // the further ones
}

// namedDenied is how many entries that may not be read an error names beside the first.
const namedDenied = 5

// sourceError is a failure of what is packed, as opposed to one of the stream. The
// archive is then closed with it, so that the other end knows.
type sourceError struct{ why *api.Error }

func (e sourceError) Error() string { return e.why.Error() }

// Pack writes the archive of the source to w. It returns nil when the archive is
// closed, also when it had to be closed early because the source could not be read on,
// or lacks entries that may not be read: the archive then says so to whoever unpacks it.
// Otherwise the error is that of w, or the cause of ctx's end.
//
// moved is called whenever something was written, with what was packed until then.
func (s *Source) Pack(ctx context.Context, w io.Writer, moved func(Progress)) error {
	out := bufio.NewWriterSize(w, bufferSize)
	p := &packer{ctx: ctx, end: s.end, dir: filepath.Dir(s.path), tar: tar.NewWriter(out), sum: newChecksum(), buf: make([]byte, bufferSize), moved: moved, omit: s.omit}
	var err error
	if s.Folder {
		err = p.folder(s.root, s.Name, s.info, 1)
	} else {
		err = p.file(s.file, s.Name)
	}
	failed, ok := errors.AsType[sourceError](err)
	if err != nil && !ok {
		return err
	}
	if failed.why == nil {
		failed.why = p.refusal()
	}
	if err := p.close(failed.why); err != nil {
		return err
	}
	return out.Flush()
}

// refusal returns the error for entries that may not be read when all else was packed,
// as cp ends with one; nil when there are none.
func (p *packer) refusal() *api.Error {
	if p.denied == nil {
		return nil
	}
	e := *p.denied
	if n := p.others.Total; n > 0 {
		e.Message += fmt.Sprintf(" Nor to read %d more:", n)
		var paths []string
		for _, other := range p.others.Entries[:min(len(p.others.Entries), namedDenied)] {
			paths = append(paths, other.Path)
		}
		e.Message += " " + strings.Join(paths, ", ") + "."
	}
	e.Message += " All else was packed."
	return e.WithFix("Go on with what was copied, or change the rights of the rest and copy that.")
}

// close writes the ending.
func (p *packer) close(failed *api.Error) error {
	data, err := json.Marshal(ending{Checksum: p.sum.String(), Skipped: p.skipped, Changed: p.changed, Error: failed})
	if err != nil {
		return err
	}
	if err := p.record(recordEnd, string(data)); err != nil {
		return err
	}
	return p.tar.Close()
}

// record writes a global header with one record.
func (p *packer) record(key, value string) error {
	return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{key: value}})
}

// header writes the header of an entry.
func (p *packer) header(h *tar.Header) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	h.Format = tar.FormatPAX
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	p.sum.entry(h)
	return nil
}

// write writes a part of a file's content.
func (p *packer) write(data []byte) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	if _, err := p.tar.Write(data); err != nil {
		return err
	}
	p.sum.Write(data)
	p.done.Bytes += int64(len(data))
	p.moved(p.done)
	return nil
}

// failed returns the error for an entry that cannot be read.
func (p *packer) failed(name string, err error) error {
	return sourceError{p.end.pathError("read", filepath.Join(p.dir, name), err)}
}

// folder packs a folder and all that is in it. name is its path from the source's name
// on.
func (p *packer) folder(root *os.Root, name string, info fs.FileInfo, depth int) error {
	if depth > maxDepth {
		return sourceError{api.Errorf(api.CodeUnsupported, "Folders are nested deeper than %d.", maxDepth).
			WithFix("Copy a folder further down. If it contains the destination, choose another destination.")}
	}
	entries, err := readFolder(root)
	if err != nil {
		return p.failed(name, err)
	}
	if err := p.header(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: int64(info.Mode().Perm())}); err != nil {
		return err
	}
	p.done.Folders++
	p.moved(p.done)
	for _, e := range entries {
		if err := p.entry(root, e, name+"/"+e.Name(), depth); err != nil {
			return err
		}
	}
	return nil
}

// readFolder returns the entries of a folder, sorted by their names' bytes.
func readFolder(root *os.Root) ([]fs.DirEntry, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// entry packs one entry of a folder.
func (p *packer) entry(root *os.Root, e fs.DirEntry, name string, depth int) error {
	var err error
	switch mode := e.Type(); {
	case p.omit.is(e):
		p.skipped.add(name, p.omit.why)
		return nil
	case mode.IsDir():
		err = p.subfolder(root, e, name, depth)
	case mode&fs.ModeSymlink != 0:
		err = p.link(root, e, name)
	case mode.IsRegular():
		var f *os.File
		if f, err = root.OpenFile(e.Name(), os.O_RDONLY|openFlags, 0); err != nil {
			err = p.failed(name, err)
			break
		}
		err = p.file(f, name)
		f.Close()
	default:
		p.skipped.add(name, "it is "+specialName(mode))
		return nil
	}
	failed, ok := errors.AsType[sourceError](err)
	switch {
	case ok && failed.why.Code == api.CodeNotFound:
		p.skipped.add(name, "it was removed while the copy ran")
	case ok && failed.why.Code == api.CodePermissionDenied:
		p.deny(name, failed.why)
	default:
		return err
	}
	return nil
}

// deny notes an entry that may not be read. The copy goes on with the next one.
func (p *packer) deny(name string, why *api.Error) {
	if p.denied == nil {
		p.denied = why
		return
	}
	p.others.add(filepath.Join(p.dir, name), "")
}

func (p *packer) subfolder(root *os.Root, e fs.DirEntry, name string, depth int) error {
	sub, err := root.OpenRoot(e.Name())
	if err != nil {
		return p.failed(name, err)
	}
	defer sub.Close()
	info, err := sub.Stat(".")
	if err != nil {
		return p.failed(name, err)
	}
	return p.folder(sub, name, info, depth+1)
}

func (p *packer) link(root *os.Root, e fs.DirEntry, name string) error {
	to, err := root.Readlink(e.Name())
	if err != nil {
		return p.failed(name, err)
	}
	p.done.Links++
	return p.header(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to})
}

// file packs a regular file.
func (p *packer) file(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return p.failed(name, err)
	}
	if !info.Mode().IsRegular() { // it was one when its folder was read
		p.skipped.add(name, "it is "+specialName(info.Mode()))
		return nil
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(info.Mode().Perm())}
	// A file that the buffer holds is read before its size is told. So it cannot change
	// in between, and one of /proc, which says that it has none, is read too.
	n, err := io.ReadFull(f, p.buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		h.Size = int64(n)
		if err := p.header(h); err != nil {
			return err
		}
		p.done.Files++
		return p.write(p.buf[:n])
	}
	if err != nil {
		return p.failed(name, err)
	}
	if err := p.large(f, h, max(info.Size(), int64(n))); err != nil {
		return err
	}
	after, err := f.Stat()
	if err == nil && (after.Size() != info.Size() || !after.ModTime().Equal(info.ModTime())) {
		p.changed.add(name, "")
	}
	return nil
}

// large packs a file of which only a part is in memory at a time.
func (p *packer) large(f *os.File, h *tar.Header, size int64) error {
	parts, holes := extents(f, size)
	for _, e := range parts {
		h.Size += e.size
	}
	if holes {
		h.PAXRecords = map[string]string{recordExtents: formatExtents(parts), recordSize: strconv.FormatInt(size, 10)}
	}
	if err := p.header(h); err != nil {
		return err
	}
	// The header has promised what now has to come, even if there is no more of it.
	short, broken := false, error(nil)
	for _, e := range parts {
		for e.size > 0 {
			part := p.buf[:min(int64(len(p.buf)), e.size)]
			if !short {
				n, err := f.ReadAt(part, e.at)
				if short = n < len(part); short {
					clear(p.buf)
				}
				if !errors.Is(err, io.EOF) {
					broken = err
				}
			}
			if err := p.write(part); err != nil {
				return err
			}
			e.at += int64(len(part))
			e.size -= int64(len(part))
		}
	}
	if !short {
		p.done.Files++
		p.done.Bytes += size - h.Size
		p.moved(p.done)
		return nil
	}
	if err := p.record(recordRetract, "1"); err != nil {
		return err
	}
	if broken != nil {
		return p.failed(h.Name, broken)
	}
	p.skipped.add(h.Name, "it became shorter while it was read")
	return nil
}
