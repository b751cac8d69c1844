package api

import (
	"strings"
	"time"
)

// Routes of files, all below a session. Their paths are absolute, from the session's
// folder (see RouteSetCwd), or from ~.
const (
	RouteListFiles   = "POST /v1/sessions/{id}/list_files"
	RouteReadFile    = "POST /v1/sessions/{id}/read_file"
	RouteWriteFile   = "POST /v1/sessions/{id}/write_file"
	RouteEditFile    = "POST /v1/sessions/{id}/edit_file"
	RouteSearchFiles = "POST /v1/sessions/{id}/search_files"
)

// Limits of the file routes.
const (
	MaxPath       = 4096     // bytes of a path
	MaxEntries    = 1000     // of one folder in an answer
	MaxReadFile   = 50 << 20 // bytes of a file that is read as text
	MaxReadImage  = 1 << 20  // bytes of a file that is read as an image
	MaxWriteFile  = 10 << 20 // bytes
	MaxMatches    = 200      // of one search
	MaxMatchLine  = 300      // bytes of a line that is shown
	MaxPattern    = 1000     // bytes of a pattern or glob
	MaxSearchTime = 20 * time.Second
	// MaxFileBody bounds a request that carries a file's text, in bytes of JSON, which
	// may write one byte as six.
	MaxFileBody = 6*MaxWriteFile + MaxRequestBody
)

// Types of FileEntry.
const (
	TypeFolder = "folder"
	TypeFile   = "file"
	TypeLink   = "link"
	TypeOther  = "other" // a pipe, a socket or a device
)

// ListFilesRequest lists a folder.
type ListFilesRequest struct {
	Path string `json:"path,omitempty"` // default: the session's folder
}

// FileEntry is one entry of a folder. A name that holds a control character or broken
// UTF-8 is shown as bash's $'...', which shell takes as it is.
type FileEntry struct {
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	Size       int64     `json:"size"` // bytes
	ModifiedAt time.Time `json:"modified_at"`
	Target     string    `json:"target,omitempty"` // of a link
}

// ListFilesResult is the answer of RouteListFiles: folders first, each kind by name.
type ListFilesResult struct {
	Path    string      `json:"path"` // absolute
	Entries []FileEntry `json:"entries"`
	Total   int         `json:"total"` // entries in the folder; more than are listed when it is cut
	Cut     bool        `json:"cut"`
}

// ReadFileRequest reads a text or an image.
type ReadFileRequest struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty"` // first line, counted from 1
	Limit  int    `json:"limit,omitempty"`  // lines; 0 is all
}

// Kinds of ReadFileResult.
const (
	FileText  = "text"
	FileImage = "image"
)

// ReadFileResult is the answer of RouteReadFile. An image's bytes are a part of their
// own.
type ReadFileResult struct {
	Path string `json:"path"` // absolute
	Kind string `json:"kind"`
	Size int64  `json:"size"` // bytes of the file

	// Of a text:
	Text      string `json:"text,omitempty"`
	Encoding  string `json:"encoding,omitempty"` // utf-8, utf-16le, utf-16be or latin-1
	Lines     int    `json:"lines,omitempty"`    // in the file
	FirstLine int    `json:"first_line,omitempty"`
	LastLine  int    `json:"last_line,omitempty"`
	CutBytes  int64  `json:"cut_bytes,omitempty"` // left out of the middle

	// Of an image:
	Format string `json:"format,omitempty"` // png or jpeg
	Width  int    `json:"width,omitempty"`  // pixels
	Height int    `json:"height,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

// WriteFileRequest replaces or makes a file.
type WriteFileRequest struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// WriteFileResult is the answer of RouteWriteFile.
type WriteFileResult struct {
	Path    string   `json:"path"` // absolute; of a link, what it leads to
	Bytes   int      `json:"bytes"`
	Created bool     `json:"created"`
	Notes   []string `json:"notes,omitempty"`
}

// EditFileRequest replaces an exact text in a file.
type EditFileRequest struct {
	Path    string `json:"path"`
	OldText string `json:"old_text"`
	NewText string `json:"new_text"`
	All     bool   `json:"all,omitempty"` // every place; otherwise there must be exactly one
}

// EditFileResult is the answer of RouteEditFile.
type EditFileResult struct {
	Path     string   `json:"path"`
	Replaced int      `json:"replaced"` // places
	Lines    []int    `json:"lines"`    // of the first places, in the file as it was
	Bytes    int      `json:"bytes"`    // of the file now
	Notes    []string `json:"notes,omitempty"`
}

// SearchFilesRequest looks for lines that match a pattern, or for files by name when
// there is only a glob.
type SearchFilesRequest struct {
	Pattern    string `json:"pattern,omitempty"` // a regular expression, RE2 syntax
	Path       string `json:"path,omitempty"`    // folder or file; default: the session's folder
	Glob       string `json:"glob,omitempty"`    // *.go, src/**/*.ts
	IgnoreCase bool   `json:"ignore_case,omitempty"`
}

// SearchMatch is a line, or a file when the search was by name.
type SearchMatch struct {
	Path string `json:"path"` // usable as a path argument
	Line int    `json:"line,omitempty"`
	Text string `json:"text,omitempty"` // cut to MaxMatchLine
}

// SearchFilesResult is the answer of RouteSearchFiles.
type SearchFilesResult struct {
	Path    string        `json:"path"` // absolute, where the search began
	Matches []SearchMatch `json:"matches"`
	Cut     bool          `json:"cut"` // there may be more
	Notes   []string      `json:"notes,omitempty"`
}

// Check returns an Error of CodeBadRequest when a path or a number cannot be.
func (r ReadFileRequest) Check() error {
	if err := checkText("path", r.Path, MaxPath); err != nil {
		return err
	}
	const most = 1 << 30
	if err := inRange("offset", int64(r.Offset), 0, most); err != nil {
		return sentence(err)
	}
	if err := inRange("limit", int64(r.Limit), 0, most); err != nil {
		return sentence(err)
	}
	return nil
}

// Check returns an Error of CodeBadRequest for a path that cannot be, of CodeTooLarge
// for too much content.
func (r WriteFileRequest) Check() error {
	if err := checkText("path", r.Path, MaxPath); err != nil {
		return err
	}
	return checkContent(len(r.Content))
}

// Check returns an Error of CodeBadRequest for an edit that makes no sense.
func (r EditFileRequest) Check() error {
	if err := checkText("path", r.Path, MaxPath); err != nil {
		return err
	}
	if r.OldText == "" {
		return badRequest("The argument old_text is empty.").WithFix("Give the text to replace, or use write_file for a whole file.")
	}
	if r.OldText == r.NewText {
		return badRequest("The arguments old_text and new_text are the same.").WithFix("Nothing was done; give the text that should stand there.")
	}
	return checkContent(max(len(r.OldText), len(r.NewText)))
}

// Check returns an Error of CodeBadRequest when there is nothing to look for or a
// value cannot be.
func (r SearchFilesRequest) Check() error {
	if r.Pattern == "" && r.Glob == "" {
		return badRequest("There is neither a pattern nor a glob.").WithFix("Give a pattern to search in files, a glob to find files by name, or both.")
	}
	for _, f := range []struct {
		name, value string
		max         int
	}{{"pattern", r.Pattern, MaxPattern}, {"glob", r.Glob, MaxPattern}, {"path", r.Path, MaxPath}} {
		if f.value == "" {
			continue
		}
		if err := checkText(f.name, f.value, f.max); err != nil {
			return err
		}
	}
	if strings.Contains(r.Pattern, "\n") {
		return badRequest("The pattern holds a newline, but lines are searched one by one.").WithFix("Search for a part of one line.")
	}
	return nil
}

// Check returns an Error of CodeBadRequest when the path cannot be one.
func (r ListFilesRequest) Check() error {
	if r.Path == "" {
		return nil
	}
	return checkText("path", r.Path, MaxPath)
}

// Check returns an Error of CodeBadRequest when the path cannot be one.
func (r SetCwdRequest) Check() error { return checkText("path", r.Path, MaxPath) }

// checkText refuses what cannot be handed to the system as a string.
func checkText(name, value string, most int) error {
	switch {
	case strings.TrimSpace(value) == "":
		return badRequest("The argument %s is empty.", name).WithFix("Give it a value; nothing was done.")
	case strings.Contains(value, "\x00"):
		return badRequest("The argument %s holds a NUL character.", name).WithFix("Leave it out.")
	case len(value) > most:
		return Errorf(CodeTooLarge, "The argument %s has %d bytes; at most %d are accepted.", name, len(value), most).
			WithFix("Give a shorter one; long text goes into a file with write_file.")
	}
	return nil
}

func checkContent(n int) error {
	if n > MaxWriteFile {
		return Errorf(CodeTooLarge, "The text has %d bytes; a file may have at most %d.", n, MaxWriteFile).
			WithFix("Write it in parts from shell, or bring the file over with file_transfer.")
	}
	return nil
}
