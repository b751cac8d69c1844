// Package arch holds the project's shape as tests: which package may import which,
// that every package says what it is for, and that whoever starts goroutines proves
// that they end.
package arch

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/falleng0d/computer-use-mcp"

// rule says what one package may import from this module. Tests may import more.
type rule struct {
	pkg     string
	imports string // names separated by spaces, relative to the module
	why     string
}

// rules is the import table of docs/ARCHITECTURE.md. Imports only point down.
var rules = []rule{
	{"api", "", "the wire belongs to neither end (S0-16)"},
	{"api/client", "api", "the typed client of the wire"},
	{"transfer", "api", "copies by the same rules at both ends; no wire, no screen"},
	{"capture/frame", "", "a leaf: whoever handles pixels knows it and nothing below it"},
	{"capture/jpeg", "", "a leaf: one encoder for screenshots and viewers"},
	{"capture/screenshot", "capture/frame capture/jpeg capture/screenshot/png", "pixels for output, never X"},
	{"capture/screenshot/png", "", "a leaf: PNG for desktop pixels"},
	{"capture/settle", "capture/frame", "a function of generations, cells and time, never X"},
	{"display/x11", "internal/quickio", "the only importer of the X library"},
	{"capture", "capture/frame display/x11", "from X pixels to the framebuffer"},
	{"input", "display/x11 input/keysym", "from names and keysyms to X input"},
	{"input/keysym", "", "a leaf: the names and characters of keysyms"},
	{"display/supervise", "", "child processes, whatever they are"},
	{"display", "capture capture/frame display/supervise display/x11 input", "a screen is a server, a pump and an input device"},
	{"rfb/encode", "capture/frame capture/jpeg rfb/encode/internal/deflate", "pure encoders"},
	{"rfb/encode/internal/deflate", "", "a leaf: deflate whose chunks fit into any stream"},
	{"rfb/vncauth", "", "a leaf: VNC's own cipher, which programs of the host need too"},
	{"rfb", "capture/frame internal/quickio rfb/encode rfb/vncauth", "serves a framebuffer, whoever fills it"},
	{"rfb/rfbtest", "rfb/encode rfb/vncauth", "a strict client; shares pixel formats and the cipher only"},
	{"rfb/example", "capture/frame rfb", "shows how to serve another framebuffer"},
	{"viewer", "api capture/frame capture/jpeg", "the page and its bridges; what they lead to is the daemon's business"},
	{"session/control", "", "a lease between an agent and people; no input device, no connection"},
	{"session/clip", "", "a leaf: long text cut for an answer"},
	{"session/shell", "api display/supervise session/clip", "commands and what they start; no screen, no HTTP"},
	{"session/files", "api display/supervise session/clip session/private transfer", "files with the rights of the programs' user; no screen, no HTTP"},
	{"session/private", "", "a leaf: the daemon's own files in home"},
	{"session/apps", "api", "which applications there are; starts nothing"},
	{"session/browser", "api display/supervise session/private", "one Chromium for each screen and its pages; no X, no HTTP of ours"},
	{"session/devtools", "display/supervise", "how mcpc and chrome-devtools-mcp are run; no session, no browser"},
	{"session/browse", "api api/client display/supervise", "what programs on a screen find of us; no screen, no browser"},
	{"session", "api capture/frame capture/screenshot capture/settle display display/x11 input session/apps session/browser session/control session/devtools session/files session/shell", "what an agent does on its screen"},
	{"session/daemon", "api capture/frame display input rfb session session/apps session/control session/devtools session/browse session/shell session/files session/browser session/private viewer", "HTTP routes and the wiring of the computer side"},
	{"hostmcp", "api api/client hostmcp/engine hostmcp/opener transfer", "the MCP surface"},
	{"hostmcp/opener", "rfb/vncauth", "the person's browser or VNC program"},
	{"hostmcp/engine", "api api/client", "where a computer lives"},
	{"hostmcp/engine/local", "api api/client hostmcp/engine", "the sandboxed local computer"},
	{"hostmcp/engine/docker", "api api/client hostmcp/engine", "the computer in a container"},
	{"cmd/computerd", "session/daemon", "flags and signals"},
	{"cmd/computer-use-mcp", "api api/client hostmcp hostmcp/engine hostmcp/engine/local hostmcp/engine/docker hostmcp/opener rfb/vncauth", "flags, signals and subcommands"},
}

// owners names the packages that alone may import an outside module.
var owners = []struct{ path, pkgs, why string }{
	{"github.com/jezek/xgb", "display/x11", "X11 knowledge stays in one place"},
	{"github.com/moby/moby", "hostmcp/engine/docker", "only one engine talks to Docker"},
	{"github.com/modelcontextprotocol/go-sdk", "hostmcp cmd/computer-use-mcp", "the protocol is the host's business"},
	{"github.com/gorilla/websocket", "viewer session/browser cmd/computer-use-mcp", "the page's and DevTools' peers speak WebSocket; doctor looks at the page"},
}

type pkg struct {
	ImportPath   string
	Dir          string
	Doc          string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,TestGoFiles,XTestGoFiles,Imports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

func (p pkg) name() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

func TestImportsPointDown(t *testing.T) {
	for _, p := range list(t) {
		if strings.HasPrefix(p.name(), "internal/") {
			continue // test helpers
		}
		i := slices.IndexFunc(rules, func(r rule) bool { return r.pkg == p.name() })
		if i < 0 {
			t.Errorf("%s has no row in the import table", p.name())
			continue
		}
		allowed := strings.Fields(rules[i].imports)
		for _, imp := range p.Imports {
			inner, ok := strings.CutPrefix(imp, module+"/")
			if ok && !slices.Contains(allowed, inner) {
				t.Errorf("%s imports %s; its row (%s) does not allow that", p.name(), inner, rules[i].why)
			}
		}
	}
}

// S2-10: between the MCP SDK and X there are layers that know neither.
func TestOutsideModulesHaveOneOwner(t *testing.T) {
	for _, p := range list(t) {
		if strings.HasPrefix(p.name(), "internal/") {
			continue
		}
		for _, imp := range p.Imports {
			for _, o := range owners {
				if strings.HasPrefix(imp, o.path) && !slices.Contains(strings.Fields(o.pkgs), p.name()) {
					t.Errorf("%s imports %s, which belongs to %s: %s", p.name(), imp, o.pkgs, o.why)
				}
			}
		}
	}
}

func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) > 0 && len(p.Doc) < 40 {
			t.Errorf("%s: the package comment says too little: %q", p.name(), p.Doc)
		}
	}
}

// A package that starts goroutines must run its tests under leaktest.Main.
func TestGoroutinesAreChecked(t *testing.T) {
	for _, p := range list(t) {
		if strings.HasPrefix(p.name(), "internal/") || !any(p, p.GoFiles, startsGoroutine) {
			continue
		}
		tests := append(slices.Clone(p.TestGoFiles), p.XTestGoFiles...)
		if !any(p, tests, callsLeaktest) {
			t.Errorf("%s starts goroutines, but its tests do not end in leaktest.Main", p.name())
		}
	}
}

func any(p pkg, files []string, has func(ast.Node) bool) bool {
	found := false
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			continue // the compiler says it better
		}
		ast.Inspect(f, func(n ast.Node) bool {
			found = found || has(n)
			return !found
		})
	}
	return found
}

func startsGoroutine(n ast.Node) bool {
	_, ok := n.(*ast.GoStmt)
	return ok
}

func callsLeaktest(n ast.Node) bool {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "leaktest" && sel.Sel.Name == "Main"
}
