package opener

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// Mode is what a person asked for.
type Mode string

// The modes.
const (
	Browser Mode = "browser"
	VNC     Mode = "vnc"
	None    Mode = "none"
)

// system is what decides how something is opened.
type system struct {
	OS       string // as runtime.GOOS
	Getenv   func(string) string
	LookPath func(string) (string, error)
	IsFile   func(path string) bool
}

func thisSystem() system {
	return system{OS: runtime.GOOS, Getenv: os.Getenv, LookPath: exec.LookPath, IsFile: func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}}
}

// Way is a way to show screens on one machine.
type Way struct {
	Mode    Mode
	Program string // the VNC program; empty in mode VNC for macOS's own
	os      string
}

// command is a program and its arguments.
type command struct {
	Program string
	Args    []string
}

// way returns the way for a mode, and why it is another than the one asked for, empty
// when it is not.
func (s system) way(mode Mode, viewer string) (w Way, why string) {
	switch {
	case mode == None:
		return Way{Mode: None, os: s.OS}, ""
	case !s.hasDisplay():
		return Way{Mode: None, os: s.OS}, "This machine has no display, so nothing is opened."
	case mode == VNC && s.OS == "darwin":
		return Way{Mode: VNC, os: s.OS}, ""
	case mode == VNC:
		program, why := s.vncProgram(viewer)
		if program == "" {
			return Way{Mode: Browser, os: s.OS}, why + " The browser opens instead."
		}
		return Way{Mode: VNC, Program: program, os: s.OS}, why
	}
	return Way{Mode: Browser, os: s.OS}, ""
}

// hasDisplay reports whether windows can be seen. Only Linux has a sure sign.
func (s system) hasDisplay() bool {
	return s.OS == "darwin" || s.OS == "windows" || s.Getenv("DISPLAY") != "" || s.Getenv("WAYLAND_DISPLAY") != ""
}

// vncProgram finds a VNC program that takes a password file: the one at the path, else
// one on PATH, else one where TigerVNC installs itself.
func (s system) vncProgram(path string) (program, why string) {
	if path != "" {
		if s.IsFile(path) {
			return path, ""
		}
		why = fmt.Sprintf("The VNC program %q is not a file.", path)
	}
	names := []string{"xtigervncviewer", "vncviewer"}
	if s.OS == "windows" {
		names = []string{"vncviewer.exe"}
	}
	for _, name := range names {
		if program, err := s.LookPath(name); err == nil {
			return program, why
		}
	}
	for _, variable := range []string{"ProgramFiles", "ProgramFiles(x86)"} {
		folder := s.Getenv(variable)
		if program := folder + `\TigerVNC\vncviewer.exe`; s.OS == "windows" && folder != "" && s.IsFile(program) {
			return program, why
		}
	}
	if why == "" {
		why = "No VNC program was found."
	}
	return "", why
}

// browse opens an address in the default browser.
func (w Way) browse(address string) command {
	switch w.os {
	case "darwin":
		return command{"/usr/bin/open", []string{address}}
	case "windows":
		// Not `start`, which is cmd's: its quoting rules are not worth learning.
		return command{"rundll32.exe", []string{"url.dll,FileProtocolHandler", address}}
	}
	return command{"xdg-open", []string{address}}
}

// share opens a screen with Screen Sharing of macOS.
func (w Way) share(s Screen) command {
	link := url.URL{Scheme: "vnc", User: url.UserPassword("", s.Key), Host: "127.0.0.1:" + strconv.Itoa(s.Port)}
	return command{"/usr/bin/open", []string{link.String()}}
}

// view opens a screen with the VNC program. Two colons go before a port, one before a
// display's number.
func (w Way) view(port int, passwordFile string) command {
	option := "-passwd" // TigerVNC's and TightVNC's
	if w.os == "windows" {
		option = "-PasswordFile"
	}
	return command{w.Program, []string{option, filepath.Clean(passwordFile), "127.0.0.1::" + strconv.Itoa(port)}}
}
