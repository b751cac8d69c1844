package daemon

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/session/apps"
	"github.com/falleng0d/computer-use-mcp/session/browse"
	"github.com/falleng0d/computer-use-mcp/session/devtools"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

// filesCommand is the argument with which this program does one call on files.
const filesCommand = "files"

// helpers are what this program is, instead of a computer, when its first argument is one
// of these. They run as the programs' user.
var helpers = map[string]func(args []string, stdin io.Reader, stdout io.Writer) error{
	filesCommand:   func(_ []string, stdin io.Reader, stdout io.Writer) error { return files.Serve(stdin, stdout) },
	browse.Command: func(args []string, _ io.Reader, _ io.Writer) error { return browse.Open(args, os.Getenv) },
	devtools.Command: func(args []string, stdin io.Reader, stdout io.Writer) error {
		return devtools.Run(args, os.Getenv, stdin, stdout, os.Getppid())
	},
}

// Help runs a helper, if args, without the program's name, ask for one. ok is false when
// they do not.
func Help(args []string, stdin io.Reader, stdout io.Writer) (ok bool, err error) {
	if len(args) == 0 || helpers[args[0]] == nil {
		return false, nil
	}
	return true, helpers[args[0]](args[1:], stdin, stdout)
}

// browseFolder is where programs find the browser command, empty where there is no browser
// that it could call.
func browseFolder(o Options) browse.Folder {
	if _, err := exec.LookPath("chromium"); err != nil {
		return ""
	}
	return browse.Folder(filepath.Join(o.StateDir, "browse"))
}

// installBrowse writes what programs find of us and returns the socket that they call, nil
// where there is no browser. self is the path of this program.
func installBrowse(o Options, self string) (net.Listener, error) {
	folder := browseFolder(o)
	if folder == "" {
		return nil, nil
	}
	if err := folder.Install(self); err != nil {
		return nil, err
	}
	return folder.Listen()
}

// menu offers the browser and the terminal, where they are installed, on the background of
// every screen.
func menu(o Options) (items []display.MenuItem) {
	if folder := browseFolder(o); folder != "" {
		items = append(items, display.MenuItem{Label: "Browser", Command: `"$BROWSER"`})
	}
	terminal, err := apps.Apps{Env: environ(o), Home: o.HomeDir}.Find("terminal", "")
	if err == nil {
		items = append(items, display.MenuItem{Label: "Terminal", Command: terminal.Argv[0]})
	}
	return items
}
