package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
)

// write replaces a file as a whole, or makes it and the folders above it.
func write(p place, r api.WriteFileRequest) (result api.WriteFileResult, err error) {
	path, old, err := target(p.path(r.Path))
	if err != nil {
		return result, err
	}
	if old == nil {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return result, pathError("make the folder of", path, err)
		}
	}
	result = api.WriteFileResult{Path: show(path), Bytes: len(r.Content), Created: old == nil}
	result.Notes, err = replace(path, old, []byte(r.Content))
	return result, err
}

// maxLinks is how many links are followed, as the kernel does.
const maxLinks = 40

// target follows links to the file that is to be written, so that they stay links. old
// describes what is there, nil for nothing; it is a regular file.
func target(path string) (file string, old fs.FileInfo, err error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case err != nil:
			return "", nil, pathError("write", path, err)
		case info.IsDir():
			return "", nil, api.Errorf(api.CodeIsAFolder, "%s is a folder.", show(path)).WithFix("Give the path of a file, for example one inside it.")
		case info.Mode().IsRegular():
			return path, info, nil
		case info.Mode()&fs.ModeSymlink == 0:
			return "", nil, specialError(show(path), info.Mode())
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", nil, pathError("write", path, err)
		}
		if !filepath.IsAbs(to) {
			// The folder may be behind a link too, from which .. leads elsewhere.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", nil, pathError("write", path, err)
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", nil, pathError("write", path, syscall.ELOOP)
}

// replace puts content in the place of a file, whose mode and owner stay: nobody ever
// sees a part of it. Where only the file itself may be written, not its folder, or the
// owner could not stay, it is written in place and a note says so.
func replace(path string, old fs.FileInfo, content []byte) (notes []string, err error) {
	switch err := replaceWhole(path, old, content); {
	case err == nil:
		return nil, nil
	case old == nil || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist): // as a folder of /proc says
		return nil, pathError("write", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, pathError("write", path, err)
	}
	_, err = f.Write(content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, pathError("write", path, err)
	}
	return []string{"The file was written in place, because its folder or its owner does not allow to replace it at one stroke."}, nil
}

// replaceWhole writes a new file beside the old one and renames it.
func replaceWhole(path string, old fs.FileInfo, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	err = fill(f, old, content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// fill gives a new file its content and the mode and owner of the one that it replaces.
func fill(f *os.File, old fs.FileInfo, content []byte) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	mode := 0o666 &^ umask()
	if old != nil {
		mode = old.Mode()
		was := old.Sys().(*syscall.Stat_t)
		if info, err := f.Stat(); err == nil {
			if is := info.Sys().(*syscall.Stat_t); is.Uid != was.Uid || is.Gid != was.Gid {
				if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
					return err
				}
			}
		}
	}
	if err := f.Chmod(mode); err != nil { // after the owner, whose change clears bits
		return err
	}
	return f.Sync() // a rename that is on the disk before the content would leave an empty file
}

// umask returns this process's, which can only be read by changing it.
func umask() os.FileMode {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return os.FileMode(mask)
}
