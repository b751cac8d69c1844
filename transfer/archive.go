package transfer

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// An archive is a tar archive in PAX format, of one file or folder. A folder stands
// before what is in it, and the entries of a folder are sorted by their names' bytes:
// so duplicates cannot hide, and whoever unpacks has to remember one path only.
//
// Three records of our own say what tar has no words for:
const (
	// recordEnd stands in a global header at the end and holds an ending. Without it
	// an archive is broken off.
	recordEnd = "COMPUTERUSE.end"
	// recordRetract stands in a global header behind a file that became shorter while it
	// was packed, and whose end therefore is made up.
	recordRetract = "COMPUTERUSE.retract"
	// recordExtents and recordSize stand at a file with holes. The body of the entry is
	// what is in the extents, the size is that of the file.
	recordExtents = "COMPUTERUSE.extents"
	recordSize    = "COMPUTERUSE.size"
)

// entryRecords are all records that the header of an entry may have.
var entryRecords = []string{"path", "linkpath", "size", recordExtents, recordSize}

// ending is what the packer says at the end.
type ending struct {
	Checksum string     `json:"checksum,omitempty"`
	Skipped  skipped    `json:"skipped"`
	Changed  skipped    `json:"changed"`
	Error    *api.Error `json:"error,omitempty"` // why it stopped before everything was packed
}

// checksum is that of the entries of an archive, CRC-32C. It finds what memory and
// networks do to bytes, and costs a tenth of what a SHA-256 does, which would be a
// third of all work at each end.
type checksum struct{ hash.Hash32 }

func newChecksum() checksum { return checksum{crc32.New(crc32.MakeTable(crc32.Castagnoli))} }

// entry adds a header. The content of a file is written behind it.
func (c checksum) entry(h *tar.Header) {
	fmt.Fprintf(c, "%c %q %q %o %d %q\n", h.Typeflag, h.Name, h.Linkname, h.Mode, h.Size, h.PAXRecords[recordExtents])
}

func (c checksum) String() string { return fmt.Sprintf("crc32c:%08x", c.Sum32()) }

// extent is a part of a file that is not a hole, in bytes.
type extent struct{ at, size int64 }

// maxExtents bounds the record. What is behind the last one is sent as it is.
const maxExtents = 1000

func formatExtents(list []extent) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "%d+%d,", e.at, e.size)
	}
	return b.String()
}

// errArchive is the error for what no packer of ours writes.
func errArchive(format string, args ...any) *api.Error {
	return api.Errorf(api.CodeUnsupported, "The archive was refused: "+format+".", args...).
		WithFix("Nothing was written outside the destination. Copy the source in smaller parts to find out what is wrong with it.")
}

// extentsOf returns where the body of an entry belongs, and the size of the file.
func extentsOf(h *tar.Header) (list []extent, size int64, err error) {
	text, ok := h.PAXRecords[recordExtents]
	if !ok {
		return []extent{{0, h.Size}}, h.Size, nil
	}
	bad := errArchive("the holes of %s make no sense", api.ShowName(h.Name))
	size, err = strconv.ParseInt(h.PAXRecords[recordSize], 10, 64)
	if err != nil || size < 0 {
		return nil, 0, bad
	}
	var end, sum int64
	for part := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		if text == "" {
			break // a file that is one hole
		}
		at, length, _ := strings.Cut(part, "+")
		var e extent
		var errAt, errSize error
		e.at, errAt = strconv.ParseInt(at, 10, 64)
		e.size, errSize = strconv.ParseInt(length, 10, 64)
		if errAt != nil || errSize != nil || e.at < end || e.size <= 0 || e.size > size-e.at || len(list) == maxExtents {
			return nil, 0, bad
		}
		end = e.at + e.size
		sum += e.size
		list = append(list, e)
	}
	if sum != h.Size {
		return nil, 0, bad
	}
	return list, size, nil
}

// Archive is a stream that is being read. It belongs to one goroutine.
type Archive struct {
	Origin
	tar   *tar.Reader
	first *tar.Header
}

// NewArchive reads the beginning of an archive. An archive of nothing, which holds the
// reason, returns that as its error.
func NewArchive(r io.Reader) (*Archive, error) {
	a := &Archive{tar: tar.NewReader(bufio.NewReaderSize(r, bufferSize))}
	h, err := a.next()
	if err != nil {
		return nil, err
	}
	if end, err := endOf(h); err != nil {
		return nil, err
	} else if end != nil && end.Error != nil {
		return nil, end.Error
	}
	name, folder := strings.CutSuffix(h.Name, "/")
	if !validName(name) || folder != (h.Typeflag == tar.TypeDir) || !slices.Contains([]byte{tar.TypeDir, tar.TypeReg}, h.Typeflag) {
		return nil, errArchive("it begins with %s", api.ShowName(h.Name))
	}
	a.first, a.Origin = h, Origin{name, folder}
	return a, nil
}

// next returns the next header.
func (a *Archive) next() (*tar.Header, error) {
	if h := a.first; h != nil {
		a.first = nil
		return h, nil
	}
	h, err := a.tar.Next()
	return h, archiveError(err)
}

// archiveError words what went wrong when the stream was read. An error of the stream
// itself stays what it is.
func archiveError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.Is(err, tar.ErrWriteTooLong):
		return errArchive("it is no tar archive that can be read (%v)", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return api.Errorf(api.CodeInternal, "The stream of files broke off before its end.").
			WithFix("What packs the files has died. Look at what has arrived, then copy again with overwrite.").WithRetry()
	}
	return err
}

// endOf returns the ending that a header carries, nil when it is another header.
func endOf(h *tar.Header) (*ending, error) {
	if h.Typeflag != tar.TypeXGlobalHeader || h.PAXRecords[recordEnd] == "" {
		return nil, nil
	}
	var end ending
	if err := json.Unmarshal([]byte(h.PAXRecords[recordEnd]), &end); err != nil {
		return nil, errArchive("its end cannot be read (%v)", err)
	}
	return &end, nil
}

// validName reports whether a name can be that of one entry of a folder, on a system
// where only the slash and NUL are special.
func validName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}
