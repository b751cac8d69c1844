package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Issue 10, item 3, and S0-36: a second build, from another folder, gives the same bytes,
// and the archive has what its user needs.
func TestReleaseIsReproducible(t *testing.T) {
	const name = "computer-use-mcp_1.2.3_linux_amd64"
	var sums [2]string
	var archive []byte
	for i, root := range []string{"../..", copyOfTheTree(t)} {
		t.Chdir(root)
		out := filepath.Join(t.TempDir(), "dist")
		if err := release("v1.2.3", out, "linux/amd64"); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(data)
		check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
		check.Dir = out
		if text, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		if archive, err = os.ReadFile(filepath.Join(out, name+".tar.gz")); err != nil {
			t.Fatal(err)
		}
		checkBill(t, filepath.Join(out, "computer-use-mcp.cdx.json"))
		t.Chdir(os.TempDir())
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds differ:\n%s\n%s", sums[0], sums[1])
	}

	dir := t.TempDir()
	names := untar(t, archive, dir)
	for _, want := range slices.Concat(documents, []string{
		"computer-use-mcp", "computerd", "man/computer-use-mcp.1",
		"completions/computer-use-mcp.bash", "completions/_computer-use-mcp", "completions/computer-use-mcp.fish",
	}) {
		if !slices.Contains(names, name+"/"+want) {
			t.Errorf("the archive has no %s: %q", want, names)
		}
	}
	// S0-240, S3-64
	if licence, err := os.ReadFile(filepath.Join(dir, name, "LICENSE")); err != nil || !strings.HasPrefix(string(licence), "MIT License") {
		t.Errorf("the licence is %.40q, %v", licence, err)
	}
	out, err := exec.Command(filepath.Join(dir, name, "computer-use-mcp"), "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "computer-use-mcp v1.2.3 ") {
		t.Errorf("%q, %v", out, err)
	}
}

// copyOfTheTree copies the repository, without what git keeps, to another path.
func copyOfTheTree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "another path")
	for _, name := range []string{"go.mod", "go.sum", "README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md"} {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	// node_modules is large, and nothing of it is built in by itself.
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || e.Name() == "dist" {
			continue
		}
		cmd := exec.Command("tar", "-C", "../..", "--exclude", "node_modules", "-cf", "-", e.Name())
		into := exec.Command("tar", "-C", dir, "-xf", "-")
		if into.Stdin, err = cmd.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(cmd.Start(), into.Run(), cmd.Wait()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// untar unpacks an archive and returns the names in it.
func untar(t *testing.T, archive []byte, dir string) (names []string) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		path := filepath.Join(dir, header.Name)
		data, err := io.ReadAll(r)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, os.FileMode(header.Mode)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkBill looks for a module, the toolchain and noVNC in a bill of materials.
func checkBill(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat  string      `json:"bomFormat"`
		Components []component `json:"components"`
	}
	if err := json.Unmarshal(data, &bill); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"github.com/modelcontextprotocol/go-sdk", "github.com/jezek/xgb", "std", "@novnc/novnc"} {
		if !slices.ContainsFunc(bill.Components, func(c component) bool { return c.Name == want && c.Version != "" && c.PURL == c.Ref }) {
			t.Errorf("the bill of materials lacks %s", want)
		}
	}
	// S0-174
	if !slices.ContainsFunc(bill.Components, func(c component) bool { return c.Name == "@novnc/novnc" && c.Version == "1.7.0" }) {
		t.Error("the viewer page has another noVNC than 1.7.0")
	}
	if bill.BOMFormat != "CycloneDX" {
		t.Errorf("it is a %q", bill.BOMFormat)
	}
}

// S0-37: who gets a binary.
func TestPlatforms(t *testing.T) {
	for _, want := range []string{"windows/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"} {
		if !slices.ContainsFunc(platforms, func(p platform) bool { return p.os+"/"+p.arch == want }) {
			t.Errorf("a release has no %s", want)
		}
	}
}

// Windows gets a zip, which is the same each time too.
func TestZip(t *testing.T) {
	var archives [2][]byte
	for i := range archives {
		dir := t.TempDir()
		name, err := pack(dir, "product", "windows", []file{{name: "b.exe", data: []byte("program"), mode: 0o755}, {name: "a/text", data: []byte("text"), mode: 0o644}})
		if err != nil || name != "product.zip" {
			t.Fatal(name, err)
		}
		if archives[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives differ")
	}
	r, err := zip.NewReader(bytes.NewReader(archives[0]), int64(len(archives[0])))
	if err != nil || len(r.File) != 2 || r.File[0].Name != "product/a/text" || r.File[1].Name != "product/b.exe" {
		t.Errorf("%v, %v", r.File, err)
	}
}

// Issue 10, item 3: go install works in a bare clone, because the host binary embeds
// nothing that is fetched or generated at build.
func TestTheHostBinaryNeedsNoAssets(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/computer-use-mcp")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		if strings.HasSuffix(strings.TrimSpace(pkg), "/viewer") {
			t.Errorf("it is built from %s", pkg)
		}
	}
}
