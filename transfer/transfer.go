// Package transfer copies files and folders from one machine to another by the rules
// of cp -r, and is the same at both ends: one packs a [Source] into a stream, the other
// finds out with [Aim] where it goes and unpacks it there.
//
// The stream is a tar archive that is read while it is written, so memory does not
// depend on what is copied. Nothing is ever found half-written under its final name,
// and nothing is written outside the destination, whatever the archive holds.
//
// Errors that leave this package are an [api.Error], or what the stream or the context
// returned.
package transfer

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// End is one of the two machines; messages name it.
type End string

// The ends.
const (
	Host     End = "host"
	Computer End = "computer"
)

// bufferSize is how much is read, hashed and written at once, in bytes. Smaller ones
// cost system calls, larger ones fall out of the processor's cache.
const bufferSize = 256 << 10

// maxDepth is how deeply folders may be nested. It ends what would have no end: a
// folder that is copied into itself by way of the other machine.
const maxDepth = 250

// Origin is what an archive was made of.
type Origin struct {
	Name   string // of the file or folder, any bytes
	Folder bool
}

// Progress counts what has been copied.
type Progress struct {
	Files   int   `json:"files"`
	Folders int   `json:"folders"`
	Links   int   `json:"links"`
	Bytes   int64 `json:"bytes"`
}

// String returns words such as "312 files, 40 folders, 12.3 MB".
func (p Progress) String() string {
	words := []string{count(p.Files, "file")}
	if p.Folders > 0 {
		words = append(words, count(p.Folders, "folder"))
	}
	if p.Links > 0 {
		words = append(words, count(p.Links, "link"))
	}
	return strings.Join(append(words, Size(p.Bytes)), ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Size returns a number of bytes in words such as "12.3 MB", in powers of 1000.
func Size(n int64) string {
	if n < 1000 {
		return count(int(n), "byte")
	}
	value, unit := float64(n)/1000, 0
	for ; value >= 999.95; unit++ {
		value /= 1000
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTPE"[unit])
}

// skipped collects what a copy leaves out, and names no more than an answer may.
type skipped struct {
	Entries []api.SkippedEntry `json:"entries,omitempty"`
	Total   int                `json:"total,omitempty"`
	bytes   int
}

// maxSkippedBytes bounds the names and reasons in one list: the record that carries it
// may have 1 MiB, and a name may be written with five bytes for one.
const maxSkippedBytes = 64 << 10

func (s *skipped) add(path, why string) {
	s.Total++
	e := api.SkippedEntry{Path: api.ShowName(path), Why: why}
	s.bytes += len(e.Path) + len(e.Why)
	if len(s.Entries) < api.MaxSkipped && s.bytes <= maxSkippedBytes {
		s.Entries = append(s.Entries, e)
	}
}

// specialName says what something is that is no file, folder or link.
func specialName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "neither a file nor a folder"
}
