package api

import (
	"strings"
	"time"
)

// Routes of copies between host and computer, below a session. What is copied travels
// as an archive (see package transfer), which is the body of the request or of the
// answer.
//
// RoutePutArchive unpacks its body. The request proper, a PutArchiveRequest, stands in
// HeaderRequest. A caller that sends "Expect: 100-continue" is refused before it has
// sent anything of the archive. The answer is multipart, see the package comment.
//
// RouteGetArchive answers with an archive of type ArchiveType, which ends in a record
// that says whether it is whole. An archive that breaks off has the reason, an Error, in
// the trailer TrailerError. When there is nothing to pack the answer is an Error.
const (
	RoutePutArchive = "POST /v1/sessions/{id}/put_archive"
	RouteGetArchive = "POST /v1/sessions/{id}/get_archive"
)

const (
	// HeaderRequest carries the JSON of a request whose body is something else.
	HeaderRequest = "Computer-Use-Request"
	// TrailerError carries the JSON of an Error behind a body that is not whole.
	TrailerError = "Computer-Use-Error"
	// ArchiveType is the content type of an archive.
	ArchiveType = "application/x-tar"
)

const (
	// TransferStall is how long a copy may stand still before it is given up.
	TransferStall = time.Minute
	// MaxSkipped is how many skipped entries an answer names; more are counted.
	MaxSkipped = 50
)

// GetArchiveRequest asks for a file or folder of the computer.
type GetArchiveRequest struct {
	Path     string `json:"path"`
	Compress bool   `json:"compress,omitempty"` // the archive, with zstd
}

// PutArchiveRequest says where to unpack an archive, and what it will hold, so that it
// can be refused before it is sent.
type PutArchiveRequest struct {
	Path      string `json:"path"`             // an existing folder, or the new name
	Name      []byte `json:"name"`             // of the source; any bytes, so it is sent as base64
	Folder    bool   `json:"folder,omitempty"` // the source is a folder
	Overwrite bool   `json:"overwrite,omitempty"`
	Verify    bool   `json:"verify,omitempty"`   // read back what was written and compare digests
	Compress  bool   `json:"compress,omitempty"` // the archive is compressed with zstd
}

// TransferResult says what a copy has done.
type TransferResult struct {
	Path       string `json:"path"`  // absolute, where the copy is
	Files      int    `json:"files"` // regular files
	Folders    int    `json:"folders"`
	Links      int    `json:"links,omitempty"` // symbolic links
	Bytes      int64  `json:"bytes"`           // of the files, holes included
	DurationMS int64  `json:"duration_ms"`
	// Checksum is that of everything in the archive, names and contents: "crc32c:" and
	// eight hex digits. Both ends have computed it, and it was the same.
	Checksum string `json:"checksum"`
	Verified bool   `json:"verified"` // every file was read back and had the SHA-256 of what was sent

	Skipped      []SkippedEntry `json:"skipped"`                 // at most MaxSkipped
	SkippedTotal int            `json:"skipped_total,omitempty"` // when there were any
	Notes        []string       `json:"notes,omitempty"`
}

// SkippedEntry is something that was left out of a copy, a folder with all that is in it.
type SkippedEntry struct {
	Path string `json:"path"` // from the source's name on, as ShowName writes it
	Why  string `json:"why"`
}

// Check returns an Error of CodeBadRequest when the path cannot be one.
func (r GetArchiveRequest) Check() error { return checkText("path", r.Path, MaxPath) }

// Check returns an Error of CodeBadRequest when the path cannot be one or the name is
// none.
func (r PutArchiveRequest) Check() error {
	if err := checkText("path", r.Path, MaxPath); err != nil {
		return err
	}
	if name := string(r.Name); name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return badRequest("The name %q is not that of a file or folder.", name).WithFix("Give the name alone, without the folder that it is in.")
	}
	return nil
}
