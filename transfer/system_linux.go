package transfer

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// hasProc reports whether a descriptor can be named, which naming a file that has no
// name needs.
var hasProc = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/self/fd")
	return err == nil
})

// createUnnamed makes a file in a folder that has no name and is gone when it is
// closed. Not every file system has such files.
func createUnnamed(dir *os.Root, perm fs.FileMode) (*os.File, error) {
	if !hasProc() {
		return nil, unix.EOPNOTSUPP
	}
	return dir.OpenFile(".", os.O_RDWR|unix.O_TMPFILE, perm)
}

// nameUnnamed gives such a file a name that nothing has yet.
func nameUnnamed(f, dir *os.File, name string) error {
	return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
}

// forget makes the kernel drop what it remembers of a file that is on the disk.
func forget(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// extents returns the parts of a file of the given size that are not holes, and
// whether it has holes.
func extents(f *os.File, size int64) (parts []extent, holes bool) {
	var stat unix.Stat_t
	whole := []extent{{0, size}}
	// What takes all its room has no holes worth a search.
	if unix.Fstat(int(f.Fd()), &stat) != nil || stat.Blocks*512 >= size {
		return whole, false
	}
	for at := int64(0); at < size; {
		from, err := f.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || err == nil && from >= size {
			break
		}
		if err != nil {
			return whole, false
		}
		to, err := f.Seek(from, unix.SEEK_HOLE)
		if err != nil {
			return whole, false
		}
		if to > size || len(parts) == maxExtents-1 {
			to = size
		}
		parts = append(parts, extent{from, to - from})
		at = to
	}
	return parts, true
}
