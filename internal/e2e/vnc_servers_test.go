package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/freeports"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// vncServer is a screen of 1280x800 and the server that shows it.
type vncServer struct {
	name     string
	port     int
	password string // empty: it wants none
	pids     []int  // of all that works for it
	canvas   *canvas
}

// vncServers starts this product and those of the others that are installed.
func vncServers(b *testing.B) []*vncServer {
	b.Helper()
	servers := []*vncServer{ours(b)}
	x0vncserver := "x0vncserver"
	if _, err := exec.LookPath("X0tigervnc"); err == nil {
		x0vncserver = "X0tigervnc" // as Debian calls it, where x0vncserver is a script
	}
	for _, other := range []struct {
		name  string
		start func(port int) *vncServer
	}{
		{"Xvnc", func(port int) *vncServer {
			x := xvfbtest.Start(b, xvfbtest.Options{Program: "Xvnc", Args: tigerVNC(port)})
			return &vncServer{port: port, pids: []int{x.PID}, canvas: newCanvas(x.Painter(b))}
		}},
		{"x0vncserver", func(port int) *vncServer { return scraper(b, port, x0vncserver, tigerVNC(port)...) }},
		{"x11vnc", func(port int) *vncServer {
			return scraper(b, port, "x11vnc", "-rfbport", strconv.Itoa(port), "-localhost", "-noipv6", "-nopw", "-forever", "-shared", "-quiet")
		}},
	} {
		if _, err := exec.LookPath(other.name); err != nil {
			b.Logf("%s is not installed", other.name)
			continue
		}
		s := other.start(freeports.Row(b, 1))
		s.name = other.name
		servers = append(servers, s)
	}
	return servers
}

// tigerVNC are the arguments that its servers share: no password, and no refusals
// because of many connections.
func tigerVNC(port int) []string {
	return []string{"-rfbport", strconv.Itoa(port), "-localhost=1", "-SecurityTypes", "None", "-UseBlacklist=0", "-AlwaysShared"}
}

// ours opens a screen of the product. It can be drawn on from outside only without the
// sandbox.
func ours(b *testing.B) *vncServer {
	c := newComputer(b, "COMPUTER_USE_LOCAL_SANDBOX=off")
	c.agent().start("benchmark").observe() // which opens the screen
	i := c.info()
	screen := i.Screens[0]
	file, err := os.ReadFile(screen.Xauthority)
	if err != nil {
		b.Fatal(err)
	}
	x := &xvfbtest.Server{Display: screen.Display, Cookie: file[len(file)-16:]}
	_, key, _ := strings.Cut(i.Viewer, "#key=")
	return &vncServer{
		name: "ours", port: screen.VNCPort, password: key,
		pids: []int{i.Daemon.PID, screen.XvfbPID}, canvas: newCanvas(x.Painter(b)),
	}
}

// scraper starts a server that copies the screen of an Xvfb, and waits until it listens.
func scraper(b *testing.B, port int, program string, args ...string) *vncServer {
	x := xvfbtest.Start(b, xvfbtest.Options{})
	cmd := x.Command(program, append(args, "-display", x.Display)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		if b.Failed() {
			b.Logf("%s said:\n%s", program, said.Bytes())
		}
	})
	s := &vncServer{port: port, pids: []int{x.PID, cmd.Process.Pid}, canvas: newCanvas(x.Painter(b))}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.address())
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s: %v", program, err)
		}
	}
	return s
}

// unit ends the unit of the server's numbers; ours have the plain one.
func (s *vncServer) unit() string {
	if s.name == "ours" {
		return ""
	}
	return "-" + s.name
}

func (s *vncServer) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// processorTime returns what the server and its X server have used so far.
func (s *vncServer) processorTime(b *testing.B) (total time.Duration) {
	for _, pid := range s.pids {
		total += processorTime(b, pid)
	}
	return total
}
