package transfer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Options say what a copy may do.
type Options struct {
	Overwrite bool // replace files and merge folders
	Verify    bool // read back what was written and compare digests
}

// Target is where a copy will be.
type Target struct {
	Path    string // absolute, with the copy's own name
	end     End
	origin  Origin
	options Options

	rules   rules
	symlink func(dir *os.Root, to, name string) error
}

// Aim finds out where a copy to an absolute path will be: below it, under the source's
// own name, if it is an existing folder, otherwise under that name. It changes nothing,
// and returns an error for what would be refused anyway.
//
// A path that ends in a slash is that of a folder. A file is not copied to one that
// does not exist.
func Aim(end End, path string, origin Origin, o Options) (*Target, error) {
	t := &Target{Path: filepath.Clean(path), end: end, origin: origin, options: o, rules: localRules, symlink: (*os.Root).Symlink}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		t.Path = filepath.Join(t.Path, origin.Name)
	case errors.Is(err, fs.ErrNotExist) && os.IsPathSeparator(path[len(path)-1]) && !origin.Folder:
		return nil, api.Errorf(api.CodeNotFound, "There is no folder %s on the %s.", api.ShowName(path), end).
			WithFix("Leave out the slash at the end to give the copy that name, or make the folder first.")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, end.pathError("write to", path, err)
	}
	if why := t.rules.refuse(filepath.Base(t.Path)); why != "" {
		return nil, api.Errorf(api.CodeUnsupported, "%s cannot be made: %s.", api.ShowName(t.Path), why).WithFix("Give another name as the last part of the destination.")
	}
	dir := filepath.Dir(t.Path)
	switch info, err := os.Lstat(t.Path); {
	case err == nil && !o.Overwrite:
		return nil, end.exists(t.Path)
	case err == nil:
		if err := end.conflict(t.Path, info.Mode(), origin.Folder); err != nil {
			return nil, err
		}
		if origin.Folder {
			dir = t.Path
		}
	case errors.Is(err, fs.ErrNotExist):
		dir = nearest(dir)
	default:
		return nil, end.pathError("write to", t.Path, err)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, end.conflict(dir, info.Mode(), true)
	}
	if err := writable(dir); err != nil {
		return nil, end.pathError("write to", dir, err)
	}
	return t, nil
}

// nearest returns a path or the closest folder above it that exists.
func nearest(dir string) string {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return dir
}
