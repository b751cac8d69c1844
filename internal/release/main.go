// Release builds what a release consists of: an archive for each platform, their
// checksums and a bill of materials. The same commit gives the same bytes, wherever and
// whenever it is built.
//
//	go run ./internal/release -version v1.2.3 -out dist
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// platform is one that a release has binaries for.
type platform struct {
	os, arch string
	daemon   bool // computerd is in it too, for the local engine
}

// platforms lists them (S0-37, with Linux).
var platforms = []platform{
	{"linux", "amd64", true},
	{"linux", "arm64", true},
	{"darwin", "arm64", false},
	{"windows", "amd64", false},
}

// documents are the repository's files that are in every archive.
var documents = []string{"README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", "docs/config.md", "docs/tools.md", "docs/troubleshooting.md", "docs/page.png"}

func main() {
	version := flag.String("version", "", "of the release, such as v1.2.3")
	out := flag.String("out", "dist", "folder that gets the files; what is in it is deleted")
	only := flag.String("only", "", "build a single platform, such as linux/amd64")
	flag.Parse()
	if err := release(*version, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(version, out, only string) error {
	if version == "" {
		return errors.New("-version is missing")
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	texts, err := generated(version, filepath.Join(work, "here"))
	if err != nil {
		return err
	}
	var built []string
	bills := map[string]bool{}
	for _, p := range platforms {
		name := p.os + "/" + p.arch
		if only != "" && only != name {
			continue
		}
		fmt.Fprintln(os.Stderr, "building", name)
		files, err := build(p, version, filepath.Join(work, p.os+"-"+p.arch))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range files {
			if err := collect(bills, f.from); err != nil {
				return err
			}
		}
		for _, d := range documents {
			files = append(files, file{name: d, from: d, mode: 0o644})
		}
		archive, err := pack(out, fmt.Sprintf("computer-use-mcp_%s_%s_%s", strings.TrimPrefix(version, "v"), p.os, p.arch), p.os, slices.Concat(files, texts))
		if err != nil {
			return err
		}
		built = append(built, archive)
	}
	if len(built) == 0 {
		return fmt.Errorf("there is no platform %q", only)
	}
	bill, err := billOfMaterials(version, bills)
	if err != nil {
		return err
	}
	const billName = "computer-use-mcp.cdx.json"
	if err := os.WriteFile(filepath.Join(out, billName), bill, 0o644); err != nil {
		return err
	}
	return writeSums(out, append(built, billName))
}

// build builds a platform's binaries as `make build` does.
func build(p platform, version, dir string) (files []file, err error) {
	packages := []string{"computer-use-mcp"}
	if p.daemon {
		packages = append(packages, "computerd")
	}
	for _, pkg := range packages {
		name := pkg
		if p.os == "windows" {
			name += ".exe"
		}
		path := filepath.Join(dir, name)
		if err := compile(p, version, "./cmd/"+pkg, path); err != nil {
			return nil, err
		}
		files = append(files, file{name: name, from: path, mode: 0o755})
	}
	return files, nil
}

func compile(p platform, version, pkg, to string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version, "-o", to, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// generated returns the files that the program itself prints. program is where it can be
// built for this machine.
func generated(version, program string) (files []file, err error) {
	if err := compile(platform{os: runtime.GOOS, arch: runtime.GOARCH}, version, "./cmd/computer-use-mcp", program); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		args []string
	}{
		{"completions/computer-use-mcp.bash", []string{"completion", "bash"}},
		{"completions/_computer-use-mcp", []string{"completion", "zsh"}},
		{"completions/computer-use-mcp.fish", []string{"completion", "fish"}},
		{"man/computer-use-mcp.1", []string{"help", "--man"}},
	} {
		cmd := exec.Command(program, f.args...)
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, file{name: f.name, data: text, mode: 0o644})
	}
	return files, nil
}

// writeSums writes what `sha256sum --check` reads.
func writeSums(dir string, names []string) error {
	var b strings.Builder
	slices.Sort(names)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o644)
}
