package display

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// socketDir is where X servers of this machine listen.
const socketDir = "/tmp/.X11-unix"

// maxDisplay is where the search for a free display ends.
const maxDisplay = 1000

// serverTime is how long an X server has to accept connections.
const serverTime = 10 * time.Second

// startServer starts the screen's Xvfb and returns when it accepts connections.
// The display that the screen had before is tried first, so that programs'
// DISPLAY stays right.
func (s *Screen) startServer(ctx context.Context) (supervise.Running, error) {
	if err := makeSocketDir(); err != nil {
		return nil, fmt.Errorf("make %s: %w", socketDir, err)
	}
	first := s.displayNumber()
	if first == 0 {
		first = s.number
	}
	for n := first; n < maxDisplay; n += Screens {
		if inUse(n) {
			continue
		}
		p, err := s.startXvfb(ctx, n)
		if err == nil {
			s.setServer(n, p.PID())
			return p, nil
		}
		if ctx.Err() != nil || !inUse(n) {
			return nil, err
		}
		// Somebody took the display in between.
	}
	return nil, fmt.Errorf("no X display is free from :%d to :%d in steps of %d", first, maxDisplay, Screens)
}

// startXvfb starts an Xvfb on one display. It keeps its abstract socket (there
// is no -nolisten local): binding it is what stops a second server from taking
// the display, because -displayfd turns the lock file off and the socket file
// would simply be replaced. What protects the screen is its cookie.
func (s *Screen) startXvfb(ctx context.Context, n int) (*supervise.Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p, err := supervise.Command{
		Name: "the X server",
		Path: "Xvfb",
		Args: []string{
			":" + strconv.Itoa(n), "-displayfd", "3",
			"-screen", "0", fmt.Sprintf("%dx%dx24", s.width, s.height), "-dpi", "96",
			"-nolisten", "tcp", "-noreset", "-maxclients", "512",
			// With this extension nobody may ask for the picture of a cursor whose
			// maker is gone, as after the window manager was killed.
			"-extension", "SECURITY",
			"-auth", s.serverAuthority(),
		},
		// It runs xkbcomp and looks for nothing else.
		Env:   []string{"PATH=" + os.Getenv("PATH")},
		Dir:   "/",
		User:  s.m.cfg.ServerUser,
		Files: []*os.File{w},
	}.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	return p, p.Ready(ctx, func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { r.Close() })()
		if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
			// It closed its end, so it is about to exit and to say why.
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
}

// makeSocketDir makes the folder for X sockets where it is missing, as under a
// fresh /tmp. An X server that is not root would not.
func makeSocketDir() error {
	err := os.Mkdir(socketDir, 0o777)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(socketDir, 0o777|os.ModeSticky) // the umask took some away, and Mkdir knows no sticky bit
}

// socketPath returns the path of a display's socket.
func socketPath(n int) string { return socketDir + "/X" + strconv.Itoa(n) }

// inUse reports whether an X server answers on a display, at its socket file or
// at its abstract socket. A file that a dead server left behind does not count.
func inUse(n int) bool {
	for _, name := range []string{socketPath(n), "@" + socketPath(n)} {
		if c, err := net.Dial("unix", name); err == nil {
			c.Close()
			return true
		}
	}
	return false
}
