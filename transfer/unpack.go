package transfer

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// unpacker unpacks one archive.
type unpacker struct {
	ctx     context.Context
	t       *Target
	archive *Archive
	sum     checksum
	buf     []byte
	stack   []*folder // from the destination's folder to that of the last entry
	waiting *complete // nil for none
	at      string    // the file that is being written, empty for none
	done    Progress
	skipped skipped
	moved   func(Progress)
}

// complete is a file without its final name. It gets that when the next header shows
// that the packer does not take it back.
type complete struct {
	*temp
	in     *folder
	name   string
	holes  int64 // bytes, which have not been counted yet
	before int64 // bytes that had been counted before this file
}

// Unpack writes what an archive holds to its target. What was copied when an error
// comes stays, and the error says how much that is; the file that was being written
// leaves nothing.
//
// moved is called whenever something was read or written, with what was copied until
// then.
func (t *Target) Unpack(ctx context.Context, a *Archive, moved func(Progress)) (api.TransferResult, error) {
	start := time.Now()
	u := &unpacker{ctx: ctx, t: t, archive: a, sum: newChecksum(), buf: make([]byte, bufferSize), moved: moved}
	defer u.cleanUp()
	end, err := u.run()
	if err != nil {
		return api.TransferResult{}, u.howFar(err)
	}
	r := api.TransferResult{
		Path: t.Path, Files: u.done.Files, Folders: u.done.Folders, Links: u.done.Links, Bytes: u.done.Bytes,
		DurationMS: time.Since(start).Milliseconds(), Checksum: u.sum.String(), Verified: t.options.Verify,
	}
	r.Skipped = append([]api.SkippedEntry{}, end.Skipped.Entries...)
	r.Skipped = append(r.Skipped, u.skipped.Entries...)
	r.Skipped = r.Skipped[:min(len(r.Skipped), api.MaxSkipped)]
	r.SkippedTotal = end.Skipped.Total + u.skipped.Total
	if n := end.Changed.Total; n > 0 {
		note := count(n, "file") + " changed while being read, and may hold parts of two versions:"
		for _, e := range end.Changed.Entries[:min(len(end.Changed.Entries), api.MaxSkipped)] {
			note += " " + e.Path
		}
		r.Notes = append(r.Notes, note)
	}
	return r, nil
}

// howFar adds to an error what had been copied.
func (u *unpacker) howFar(err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Message += u.t.end.HowFar(u.done, u.at)
	return &told
}

// HowFar returns a sentence for the end of an error's message. at is the file that was
// being copied, empty for none.
func (end End) HowFar(done Progress, at string) string {
	if done == (Progress{}) && at == "" {
		return " Nothing was copied."
	}
	text := fmt.Sprintf(" By then %s had been copied; complete files stay on the %s.", done, end)
	if at != "" {
		text += fmt.Sprintf(" %s was being copied and was dropped.", api.ShowName(at))
	}
	return text
}

// cleanUp drops what is not complete.
func (u *unpacker) cleanUp() {
	if w := u.waiting; w != nil {
		w.drop(w.in.root)
	}
	_ = u.leave(0) // after an error nobody asks for another one
}

// run unpacks until the archive's end.
func (u *unpacker) run() (*ending, error) {
	if err := u.openParent(); err != nil {
		return nil, err
	}
	for {
		h, err := u.archive.next()
		if err != nil {
			return nil, err
		}
		if u.ctx.Err() != nil {
			return nil, context.Cause(u.ctx)
		}
		if h.Typeflag == tar.TypeXGlobalHeader && h.PAXRecords[recordRetract] != "" {
			u.retract()
			continue
		}
		if err := u.publish(); err != nil {
			return nil, err
		}
		end, err := endOf(h)
		if err != nil {
			return nil, err
		}
		if end != nil {
			return end, u.finish(end)
		}
		if err := u.entry(h); err != nil {
			return nil, err
		}
		u.moved(u.done)
	}
}

// finish checks that what has come is what was sent, which is everything unless the ending
// has an error.
func (u *unpacker) finish(end *ending) error {
	if u.sum.String() != end.Checksum {
		return api.Errorf(api.CodeInternal, "What arrived is not what was sent: the checksums differ.").
			WithFix("Copy again with overwrite. If that helps not, the memory or the network of a machine is broken.").WithRetry()
	}
	if err := u.leave(0); err != nil {
		return err
	}
	if end.Error != nil {
		return end.Error
	}
	return nil
}

// openParent opens the folder that the copy comes into, which it makes if need be.
func (u *unpacker) openParent() error {
	dir := filepath.Dir(u.t.Path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return u.t.end.pathError("make", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return u.t.end.pathError("write to", dir, err)
	}
	u.stack = []*folder{{path: dir, root: root}}
	return nil
}

// entry unpacks one entry.
func (u *unpacker) entry(h *tar.Header) error {
	if !slices.Contains([]byte{tar.TypeReg, tar.TypeDir, tar.TypeSymlink}, h.Typeflag) {
		return errArchive("%s is of the type %q", api.ShowName(h.Name), h.Typeflag)
	}
	for key := range h.PAXRecords {
		// Others change what a header means: one can make a terabyte of a few bytes.
		if !slices.Contains(entryRecords, key) {
			return errArchive("%s has a record %s", api.ShowName(h.Name), api.ShowName(key))
		}
	}
	parent, name, err := u.place(h)
	if err != nil {
		return err
	}
	u.sum.entry(h)
	if !u.admit(parent, name, h) {
		if h.Typeflag == tar.TypeDir {
			u.stack = append(u.stack, &folder{name: baseOf(h), fresh: true})
		}
		return u.read(h.Size, func([]byte) error { return nil })
	}
	switch h.Typeflag {
	case tar.TypeDir:
		f, err := u.makeFolder(parent, name, fs.FileMode(h.Mode).Perm())
		if err != nil {
			return err
		}
		f.name = baseOf(h)
		u.stack = append(u.stack, f)
		u.done.Folders++
		return nil
	case tar.TypeSymlink:
		return u.link(parent, name, h)
	}
	return u.file(parent, name, h)
}

// baseOf returns the last part of an entry's name.
func baseOf(h *tar.Header) string {
	path := strings.TrimSuffix(h.Name, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// place returns the open folder that an entry belongs in and its name there. It leaves
// the folders that are complete with that.
func (u *unpacker) place(h *tar.Header) (parent *folder, name string, err error) {
	path := h.Name
	if h.Typeflag == tar.TypeDir {
		path = strings.TrimSuffix(path, "/")
	}
	parts := strings.Split(path, "/")
	if len(parts) > maxDepth+1 {
		return nil, "", errArchive("its folders are nested deeper than %d", maxDepth)
	}
	for _, part := range parts {
		if !validName(part) {
			return nil, "", errArchive("the name %s leads elsewhere", api.ShowName(h.Name))
		}
	}
	depth := 1
	for depth < len(u.stack) && depth < len(parts) && u.stack[depth].name == parts[depth-1] {
		depth++
	}
	if depth != len(parts) {
		return nil, "", errArchive("%s comes without its folder", api.ShowName(h.Name))
	}
	if err := u.leave(depth); err != nil {
		return nil, "", err
	}
	parent, name = u.stack[depth-1], parts[depth-1]
	if depth == 1 && (name != u.t.origin.Name || u.t.origin.Folder != (h.Typeflag == tar.TypeDir)) {
		return nil, "", errArchive("it holds %s, and was said to hold %s", api.ShowName(h.Name), api.ShowName(u.t.origin.Name))
	}
	if name <= parent.last {
		return nil, "", errArchive("%s comes twice, or out of order", api.ShowName(h.Name))
	}
	parent.last = name
	if depth == 1 {
		name = filepath.Base(u.t.Path)
	}
	return parent, name, nil
}

// admit reports whether an entry can be made here. If not it is listed as skipped,
// unless its folder was.
func (u *unpacker) admit(parent *folder, name string, h *tar.Header) bool {
	if parent.root == nil {
		return false
	}
	why := u.t.rules.refuse(name)
	key := u.t.rules.key(name)
	if why == "" && parent.taken[key] {
		why = "its name differs from that of another entry in case only, which is the same here"
	}
	if why != "" {
		u.skipped.add(strings.TrimSuffix(h.Name, "/"), why)
		return false
	}
	if parent.taken != nil {
		parent.taken[key] = true
	}
	return true
}

// link makes a symbolic link, wherever it leads.
func (u *unpacker) link(parent *folder, name string, h *tar.Header) error {
	path := filepath.Join(parent.path, name)
	if err := u.vacant(parent, name); err != nil {
		return err
	}
	err := u.t.symlink(parent.root, h.Linkname, name)
	if errors.Is(err, fs.ErrExist) && u.t.options.Overwrite {
		err = replaceLink(parent.root, h.Linkname, name)
	}
	if err != nil && u.t.rules.windows && !errors.Is(err, fs.ErrExist) {
		u.skipped.add(h.Name, fmt.Sprintf("Windows did not make the link: %v", cause(err)))
		return nil
	}
	if err != nil {
		return u.t.end.pathError("make the link", path, err)
	}
	u.done.Links++
	return nil
}

// vacant returns an error when a file or link cannot have its name. In a folder that
// this copy has made nothing can be in the way.
func (u *unpacker) vacant(parent *folder, name string) error {
	if parent.fresh {
		return nil
	}
	path := filepath.Join(parent.path, name)
	info, err := parent.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return u.t.end.pathError("write to", path, err)
	case !u.t.options.Overwrite:
		return u.t.end.exists(path)
	}
	return u.t.end.conflict(path, info.Mode(), false)
}

// file writes a file that has no name yet.
func (u *unpacker) file(parent *folder, name string, h *tar.Header) error {
	path := filepath.Join(parent.path, name)
	parts, size, err := extentsOf(h)
	if err != nil {
		return err
	}
	if err := u.vacant(parent, name); err != nil {
		return err
	}
	failed := func(err error) error { return u.t.end.pathError("write", path, err) }
	if _, err := parent.open(); err != nil {
		return failed(err)
	}
	perm := fs.FileMode(h.Mode).Perm()
	if u.t.rules.windows {
		perm = 0o666 // anything else would make it read-only
	}
	f, err := newTemp(parent.root, perm)
	if err != nil {
		return failed(err)
	}
	u.waiting, u.at = &complete{temp: f, in: parent, name: name, holes: size - h.Size, before: u.done.Bytes}, path
	written := sha256.New()
	end := int64(0)
	for _, e := range parts {
		err := u.read(e.size, func(data []byte) error {
			if u.t.options.Verify {
				written.Write(data)
			}
			if _, err := f.WriteAt(data, e.at); err != nil {
				return failed(err)
			}
			e.at += int64(len(data))
			u.done.Bytes += int64(len(data))
			return nil
		})
		if err != nil {
			return err
		}
		end = e.at
	}
	if end < size {
		if err := f.Truncate(size); err != nil {
			return failed(err)
		}
	}
	if u.t.options.Verify {
		return u.verify(f, path, parts, written)
	}
	return nil
}

// read passes on what the current entry holds, in pieces.
func (u *unpacker) read(size int64, take func([]byte) error) error {
	for size > 0 {
		if u.ctx.Err() != nil {
			return context.Cause(u.ctx)
		}
		n, err := io.ReadFull(u.archive.tar, u.buf[:min(size, bufferSize)])
		if err != nil {
			return archiveError(err)
		}
		u.sum.Write(u.buf[:n])
		if err := take(u.buf[:n]); err != nil {
			return err
		}
		size -= int64(n)
		u.moved(u.done)
	}
	return nil
}

// verify reads a file back, from the disk if that can be told, and compares its digest
// with that of what was sent.
func (u *unpacker) verify(f *temp, path string, parts []extent, written hash.Hash) error {
	failed := func(err error) error { return u.t.end.pathError("read back", path, err) }
	if err := f.Sync(); err != nil {
		return failed(err)
	}
	forget(f.File)
	there := sha256.New()
	for _, e := range parts {
		for r := io.NewSectionReader(f, e.at, e.size); ; {
			if u.ctx.Err() != nil {
				return context.Cause(u.ctx)
			}
			n, err := r.Read(u.buf)
			there.Write(u.buf[:n])
			u.moved(u.done)
			if err == io.EOF {
				break
			}
			if err != nil {
				return failed(err)
			}
		}
	}
	if !bytes.Equal(there.Sum(nil), written.Sum(nil)) {
		return api.Errorf(api.CodeInternal, "%s was read back from the %s and differs from what was sent.", api.ShowName(path), u.t.end).
			WithFix("Try another disk: this one, or the memory, is likely broken.")
	}
	return nil
}

// publish gives the file that waits its final name.
func (u *unpacker) publish() error {
	w := u.waiting
	if w == nil {
		return nil
	}
	handle, err := w.in.open()
	if err == nil {
		err = w.publish(w.in.root, handle, w.name, u.t.options.Overwrite)
	}
	if err != nil {
		return u.t.end.pathError("write", filepath.Join(w.in.path, w.name), err)
	}
	u.waiting, u.at = nil, ""
	u.done.Files++
	u.done.Bytes += w.holes
	return nil
}

// retract drops the file that waits.
func (u *unpacker) retract() {
	if w := u.waiting; w != nil {
		w.drop(w.in.root)
		u.waiting, u.at, u.done.Bytes = nil, "", w.before
	}
}
