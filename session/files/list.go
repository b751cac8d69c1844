package files

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
)

// maxRead is how many entries of one folder are looked at.
const maxRead = 1 << 20

// list lists a folder: folders first, then everything else, each by name.
func list(p place, r api.ListFilesRequest) (result api.ListFilesResult, err error) {
	path := p.path(r.Path)
	// O_DIRECTORY fails for everything else before it is opened: a pipe would block.
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if errors.Is(err, syscall.ENOTDIR) {
		return result, api.Errorf(api.CodeNotAFolder, "%s is not a folder.", show(path)).WithFix("read_file reads a file.")
	}
	if err != nil {
		return result, pathError("list", path, err)
	}
	defer dir.Close()
	var entries []fs.DirEntry
	for len(entries) < maxRead {
		some, err := dir.ReadDir(1000)
		entries = append(entries, some...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return result, pathError("list", path, err)
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Name(), b.Name()))
	})
	result = api.ListFilesResult{Path: show(path), Entries: []api.FileEntry{}, Total: len(entries), Cut: len(entries) > api.MaxEntries}
	for _, e := range entries[:min(len(entries), api.MaxEntries)] {
		result.Entries = append(result.Entries, describe(path, e))
	}
	return result, nil
}

func order(e fs.DirEntry) int {
	if e.IsDir() {
		return 0
	}
	return 1
}

// describe returns what is known of an entry. One that has just gone has no size.
func describe(dir string, e fs.DirEntry) api.FileEntry {
	entry := api.FileEntry{Name: show(e.Name()), Type: typeOf(e.Type())}
	if info, err := e.Info(); err == nil {
		entry.Size, entry.ModifiedAt = info.Size(), info.ModTime().UTC()
	}
	if entry.Type == api.TypeLink {
		target, _ := os.Readlink(filepath.Join(dir, e.Name()))
		entry.Target = show(target)
	}
	return entry
}

func typeOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return api.TypeFolder
	case mode&fs.ModeSymlink != 0:
		return api.TypeLink
	case mode.IsRegular():
		return api.TypeFile
	}
	return api.TypeOther
}
