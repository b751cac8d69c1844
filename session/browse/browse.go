// Package browse is what the programs on a screen find of us: a browser command, and the
// desktop entry and list of defaults that lead links to it. The command hands the address
// to the daemon over a socket, and the daemon opens it in the Chromium of the screen that
// the command was called on.
//
// The command shows the place of its screen's X authority file, which the programs of that
// screen know and nobody else can find out; see docs/adr/0006-what-separates-sessions.md.
package browse

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// Names inside a Folder.
const (
	browserName = "x-www-browser" // Debian's name for the browser of a desktop
	entryID     = "computer-use-browser.desktop"
	socketName  = "socket"
)

// Folder is a folder that programs can read and the daemon alone can write.
type Folder string

// browser returns the path of the command that opens addresses and files in the browser of
// the screen it is called on, and without any raises that.
func (f Folder) browser() string { return filepath.Join(string(f), "bin", browserName) }

// Environ returns the variables that lead programs to what is in the folder. What the user
// has chosen in home counts before it, the system's choices after it.
func (f Folder) Environ() []string {
	return []string{
		"BROWSER=" + f.browser(),
		"XDG_DATA_DIRS=" + filepath.Join(string(f), "share") + ":/usr/local/share:/usr/share",
		"XDG_CONFIG_DIRS=" + filepath.Join(string(f), "config") + ":/etc/xdg",
	}
}

// types are the MIME types that the browser is the default for: addresses, pages, what
// nobody edits as a rule, and what a computer without a player can play nowhere else.
var types = []string{
	"x-scheme-handler/http", "x-scheme-handler/https",
	"text/html", "application/xhtml+xml", "application/pdf",
	"image/apng", "image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp",
	"audio/flac", "audio/mpeg", "audio/ogg", "audio/x-wav", "video/mp4", "video/ogg", "video/webm",
}

// Install writes the folder anew. program is the daemon's binary, which the command runs.
func (f Folder) Install(program string) error {
	if err := os.RemoveAll(string(f)); err != nil {
		return err
	}
	var defaults strings.Builder
	defaults.WriteString("[Default Applications]\n")
	for _, t := range types {
		fmt.Fprintf(&defaults, "%s=%s\n", t, entryID)
	}
	for _, file := range []struct {
		path, text string
		mode       os.FileMode
	}{
		{f.browser(), fmt.Sprintf("#!/bin/sh\nexec %s %s %s \"$@\"\n", supervise.ShellQuote(program), Command, supervise.ShellQuote(string(f))), 0o755},
		{filepath.Join(string(f), "share/applications", entryID), "[Desktop Entry]\nType=Application\nName=Browser\nIcon=chromium\n" +
			"Exec=" + execQuote(f.browser()) + " %u\nMimeType=" + strings.Join(types, ";") + ";\n", 0o644},
		{filepath.Join(string(f), "config/mimeapps.list"), defaults.String(), 0o644},
	} {
		dir := filepath.Dir(file.path)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file.path, []byte(file.text), file.mode); err != nil {
			return err
		}
	}
	// The umask may have taken away what programs need.
	return filepath.WalkDir(string(f), func(path string, d os.DirEntry, err error) error {
		if err == nil && (d.IsDir() || path == f.browser()) {
			return os.Chmod(path, 0o755)
		}
		if err == nil {
			err = os.Chmod(path, 0o644)
		}
		return err
	})
}

// Listen opens the socket that the command calls. The caller closes it.
func (f Folder) Listen() (net.Listener, error) {
	var l *net.UnixListener
	err := f.atSocket(func(address string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then the address means something else
	// Whoever reaches the folder may call; what is shown decides.
	return l, os.Chmod(filepath.Join(string(f), socketName), 0o666)
}

// atSocket calls do with an address of the socket that is short enough, however long the
// folder's path is: the system takes no more than 107 bytes.
func (f Folder) atSocket(do func(address string) error) error {
	dir, err := os.Open(string(f))
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName))
}

// execQuote returns a word for the Exec key of a desktop entry. One that needs no quotes
// gets none: some programs that read entries know none.
func execQuote(s string) string {
	s = strings.ReplaceAll(s, "%", "%%")
	if !strings.ContainsAny(s, " \t\n\"'\\><~|&;$*?#()`") {
		return s
	}
	s = strings.NewReplacer(`"`, `\"`, "`", "\\`", "$", `\$`, `\`, `\\`).Replace(s)
	return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"` // once more, for the value as a whole
}
