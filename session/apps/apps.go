// Package apps knows which applications a computer has: the programs on PATH and what
// desktop entries and lists of defaults (the freedesktop.org specifications) say of them.
// It reads files and starts nothing.
//
// Errors that leave this package are an [api.Error].
package apps

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// terminals are the programs that show a terminal, best first.
var terminals = []string{"x-terminal-emulator", "xterm"}

// Apps are the applications that a program with an environment sees. What it reads are
// files that an agent may change at any time, so nothing is kept. The methods may be
// called from any goroutine.
type Apps struct {
	Env  []string
	Home string // where the user's own entries are unless Env says otherwise
}

// App is an application and how it is started.
type App struct {
	Name string   // for people
	Argv []string // the command line; the program has an absolute path
}

// Browser reports whether the application is Chromium, which every screen has one of
// already.
func (a App) Browser() bool { return IsBrowser(filepath.Base(a.Argv[0])) }

// IsBrowser reports whether an application that is called so means the screen's browser.
// Case does not count.
func IsBrowser(name string) bool {
	switch strings.TrimSuffix(strings.ToLower(name), extension) {
	case "browser", "web browser", "chromium", "chromium-browser", "chromium web browser", "x-www-browser":
		return true
	}
	return false
}

// Find returns an application by its name: "terminal", one installed with a desktop
// entry, by its name in any language or its file's, or a program on PATH. uri, when not
// empty, is what it opens. The error is of CodeNotFound.
func (a Apps) Find(name, uri string) (App, error) {
	if strings.EqualFold(name, "terminal") {
		argv, err := a.terminal()
		if err == nil && uri != "" {
			err = api.Errorf(api.CodeBadRequest, "A terminal opens no uri.").WithFix("Leave it out; type into the terminal, or use shell.")
		}
		return App{Name: "terminal", Argv: argv}, err
	}
	if e, ok := a.byName(name); ok {
		return a.start(e, uri)
	}
	program, ok := a.lookUp(name)
	if !ok {
		fix := "Use a name from the windows list, the name of an installed application, or a program on PATH; one that takes arguments is started with shell, with background."
		if near := a.nearest(name); len(near) > 0 {
			fix += " Installed are, among others: " + strings.Join(near, ", ") + "."
		}
		return App{}, api.Errorf(api.CodeNotFound, "No window, installed application or program is called %.100q.", name).WithFix("%s", fix)
	}
	app := App{Name: name, Argv: []string{program}}
	if uri != "" {
		app.Argv = append(app.Argv, uri)
	}
	return app, nil
}

// nearest lists some applications of the menu, those first whose names are most like name.
func (a Apps) nearest(name string) []string {
	const most = 5
	var names []string
	for _, e := range a.entries() {
		if !e.unlisted && !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	return api.Nearest(name, names, most)
}

// start returns the application of an entry with what it opens.
func (a Apps) start(e entry, uri string) (App, error) {
	argv := e.argv(uri)
	program, ok := a.lookUp(argv[0])
	if !ok { // usable has found it a moment ago
		return App{}, api.Errorf(api.CodeNotFound, "The program %.100q of %.100q is not there.", argv[0], e.name).WithFix("Use another application.")
	}
	argv[0] = program
	if e.terminal {
		terminal, err := a.terminal()
		if err != nil {
			return App{}, err
		}
		argv = slices.Concat(terminal, []string{"-e"}, argv)
	}
	return App{Name: e.name, Argv: argv}, nil
}

func (a Apps) terminal() ([]string, error) {
	for _, name := range terminals {
		if program, ok := a.lookUp(name); ok {
			return []string{program}, nil
		}
	}
	return nil, api.Errorf(api.CodeNotFound, "No terminal is installed.").
		WithFix("Use shell for commands, or install one, such as xterm.")
}

// lookUp finds a program in the folders of PATH, the programs' own and not the daemon's.
func (a Apps) lookUp(name string) (string, bool) {
	if filepath.IsAbs(name) {
		return name, executable(name)
	}
	if name == "" || strings.Contains(name, "/") {
		return "", false
	}
	for dir := range strings.SplitSeq(a.variable("PATH"), ":") {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(file) {
			return file, true
		}
	}
	return "", false
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// variable returns the value of an environment variable, the last one winning.
func (a Apps) variable(name string) string {
	for _, v := range slices.Backward(a.Env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// folders returns the user's own folder and the system's of a kind, best first (XDG Base
// Directory Specification): kind is DATA or CONFIG. own, below home, and system are what
// counts where the variables are not set.
func (a Apps) folders(kind, own, system string) []string {
	first := a.variable("XDG_" + kind + "_HOME")
	if first == "" {
		first = filepath.Join(a.Home, own)
	}
	others := a.variable("XDG_" + kind + "_DIRS")
	if others == "" {
		others = system
	}
	dirs := strings.Split(first+":"+others, ":")
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// entryFolders lists where desktop entries are.
func (a Apps) entryFolders() []string {
	dirs := a.folders("DATA", ".local/share", "/usr/local/share:/usr/share")
	for i := range dirs {
		dirs[i] = filepath.Join(dirs[i], "applications")
	}
	return dirs
}
