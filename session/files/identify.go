package files

import (
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Identity says what is at a path.
type Identity struct {
	Path string // absolute
	Type string // the MIME type, that of a folder being FolderType
}

// FolderType is the MIME type of a folder (Shared MIME-info Database).
const FolderType = "inode/directory"

// identify tells a file's type by its name, or by how it begins where its name says
// nothing. Programs are given names, so the name counts first.
func identify(p place, r api.OpenPathRequest) (Identity, error) {
	id := Identity{Path: p.path(r.Path)}
	if info, err := os.Stat(id.Path); err == nil && info.IsDir() {
		id.Type = FolderType
		return id, nil
	}
	f, err := openFile(id.Path)
	if err != nil {
		return id, err
	}
	defer f.Close()
	typ := mime.TypeByExtension(strings.ToLower(filepath.Ext(id.Path)))
	if typ == "" {
		head := make([]byte, 512) // what DetectContentType looks at
		n, _ := f.Read(head)      // an empty file is an empty text
		typ = http.DetectContentType(head[:n])
	}
	id.Type, _, _ = mime.ParseMediaType(typ)
	return id, nil
}
