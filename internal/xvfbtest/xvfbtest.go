//go:build linux

package xvfbtest

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// Options describes the wished X server. The zero value is a 1280x800 screen.
type Options struct {
	Program       string              // "Xvfb" when empty, or "Xvnc"
	Width, Height int                 // of the screen in pixels
	Args          []string            // further arguments of Xvfb
	User          *syscall.Credential // who it runs as; nil means as the test does
}

// Server is a running X server that only the holder of its cookie can talk to.
type Server struct {
	Display    string // ":23456"
	Cookie     []byte // 16 bytes of MIT-MAGIC-COOKIE-1
	Xauthority string // path of a file with the cookie, for programs
	PID        int

	kill sync.Once
	cmd  *exec.Cmd
	done chan struct{} // closed when the process was waited for
}

// Start runs the X server and returns when it is ready. It is stopped when the test
// ends, and by the kernel when the test process dies.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Program == "" {
		o.Program = "Xvfb"
	}
	Need(t, o.Program)
	if o.Width == 0 {
		o.Width, o.Height = 1280, 800
	}
	screen := []string{"-screen", "0", fmt.Sprintf("%dx%dx24", o.Width, o.Height)}
	if o.Program == "Xvnc" {
		screen = []string{"-geometry", fmt.Sprintf("%dx%d", o.Width, o.Height), "-depth", "24"}
	}
	s := &Server{
		Cookie:     make([]byte, 16),
		Xauthority: filepath.Join(t.TempDir(), "Xauthority"),
		done:       make(chan struct{}),
	}
	rand.Read(s.Cookie)
	if err := os.WriteFile(s.Xauthority, authority(s.Cookie), 0o600); err != nil {
		t.Fatal(err)
	}
	if o.User != nil {
		if err := os.Chown(s.Xauthority, int(o.User.Uid), int(o.User.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	ready, readyWriter, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()

	// A number that Xvfb chooses itself is not safe while other tests and screens
	// run: -displayfd switches its lock files off, and without the abstract socket
	// (-nolisten local) it takes over the socket file of a running server. A random
	// number that may have an abstract socket either is ours alone or fails.
	s.Display = fmt.Sprintf(":%d", 1000+mathrand.N(50000))
	var output bytes.Buffer
	s.cmd = exec.Command(o.Program, slices.Concat(
		[]string{s.Display, "-displayfd", "3", "-auth", s.Xauthority, "-nolisten", "tcp", "-noreset"}, screen, o.Args)...)
	s.cmd.Stdout, s.cmd.Stderr = &output, &output
	s.cmd.ExtraFiles = []*os.File{readyWriter}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: o.User}
	started := make(chan error)
	go s.run(started)
	err = <-started
	readyWriter.Close()
	if err != nil {
		t.Fatalf("start %s: %v", o.Program, err)
	}
	t.Cleanup(s.Kill)
	s.PID = s.cmd.Process.Pid

	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		s.Kill()
		t.Fatalf("start %s: it ended before it was ready:\n%s", o.Program, output.Bytes())
	}
	return s
}

// run holds on to one thread for the life of the process: the kernel sends the
// parent-death signal when the thread that forked ends, not the whole process.
func (s *Server) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	err := s.cmd.Start()
	started <- err
	if err == nil {
		s.cmd.Wait()
	}
}

// Kill ends the X server at once, as a crash would, and returns when it is gone.
// It may be called twice.
func (s *Server) Kill() {
	s.kill.Do(func() {
		s.cmd.Process.Kill()
		<-s.done
		os.Remove("/tmp/.X11-unix/X" + s.Display[1:])
	})
}

// Env returns the variables that lead a program to this server.
func (s *Server) Env() []string {
	return []string{"DISPLAY=" + s.Display, "XAUTHORITY=" + s.Xauthority}
}

// Command returns a command, not started yet, whose windows open on this server.
func (s *Server) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), s.Env()...)
	return cmd
}

// authority returns an Xauthority file with one cookie for every display: family
// wild, no address, no number.
func authority(cookie []byte) []byte {
	const familyWild = 0xffff
	b := binary.BigEndian.AppendUint16(nil, familyWild)
	for _, field := range [][]byte{nil, nil, []byte("MIT-MAGIC-COOKIE-1"), cookie} {
		b = binary.BigEndian.AppendUint16(b, uint16(len(field)))
		b = append(b, field...)
	}
	return b
}
