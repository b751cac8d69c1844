package session

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// lowSpace is the room in bytes that programs should find on the disk of their home: a new
// browser's profile takes some 10 MB. With less they fail in ways that seldom say why.
const lowSpace = 16 << 20

// diskIsFull says what to do about a home with less room than lowSpace; it is empty when
// there is more, or when nobody knows.
func (t *Table) diskIsFull() string {
	home := t.cfg.Programs.Home
	free, err := t.freeSpace(home)
	if err != nil || free >= lowSpace {
		return ""
	}
	return fmt.Sprintf("The disk of the home folder is full (%.1f MB are free), so programs may fail without saying why. Delete what is not needed in %s with shell.",
		float64(free)/1e6, home)
}

// spaceTime bounds the question for free space: a network disk may hang.
const spaceTime = time.Second

// freeSpace returns how many bytes users may still write to the disk of a folder.
func freeSpace(folder string) (bytes uint64, err error) {
	var s syscall.Statfs_t
	answer := make(chan error, 1)
	go func() { answer <- syscall.Statfs(folder, &s) }()
	select {
	case err := <-answer:
		return s.Bavail * uint64(s.Bsize), err
	case <-time.After(spaceTime):
		return 0, os.ErrDeadlineExceeded
	}
}
