package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/falleng0d/computer-use-mcp/session/private"
)

// keeper keeps one value in the private folder of home as a JSON file
// {"version": 1, "data": value}.
type keeper struct {
	home, file string
	logger     *slog.Logger
}

// version is that of the files' format. A file of another one is set aside.
const version = 1

// maxKept is the largest file that is read, in bytes.
const maxKept = 64 << 20

// load reads the value. A file that cannot be read is kept with the suffix .bad, and the
// value stays as it is.
func (k keeper) load(v any) {
	err := k.read(v)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	k.logger.Warn("set aside what cannot be read", "file", k.file, "error", err)
	root, err := os.OpenRoot(k.home)
	if err != nil {
		return
	}
	defer root.Close()
	name := filepath.Join(private.Folder, k.file)
	if err := root.Rename(name, name+".bad"); err != nil {
		k.logger.Error("set aside what cannot be read", "file", k.file, "error", err)
	}
}

func (k keeper) read(v any) error {
	root, err := os.OpenRoot(k.home)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := private.Open(root, filepath.Join(private.Folder, k.file))
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKept))
	if err != nil {
		return err
	}
	return parse(data, v)
}

// parse decodes a file.
func parse(data []byte, v any) error {
	var file struct {
		Version int
		Data    json.RawMessage
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	if file.Version != version {
		return fmt.Errorf("its format is %d, not %d", file.Version, version)
	}
	return json.Unmarshal(file.Data, v)
}

// format is the opposite of parse.
func format(v any) ([]byte, error) {
	return json.Marshal(map[string]any{"version": version, "data": v})
}

// save replaces the value, so that the file is whole at every moment.
func (k keeper) save(v any) {
	if err := k.write(v); err != nil {
		k.logger.Error("keep in home", "file", k.file, "error", err)
	}
}

func (k keeper) write(v any) error {
	data, err := format(v)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(k.home)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := private.Make(root); err != nil {
		return err
	}
	return private.Write(root, filepath.Join(private.Folder, k.file), data)
}
