package session

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// terminals are the programs that show a terminal, best first.
var terminals = []string{"x-terminal-emulator", "xterm"}

// match returns the window that an application name means: the topmost whose class is the
// name, else whose class holds it, else whose title does. Case does not count.
func match(windows []x11.Window, name string) (w x11.Window, ok bool) {
	for _, fits := range []func(x11.Window) bool{
		func(w x11.Window) bool { return strings.EqualFold(w.Class, name) },
		func(w x11.Window) bool { return containsFold(w.Class, name) },
		func(w x11.Window) bool { return containsFold(w.Title, name) },
	} {
		if i := slices.IndexFunc(windows, fits); i >= 0 {
			return windows[i], true
		}
	}
	return w, false
}

// find returns the command line of an application: one installed with a desktop entry, by
// its name or its file's, "terminal", or a program on PATH. uri, when not empty, is what
// it opens.
func (p Programs) find(env []string, application, uri string) ([]string, error) {
	if strings.HasPrefix(uri, "-") {
		return nil, api.Errorf(api.CodeBadRequest, "The uri %.100q looks like an option of the program.", uri).
			WithFix("Give an address or a path; a file whose name starts with a dash is ./ and its name.")
	}
	path := variable(env, "PATH")
	if strings.EqualFold(application, "terminal") {
		return terminal(path)
	}
	if e, ok := p.entry(env, application); ok {
		argv := e.argv(uri)
		if e.terminal {
			t, err := terminal(path)
			if err != nil {
				return nil, err
			}
			argv = append(append(t, "-e"), argv...)
		}
		if program, ok := lookUp(path, argv[0]); ok {
			argv[0] = program
			return argv, nil
		}
	}
	program, ok := lookUp(path, application)
	if !ok {
		return nil, api.Errorf(api.CodeNotFound, "No window, installed application or program is called %.100q.", application).
			WithFix("Use a name from the windows list, the name of an installed application, or a program on PATH.")
	}
	argv := []string{program}
	if uri != "" {
		argv = append(argv, uri)
	}
	return argv, nil
}

func terminal(path string) ([]string, error) {
	for _, name := range terminals {
		if program, ok := lookUp(path, name); ok {
			return []string{program}, nil
		}
	}
	return nil, api.Errorf(api.CodeNotFound, "No terminal is installed.").
		WithFix("Use shell for commands, or install one, such as xterm.")
}

// variable returns the value of an environment variable, the last one winning.
func variable(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// lookUp finds a program in the folders of path, the programs' own and not the daemon's.
func lookUp(path, name string) (string, bool) {
	if filepath.IsAbs(name) {
		return name, executable(name)
	}
	if name == "" || strings.Contains(name, "/") {
		return "", false
	}
	for dir := range strings.SplitSeq(path, ":") {
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

// entry is what is needed of a desktop entry (Desktop Entry Specification 1.5).
type entry struct {
	name     string
	exec     string
	terminal bool
	hidden   bool
}

// entry returns the desktop entry that an application name means: the one whose file or
// Name is called so. Case does not count.
func (p Programs) entry(env []string, application string) (entry, bool) {
	const extension = ".desktop"
	for _, dir := range p.entryFolders(env) {
		files, _ := filepath.Glob(filepath.Join(dir, "*"+extension))
		var byName entry
		for _, file := range files {
			e, ok := readEntry(file)
			if !ok || e.hidden || len(e.argv("")) == 0 {
				continue
			}
			if strings.EqualFold(strings.TrimSuffix(filepath.Base(file), extension), application) {
				return e, true
			}
			if byName.exec == "" && strings.EqualFold(e.name, application) {
				byName = e
			}
		}
		if byName.exec != "" {
			return byName, true
		}
	}
	return entry{}, false
}

// entryFolders lists where entries are, the user's own first (XDG Base Directory
// Specification).
func (p Programs) entryFolders(env []string) []string {
	home := variable(env, "XDG_DATA_HOME")
	if home == "" {
		home = filepath.Join(p.Home, ".local/share")
	}
	dirs := variable(env, "XDG_DATA_DIRS")
	if dirs == "" {
		dirs = "/usr/local/share:/usr/share"
	}
	var folders []string
	for dir := range strings.SplitSeq(home+":"+dirs, ":") {
		if filepath.IsAbs(dir) {
			folders = append(folders, filepath.Join(dir, "applications"))
		}
	}
	return folders
}

// maxEntry is how much of a desktop entry is read, in bytes.
const maxEntry = 256 << 10

func readEntry(file string) (e entry, ok bool) {
	// The folder may be the agent's own: a pipe in it must not hold us up.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return e, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return e, false
	}
	return parseEntry(io.LimitReader(f, maxEntry))
}

func parseEntry(r io.Reader) (e entry, ok bool) {
	group := ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			group = line
		}
		key, value, found := strings.Cut(line, "=")
		if !found || group != "[Desktop Entry]" {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "Name":
			e.name = value
		case "Exec":
			e.exec = value
		case "Terminal":
			e.terminal = value == "true"
		case "Hidden":
			e.hidden = value == "true"
		}
	}
	return e, e.exec != ""
}

// argv returns the entry's command line with uri in the place of the field codes that
// stand for files and addresses.
func (e entry) argv(uri string) []string {
	var argv []string
	placed := false
	for _, word := range words(e.exec) {
		switch word {
		case "%f", "%F", "%u", "%U":
			if uri != "" && !placed {
				argv = append(argv, uri)
				placed = true
			}
		case "%i", "%k", "%d", "%D", "%n", "%N", "%v", "%m":
		case "%c":
			argv = append(argv, e.name)
		default:
			argv = append(argv, strings.ReplaceAll(word, "%%", "%"))
		}
	}
	if uri != "" && !placed && len(argv) > 0 {
		argv = append(argv, uri)
	}
	return argv
}

// words splits an Exec value: at spaces, but not inside double quotes, where a backslash
// takes the next character as it is.
func words(exec string) []string {
	var (
		list   []string
		word   strings.Builder
		begun  bool
		quoted bool
	)
	for i := 0; i < len(exec); i++ {
		switch c := exec[i]; {
		case c == '"':
			quoted, begun = !quoted, true
		case c == '\\' && quoted && i+1 < len(exec):
			i++
			word.WriteByte(exec[i])
		case c == ' ' && !quoted:
			if begun {
				list = append(list, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteByte(c)
		}
	}
	if begun {
		list = append(list, word.String())
	}
	return list
}
