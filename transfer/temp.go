package transfer

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"
)

// tempPrefix begins the name of what is not complete. Nothing else is called so.
const tempPrefix = ".computer-use-transfer-"

func tempName() string { return tempPrefix + rand.Text() }

// temp is a file that is being written. On Linux it has no name until it is complete,
// so that not even a killed process leaves it behind. Where that cannot be it has a
// name of ours and is locked, and sweep removes it when nobody holds the lock.
type temp struct {
	*os.File
	name string // empty while it has none
}

func newTemp(dir *os.Root, perm fs.FileMode) (*temp, error) {
	f, err := createUnnamed(dir, perm)
	if err == nil {
		return &temp{File: f}, nil
	}
	if full := isFull(err); full || errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	name := tempName()
	if f, err = dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm); err != nil {
		return nil, err
	}
	lock(f)
	return &temp{File: f, name: name}, nil
}

// publish gives the file its name and closes it. Unless replace is set, an error that
// is fs.ErrExist says that something has the name; replace never replaces a folder.
func (t *temp) publish(dir *os.Root, handle *os.File, name string, replace bool) error {
	if t.name == "" {
		err := nameUnnamed(t.File, handle, name)
		if !errors.Is(err, fs.ErrExist) || !replace {
			return errors.Join(err, t.Close())
		}
		// Only a name can take the place of a name.
		lock(t.File)
		t.name = tempName()
		if err := nameUnnamed(t.File, handle, t.name); err != nil {
			t.name = ""
			return err
		}
	} else if _, err := dir.Lstat(name); err == nil && !replace {
		return fs.ErrExist
	}
	if err := t.Close(); err != nil {
		return err
	}
	return dir.Rename(t.name, name)
}

// drop removes the file.
func (t *temp) drop(dir *os.Root) {
	t.Close()
	if t.name != "" {
		dir.Remove(t.name)
	}
}

// replaceLink puts a symbolic link in the place of a file or link.
func replaceLink(dir *os.Root, to, name string) error {
	temp := tempName()
	if err := dir.Symlink(to, temp); err != nil {
		return err
	}
	err := dir.Rename(temp, name)
	if err != nil {
		dir.Remove(temp)
	}
	return err
}

// linkLife is more than a link has a temporary name. It cannot be locked.
const linkLife = time.Minute

// sweep removes from a folder what transfers that were killed have left there.
func sweep(dir *os.Root, handle *os.File) {
	names, _ := handle.Readdirnames(-1) // what cannot be read cannot be swept
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		info, err := dir.Lstat(name)
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			if time.Since(info.ModTime()) > linkLife {
				dir.Remove(name)
			}
		case info.Mode().IsRegular():
			if f, err := dir.OpenFile(name, os.O_RDONLY|openFlags, 0); err == nil {
				if lock(f) {
					dir.Remove(name)
				}
				f.Close()
			}
		}
	}
}
