package viewer

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// embedded holds the page. Its folder novnc is not in the repository: scripts/fetch-novnc
// fills it before a build, with noVNC as one module.
//
//go:embed assets
var embedded embed.FS

// file is one file of the page, ready to be served.
type file struct {
	data        []byte
	contentType string
	etag        string
}

// contentTypes names all kinds of files that are served. The rest of what noVNC's package
// holds is licences.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// loadFiles reads the embedded files, by their path below assets.
func loadFiles() map[string]file {
	files := make(map[string]file)
	err := fs.WalkDir(embedded, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		contentType := contentTypes[path.Ext(name)]
		if contentType == "" {
			contentType = "text/plain; charset=utf-8"
		}
		files[strings.TrimPrefix(name, "assets/")] = newFile(data, contentType)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("viewer: embedded files: %v", err)) // they were there at compile time
	}
	index := files["index.html"]
	files["index.html"] = newFile(preload(index.data, files), index.contentType)
	return files
}

func newFile(data []byte, contentType string) file {
	sum := sha256.Sum256(data)
	return file{data, contentType, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

// preload names all modules in the page's head. A browser would otherwise find them one
// level of imports after the other, each a round trip and a parse later.
func preload(index []byte, files map[string]file) []byte {
	var links []byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".js" {
			links = fmt.Appendf(links, "<link rel=\"modulepreload\" href=\"assets/%s\">\n", name)
		}
	}
	return bytes.Replace(index, []byte("</head>"), append(links, "</head>"...), 1)
}

// Complete reports whether noVNC was there when this program was built.
func (s *Server) Complete() bool {
	_, ok := s.files["novnc/rfb.js"]
	return ok
}

func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	if !s.Complete() {
		http.Error(w, "The viewer page was left out of this build: run scripts/fetch-novnc and build again.", http.StatusServiceUnavailable)
		return
	}
	s.serveFile(w, r, "index.html")
}

func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	s.serveFile(w, r, r.PathValue("file"))
}

// serveFile lets browsers keep a file but ask each time whether it is still the same: a
// new version of the computer brings a new page at once.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := s.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}
