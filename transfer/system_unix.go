//go:build unix

package transfer

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep a pipe that has taken a file's place from blocking.
const openFlags = syscall.O_NONBLOCK

// writable returns the error that making an entry in a folder would meet.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// isFull reports whether an error says that there is no room.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// lock takes the lock of an open file, which ends when it is closed or its process
// ends. It reports false when somebody else has it.
func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
