package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// smallDisk mounts a disk of 1 MB that everybody may write to.
func smallDisk(t *testing.T, path string) {
	t.Helper()
	xvfbtest.NeedThat(t, os.Getuid() == 0, "root, to mount a small disk")
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=1m,mode=1777"); err != nil {
		xvfbtest.NeedThat(t, false, fmt.Sprintf("the right to mount a tmpfs (%v)", err))
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

// Issue 8, Done when 4: the disk fills up on either side. What fits is there, nothing
// half-written has a name, and the error says how far it got.
func TestFileTransferFullDisk(t *testing.T) {
	c := newComputer(t)
	inside, outside, host := filepath.Join(c.home, "small"), t.TempDir(), filepath.Join(t.TempDir(), "tree")
	smallDisk(t, inside) // the computer that starts has it in its home
	smallDisk(t, outside)
	if err := os.Mkdir(host, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"a": 300_000, "b": 900_000, "c": 1} {
		// Not zeros: those are holes, which take no room.
		if err := os.WriteFile(filepath.Join(host, name), []byte(strings.Repeat("x", size)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := c.agent().start("Full disk")
	s.put(host, "~/tree")
	for disk, args := range map[string]map[string]any{
		inside:  transferArgs("to_computer", host, "~/small", nil),
		outside: transferArgs("from_computer", outside, "~/tree", nil),
	} {
		args["session"] = s.id
		_, err := s.try("file_transfer", args)
		if r := new(refusal); !errors.As(err, &r) || r.Code != "too_large" || !strings.Contains(r.Message, "1 file") {
			t.Errorf("%v", err)
		}
		entries, err := os.ReadDir(filepath.Join(disk, "tree"))
		if err != nil || len(entries) != 1 || entries[0].Name() != "a" {
			t.Errorf("%s holds %v, %v", disk, entries, err)
		}
	}
}
