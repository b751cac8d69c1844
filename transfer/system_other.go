//go:build !linux

package transfer

import (
	"errors"
	"io/fs"
	"os"
)

// createUnnamed returns an error: only Linux has files without a name.
func createUnnamed(*os.Root, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func nameUnnamed(_, _ *os.File, _ string) error { return errors.ErrUnsupported }

// forget does nothing: there is no portable way.
func forget(*os.File) {}

// extents returns the whole file: holes are found on Linux only.
func extents(_ *os.File, size int64) (parts []extent, holes bool) { return []extent{{0, size}}, false }
