package transfer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// folder is a folder that is being filled. All work in it goes through its descriptor,
// so no path leads out of it.
type folder struct {
	name   string   // in the archive
	path   string   // at the destination, for messages
	root   *os.Root // nil when the folder is left out, with all that is in it
	handle *os.File // of the same folder; nil until it is needed
	fresh  bool     // made by this copy
	last   string   // the name of the last entry in the archive

	taken map[string]bool // keys of the names used, where names can be the same
	mode  fs.FileMode     // to give the folder when it is complete, 0 for none
}

// open returns the folder as a file. What transfers that were killed have left in the
// folder is removed when it is first needed.
func (f *folder) open() (*os.File, error) {
	if f.handle != nil {
		return f.handle, nil
	}
	handle, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	f.handle = handle
	if !f.fresh {
		sweep(f.root, handle)
	}
	return handle, nil
}

// close closes the folder after giving it its mode.
func (f *folder) close() error {
	if f.root == nil {
		return nil
	}
	var err error
	if f.mode != 0 {
		err = f.root.Chmod(".", f.mode)
	}
	if f.handle != nil {
		f.handle.Close()
	}
	f.root.Close()
	return err
}

// makeFolder makes or joins a folder. While it is filled its owner may do all.
func (u *unpacker) makeFolder(parent *folder, name string, perm fs.FileMode) (*folder, error) {
	f := &folder{path: filepath.Join(parent.path, name)}
	err := parent.root.Mkdir(name, perm|0o700)
	f.fresh = err == nil
	if errors.Is(err, fs.ErrExist) {
		if !u.t.options.Overwrite {
			return nil, u.t.end.exists(f.path)
		}
		var info fs.FileInfo
		if info, err = parent.root.Lstat(name); err == nil {
			if err := u.t.end.conflict(f.path, info.Mode(), true); err != nil {
				return nil, err
			}
		}
	}
	if err == nil {
		f.root, err = parent.root.OpenRoot(name)
	}
	if err != nil {
		return nil, u.t.end.pathError("make", f.path, err)
	}
	if f.fresh && perm&0o700 != 0o700 && !u.t.rules.windows {
		if info, err := f.root.Stat("."); err == nil {
			f.mode = info.Mode().Perm() &^ (0o700 &^ perm)
		}
	}
	if u.t.rules.fold {
		f.taken = map[string]bool{}
	}
	return f, nil
}

// leave closes folders that are complete, the innermost first.
func (u *unpacker) leave(depth int) error {
	for len(u.stack) > depth {
		last := u.stack[len(u.stack)-1]
		u.stack = u.stack[:len(u.stack)-1]
		if err := last.close(); err != nil {
			return u.t.end.pathError("set the mode of", last.path, err)
		}
	}
	return nil
}
