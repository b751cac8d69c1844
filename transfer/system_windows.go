package transfer

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openFlags has nothing to keep: there are no pipes in folders.
const openFlags = 0

// writable returns nil: whether an entry can be made shows only when it is.
func writable(string) error { return nil }

// isFull reports whether an error says that there is no room.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// lock takes the lock of an open file, which ends when it is closed or its process
// ends. It reports false when somebody else has it. A lock keeps others from writing
// what it covers, so it covers a byte that no file has.
func lock(f *os.File) bool {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: ^uint32(0), OffsetHigh: 1<<31 - 1}) == nil
}
