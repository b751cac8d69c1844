//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// A client that starts servers without HOME is told which variable to set.
func TestNoHomeFolder(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	_, err := New(Config{Name: "test", PortBase: 20900})
	if e := api.AsError(err); err == nil || e.Code != api.CodeEngineUnavailable || !strings.Contains(e.Fix, "HOME") {
		t.Errorf("%v: %+v", err, e)
	}
}

// Where the computer's home cannot be, doctor says so, and not how much room there is.
func TestDiskCheck(t *testing.T) {
	dir := t.TempDir()
	if c := diskCheck(filepath.Join(dir, "there", "will be")); !strings.Contains(c.Detail, "GB") {
		t.Errorf("%+v", c)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c := diskCheck(filepath.Join(file, "home")); c.OK || !strings.Contains(c.Detail, file) || c.Fix == "" {
		t.Errorf("%+v", c)
	}
}
