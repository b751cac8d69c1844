// Package private keeps the daemon's own files in home, so that they survive with it.
//
// Home may belong to the programs' user, who can replace what is in it. So nothing there
// is followed out of home, and who reads a file decides whether to believe it.
package private

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Folder is the name of the folder in home that holds the files. Only this process's user
// can look into it.
const Folder = ".computer-use"

// Make makes the folder in home, in the place of anything else of that name.
func Make(home *os.Root) error {
	if info, err := home.Lstat(Folder); err == nil && !info.IsDir() {
		if err := home.Remove(Folder); err != nil {
			return err
		}
	}
	if err := home.Mkdir(Folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Open opens a file to be read. It does not wait, as for the writer of a pipe: the caller
// looks at what the file is.
func Open(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Write replaces a file, mode 0600, so that it is whole or not there at all, also after the
// machine has lost its power. Two at once for one file are the caller's to prevent.
func Write(root *os.Root, name string, data []byte) error {
	temporary := name + ".new"
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = root.Rename(temporary, name)
	}
	return err
}
