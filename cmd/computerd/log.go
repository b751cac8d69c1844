package main

import (
	"fmt"
	"os"
)

// maxLog is how long the log may become, in bytes.
const maxLog = 16 << 20

// boundedLog writes a log to a file and begins it anew when it has become too long: a
// computer runs for months, and who starts it has long gone by then. The file has to be
// open for appending. Anything else, such as a pipe, is written to as it is.
//
// It may not be used concurrently; slog's handlers see to that.
type boundedLog struct {
	file *os.File
	most int64 // bytes
}

func (l boundedLog) Write(p []byte) (int, error) {
	if info, err := l.file.Stat(); err == nil && info.Mode().IsRegular() && info.Size()+int64(len(p)) > l.most {
		if err := l.file.Truncate(0); err != nil {
			return 0, err
		}
		fmt.Fprintf(l.file, "The log had %d bytes and begins anew.\n", info.Size())
	}
	return l.file.Write(p)
}
