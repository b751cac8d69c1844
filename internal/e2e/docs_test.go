package e2e

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const root = "../.."

// pages returns every page of documentation, relative to the repository's root.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "image/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, filepath.ToSlash(name))
		}
	}
	if !slices.Contains(all, "README.md") || !slices.Contains(all, "docs/tour.md") {
		t.Fatalf("found only %q", all)
	}
	return all
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// elsewhere names the documented commands that this test does not run, by their first
// words, and who does.
var elsewhere = []struct{ words, why string }{
	{"make try", "CI runs it from a clean checkout"},
	{"make test", "it runs this test"},
	{"make lint", "CI runs it"},
	{"make image", "needs a Docker engine: make e2e-docker builds the image"},
	{"make image-slim", "needs a Docker engine: make e2e-docker builds the image"},
	{"make e2e-docker", "needs a Docker engine; CI runs it"},
	{"docker", "needs a Docker engine: the tests of make e2e-docker do the same through its API"},
	{"mkdir -p ~/.pki/nssdb", "for the computer's user, not for the one at this machine; TestPrivateCA runs it"},
	{"certutil", "the same"},
	{"make release", "builds four platforms twice; internal/release has a test of its own"},
	{"computer-use-mcp serve", "serves until it is stopped; TestHTTP and others run it"},
	{"make docs", "writes the pages that these tests compare"},
	{"computer-use-mcp bench", "takes minutes; TestBench runs it with fewer rounds"},
	{"COMPUTER_USE_ENGINE=local computer-use-mcp bench", "the same"},
}

// Issue 10, Done when 1: every command in a ```sh block of README and docs works, in
// order, for a user who has built the binaries and has no Docker.
func TestDocumentedCommands(t *testing.T) {
	c := newComputer(t)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Dir(binary), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	env := append(slices.Clone(c.env), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	ran := 0
	for _, page := range pages(t) {
		for _, command := range shellCommands(readPage(t, page)) {
			if slices.ContainsFunc(elsewhere, func(e struct{ words, why string }) bool {
				return command == e.words || strings.HasPrefix(command, e.words+" ")
			}) {
				continue
			}
			ran++
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", command)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
			cmd.WaitDelay = time.Second
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
				t.Errorf("%s: %s\n%v\n%s", page, command, err, out)
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands were found", ran)
	}
}

// shellCommands returns the commands in a page's ```sh blocks, without comments.
func shellCommands(page string) (commands []string) {
	inside, command := false, ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case line == "```sh":
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside:
			line, _, _ = strings.Cut(" "+line, " #")
			line, goesOn := strings.CutSuffix(line, `\`)
			command += line
			if command = strings.TrimSpace(command); command != "" && !goesOn {
				commands = append(commands, command)
				command = ""
			}
		}
	}
	return commands
}

// Issue 10, item 2: the tour names files and functions that exist.
func TestTour(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(readPage(t, "docs/tour.md"), -1)
	if len(rows) < 20 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, row := range rows {
		path, start := filepath.Join(root, row[1]), row[2]
		data, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("the tour goes through %s: %v", row[1], err)
			continue
		}
		found := bytes.Contains(data, []byte(start))
		if strings.HasSuffix(path, ".go") {
			found = declares(t, path, data, start)
		}
		if !found {
			t.Errorf("%s has no %s", row[1], start)
		}
	}
}

// declares reports whether a Go file declares a name at its top level.
func declares(t *testing.T, path string, source []byte, name string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			found = found || d.Name.Name == name
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					found = found || spec.Name.Name == name
				case *ast.ValueSpec:
					found = found || slices.ContainsFunc(spec.Names, func(i *ast.Ident) bool { return i.Name == name })
				}
			}
		}
	}
	return found
}

// Every link within the repository leads somewhere.
func TestLinksInTheDocs(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(readPage(t, page), -1) {
			if target := filepath.Join(root, filepath.Dir(page), m[1]); !exists(target) {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}

// What people were promised to be told, and where they look for it.
func TestDocsSay(t *testing.T) {
	for _, promise := range []struct{ number, page, words string }{
		{"S0-33", "image/README.md", "installed with `sudo apt-get` are lost"},
		{"S0-44", "docs/troubleshooting.md", "xattr -d com.apple.quarantine"},
		{"S0-44", "docs/troubleshooting.md", "`docker login`"},
		{"S0-99", "docs/tools.md", "`setsid nohup"},
	} {
		if !strings.Contains(readPage(t, promise.page), promise.words) {
			t.Errorf("%s: %s does not say %q", promise.number, promise.page, promise.words)
		}
	}
}

// The README's picture is small enough to load with the page.
func TestThePictureIsSmall(t *testing.T) {
	info, err := os.Stat(filepath.Join(root, "docs/page.png"))
	if err != nil || info.Size() > 200<<10 {
		t.Errorf("docs/page.png: %v, %v", info, err)
	}
}
