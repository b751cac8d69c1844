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
	"syscall"
)

// folder is the one in home that only this process may read. Home belongs to the programs'
// user, who can replace what is in it, so nothing there is followed out of home.
const folder = ".computer-use"

// keeper keeps one value in home as a JSON file {"version": 1, "data": value}, mode 0600.
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
	name := filepath.Join(folder, k.file)
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
	f, err := root.OpenFile(filepath.Join(folder, k.file), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
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
	if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	name := filepath.Join(folder, k.file)
	temporary := name + ".new"
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return root.Rename(temporary, name)
}

// jar holds the cookies of all browsers.
type jar struct {
	keeper
	contents contents
}

func openJar(cfg Config) *jar {
	j := &jar{keeper: keeper{cfg.Home, "cookies.json", cfg.Logger}, contents: make(contents)}
	var list []kept
	j.load(&list)
	j.contents.fill(list)
	return j
}

func (j contents) fill(list []kept) {
	for _, c := range list {
		j[c.key()] = c
	}
}

func (j *jar) keep() { j.save(j.contents.list()) }
