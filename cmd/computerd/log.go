package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxLog is how long the log may become, in bytes.
const maxLog = 16 << 20

// boundedLog writes a log to a file and begins it anew when it has become too long: a
// computer runs for months, and who starts it has long gone by then. Anything but a file
// that is open for appending, such as a pipe, is written to as it is.
//
// It may not be used concurrently; slog's handlers see to that.
type boundedLog struct {
	file *os.File
	most int64 // bytes
}

func (l boundedLog) Write(p []byte) (int, error) {
	if info, err := l.file.Stat(); err == nil && info.Mode().IsRegular() && info.Size()+int64(len(p)) > l.most && l.appends() {
		if err := l.file.Truncate(0); err != nil {
			return 0, err
		}
		fmt.Fprintf(l.file, "The log had %d bytes and begins anew.\n", info.Size())
	}
	return l.file.Write(p)
}

// appends reports whether the file is open for appending. In another one what is written
// next would stand where it would have stood.
func (l boundedLog) appends() bool {
	flags, err := unix.FcntlInt(l.file.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_APPEND != 0
}
