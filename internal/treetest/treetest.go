// Package treetest helps tests of copies: it describes what is in a folder, and has the
// names that some program somewhere gets wrong.
package treetest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// OddNames are names that Linux stores and that are hard to quote, to show or to compare.
var OddNames = []string{
	"with space", "-rf", "new\nline", `quo"te'`, strings.Repeat("n", 255), strings.Repeat("日", 85), "caf\u00e9", "cafe\u0301",
	"🦊", "bad\xff\xfeutf8", "$HOME", "`id`", "*", `a\b`, ".hidden", "...", "tab\t", "\x01\x7f", "CON", "a:b", "=1 path=x\n",
}

// List describes everything below a folder, a line each: name, mode, and what a file or
// link holds, but neither owners nor times. Where there is no folder it is empty.
func List(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return fs.SkipAll
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		line := fmt.Sprintf("%q %v", filepath.ToSlash(rel), info.Mode())
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", len(data), sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += fmt.Sprintf(" -> %q", to)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
