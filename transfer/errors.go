package transfer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
)

// pathError words an error of the system about a path. verb is what was to be done.
func (end End) pathError(verb, path string, err error) *api.Error {
	name := api.ShowName(path)
	switch {
	case isFull(err):
		return api.Errorf(api.CodeTooLarge, "There is no room on the %s for %s: %v.", end, name, cause(err)).
			WithFix("Free space there, or choose a destination on another disk.")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e := api.Errorf(api.CodePermissionDenied, "It is not allowed to %s %s on the %s: %v.", verb, name, end, cause(err))
		switch {
		case end == Computer && verb == "read":
			return e.WithFix("Copy what is beside it in parts, or change the rights with shell.")
		case end == Computer:
			return e.WithFix("Use a path in home (~), which belongs to the computer's user, or change the rights with shell.")
		}
		return e.WithFix("Use another host_path, or ask the user to change the rights.")
	case errors.Is(err, fs.ErrNotExist):
		return end.missing(path)
	case errors.Is(err, fs.ErrExist):
		return end.exists(path)
	case errors.Is(err, syscall.ENOTDIR):
		return api.Errorf(api.CodeNotAFolder, "%s, or a part of it, is not a folder on the %s.", name, end).
			WithFix("All but the last part of a path must be folders, and the last too when a slash follows it: correct the path.")
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return api.Errorf(api.CodeBadRequest, "%s is not a path that the %s takes: %v.", name, end, cause(err)).WithFix("Use another path.")
	}
	return api.Errorf(api.CodeUnsupported, "The %s could not %s %s: %v.", end, verb, name, cause(err)).
		WithFix("Find out what is the matter with that path, or use another one.")
}

// missing is the error for a path where nothing is.
func (end End) missing(path string) *api.Error {
	e := api.Errorf(api.CodeNotFound, "There is no %s on the %s.", api.ShowName(path), end)
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return e.WithFix("The nearest folder that exists is %s.", api.ShowName(dir))
		}
	}
	return e.WithFix("Check the path.")
}

// exists is the error for a path that is taken.
func (end End) exists(path string) *api.Error {
	return api.Errorf(api.CodeExists, "%s exists already on the %s.", api.ShowName(path), end).
		WithFix("Choose another destination, or set overwrite: then files are replaced, and folders merged.")
}

// conflict is the error for a file where a folder is, or the other way round. It is nil
// when what is there may be replaced by, or merged with, what comes.
func (end End) conflict(path string, there fs.FileMode, folder bool) error {
	name := api.ShowName(path)
	switch {
	case folder && there.IsDir(), !folder && (there.IsRegular() || there&fs.ModeSymlink != 0):
		return nil
	case there.IsDir():
		return api.Errorf(api.CodeIsAFolder, "%s is a folder on the %s, and a file never replaces a folder.", name, end).
			WithFix("Choose another destination, or remove the folder first.")
	case folder:
		what := specialName(there)
		if there.IsRegular() {
			what = "a file"
		} else if there&fs.ModeSymlink != 0 {
			what = "a link"
		}
		return api.Errorf(api.CodeNotAFolder, "%s is %s on the %s, and a folder never replaces that.", name, what, end).
			WithFix("Choose another destination, or remove it first.")
	}
	return api.Errorf(api.CodeUnsupported, "%s is %s on the %s, which no file replaces.", name, specialName(there), end).
		WithFix("Choose another destination.")
}

// cause returns the system's own words for an error.
func cause(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}
