package transfer

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Source is a file or folder that is going to be packed. It belongs to one goroutine.
type Source struct {
	Origin
	end  End
	path string
	file *os.File // of a file
	root *os.Root // of a folder
	info fs.FileInfo
	omit omission
}

// omission is a folder that is not packed.
type omission struct {
	folder fs.FileInfo // nil for none
	why    string
}

// is reports whether an entry of a folder is the one that is not packed, by whatever
// path it was reached.
func (o omission) is(e fs.DirEntry) bool {
	if o.folder == nil || e.Name() != o.folder.Name() {
		return false
	}
	info, err := e.Info()
	return err == nil && os.SameFile(info, o.folder)
}

// Open opens the file or folder at an absolute path. A link that is named is followed;
// those in a folder are copied as links. What cannot be read is refused here, before
// anything moves.
func Open(end End, path string) (*Source, error) {
	s := &Source{end: end, path: path, Origin: Origin{Name: filepath.Base(path)}}
	info, err := os.Stat(path)
	if err != nil {
		return nil, end.pathError("read", path, err)
	}
	switch {
	case info.IsDir():
		s.Folder = true
		s.root, err = os.OpenRoot(path)
	case info.Mode().IsRegular():
		s.file, err = os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	default:
		return nil, api.Errorf(api.CodeUnsupported, "%s is %s; only files and folders are copied.", api.ShowName(path), specialName(info.Mode())).
			WithFix("Copy what it yields: write that into a file first.")
	}
	if err != nil {
		return nil, end.pathError("read", path, err)
	}
	// What was opened counts, not what was there before.
	if s.Folder {
		s.info, err = s.root.Stat(".")
	} else {
		s.info, err = s.file.Stat()
	}
	if err != nil || s.info.Mode().Type() != info.Mode().Type() {
		s.Close()
		return nil, api.Errorf(api.CodeUnsupported, "%s changes while it is looked at.", api.ShowName(path)).WithFix("Try again.").WithRetry()
	}
	if !validName(s.Name) || s.Name == string(filepath.Separator) {
		s.Close()
		return nil, api.Errorf(api.CodeBadRequest, "%s has no name of its own under which it could be copied.", api.ShowName(path)).
			WithFix("Copy the folders in it one by one.")
	}
	return s, nil
}

// LeaveOut has Pack leave out the folder at a path when it is somewhere in the source,
// and list it as skipped for the reason why.
func (s *Source) LeaveOut(path, why string) {
	if info, err := os.Lstat(path); err == nil { // what is not there is not packed
		s.omit = omission{info, why}
	}
}

// Close closes what Open has opened.
func (s *Source) Close() error {
	if s.root != nil {
		return s.root.Close()
	}
	return s.file.Close()
}
