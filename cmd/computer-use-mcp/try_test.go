package main

import (
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Where the picture cannot be saved, the person learns that the trial itself went well.
func TestSavePicture(t *testing.T) {
	t.Chdir(t.TempDir())
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("picture")}}}
	if err := savePicture(result); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(tryFile); err != nil || string(data) != "picture" {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.Remove(tryFile); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tryFile, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := savePicture(result); err == nil || !strings.Contains(err.Error(), "everything worked") {
		t.Error(err)
	}
}
