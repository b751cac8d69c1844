package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal returns both ends of a new terminal.
func terminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return keyboard, screen
}

// Issue 10, item 6: colours on a terminal, and nowhere else.
func TestColoursOnATerminal(t *testing.T) {
	for _, test := range []struct {
		env      []string
		coloured bool
	}{
		{[]string{"TERM=xterm"}, true},
		{[]string{"TERM=xterm", "NO_COLOR="}, true}, // no-color.org: when it is not empty
		{[]string{"TERM=xterm", "NO_COLOR=1"}, false},
		{[]string{"TERM=dumb"}, false},
	} {
		keyboard, screen := terminal(t)
		cmd := program(t, test.env, "doctor")
		cmd.Stdout = screen
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		screen.Close()
		var shown bytes.Buffer
		_, _ = io.Copy(&shown, keyboard) // ends with an error when the other end is closed
		_ = cmd.Wait()                   // there is no engine here
		if !strings.Contains(shown.String(), "docker") || strings.Contains(shown.String(), "\x1b[32mok") != test.coloured {
			t.Errorf("%v: %q", test.env, shown.String())
		}
	}
}
