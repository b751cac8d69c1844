package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy of the whole home, which programs cannot read all of: the daemon's own folder is
// left out, which the answer says.
func TestCopyOfHome(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("Home")
	s.shell("echo text > notes")
	back := t.TempDir()
	got := s.get("~", filepath.Join(back, "home"))
	if !strings.Contains(got.text, "/.computer-use: it is the computer's own and not for programs") {
		t.Errorf("the answer is %s", got.text)
	}
	if data, err := os.ReadFile(filepath.Join(back, "home/notes")); err != nil || string(data) != "text\n" {
		t.Errorf("%q, %v", data, err)
	}
	if exists(filepath.Join(back, "home/.computer-use")) {
		t.Error("the daemon's own folder was copied")
	}
}
