package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Resolve makes a path that an agent gives absolute: ~ is home, a relative one starts in
// dir, the session's folder.
func Resolve(home, dir, name string) string {
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(home, rest)
	}
	if !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return filepath.Clean(name)
}

func (p place) path(name string) string { return Resolve(p.home, p.dir, name) }

// enter returns the absolute path of a folder that programs can be started in.
func enter(p place, r api.SetCwdRequest) (api.SetCwdResult, error) {
	path := p.path(r.Path)
	if err := os.Chdir(path); err != nil {
		return api.SetCwdResult{}, pathError("enter", path, err)
	}
	return api.SetCwdResult{Cwd: path}, nil
}

// lookFor reports whether there is something at a path, be it a link that leads nowhere.
func lookFor(p place, r api.WaitRequest) (bool, error) {
	path := p.path(r.Path)
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // a file may still become a folder
		return false, nil
	}
	return false, pathError("look for", path, err)
}

// pathError words an error of the system about a path. verb is what was to be done.
func pathError(verb, path string, err error) *api.Error {
	name := show(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := api.Errorf(api.CodeNotFound, "There is no %s.", name)
		if parent := nearest(path); parent != "" {
			return e.WithFix("The nearest folder that exists is %s; list_files shows what is in it.", show(parent))
		}
		return e.WithFix("Check the path; list_files shows a folder.")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return api.Errorf(api.CodePermissionDenied, "The computer's user may not %s %s: %v.", verb, name, cause(err)).
			WithFix("Look at its rights with shell (ls -ld), or use another path; most of home (~) can be written.")
	case errors.Is(err, syscall.ENOTDIR):
		return api.Errorf(api.CodeNotAFolder, "%s, or a part of it, is not a folder.", name).
			WithFix("Check the path; read_file reads a file.")
	case errors.Is(err, syscall.EISDIR):
		return folderError(name)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return api.Errorf(api.CodeBadRequest, "%s is not a path that the system takes: %v.", name, cause(err)).WithFix("Use another path.")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return api.Errorf(api.CodeTooLarge, "There is no room for %s: %v.", name, cause(err)).WithFix("Free space on the computer, for example in ~/.cache.")
	}
	return api.Errorf(api.CodeUnsupported, "%s does not let itself %s: %v.", name, verb, cause(err)).
		WithFix("Use shell to find out what it is.")
}

func folderError(name string) *api.Error {
	return api.Errorf(api.CodeIsAFolder, "%s is a folder.", name).WithFix("list_files shows what is in it.")
}

// specialError is for a pipe, a socket or a device: to open one can block for ever, and
// to write to one is not to write a file.
func specialError(name string, mode fs.FileMode) *api.Error {
	what := "a device"
	switch {
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return api.Errorf(api.CodeUnsupported, "%s is %s, not a file.", name, what).WithFix("Use shell to work with it, with a timeout.")
}

// cause returns the system's own words for an error.
func cause(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// nearest returns the closest folder above path that exists.
func nearest(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// show returns a name as one line of valid text.
func show(name string) string { return api.ShowName(name) }
