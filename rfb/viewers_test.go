package rfb_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
	"github.com/falleng0d/computer-use-mcp/rfb"
)

const viewerPassword = "viewtest"

// viewerScreen is what real viewers are shown, and what they do to it.
func viewerScreen(t *testing.T) (c *canvas, in *input, host, port string) {
	c, in = newCanvas(600, 400), newInput()
	c.paint(c.bounds(), text)
	c.paint(image.Rect(50, 50, 250, 250), photo)
	addr := startServer(t, func(int, net.Addr) rfb.Config {
		return rfb.Config{Screen: c.screen, Password: viewerPassword, Input: in, Role: rfb.Controller}
	})
	host, port, err := net.SplitHostPort(addr)
	must(t, err)
	return c, in, host, port
}

// changes are what the screen goes through, step by step, while a viewer looks.
func (c *canvas) changes() []func() {
	return []func(){
		func() {}, // as it is
		func() { c.paint(image.Rect(10, 300, 200, 330), text) },
		func() { c.scroll(24) },
		func() { c.scroll(24); c.paint(image.Rect(0, 0, 100, 60), colours(20)) },
		func() { c.paint(image.Rect(300, 100, 500, 300), gradient) },
		func() { c.paint(image.Rect(0, 0, 600, 200), flat(0x8080ff)) },
		func() { c.paint(c.bounds(), noise(11)) },
		func() { c.paint(image.Rect(77, 33, 78, 34), flat(0xff0000)) },
	}
}

// start runs a command until the test ends. When it ends before, done is closed.
func start(t *testing.T, cmd *exec.Cmd) (done chan struct{}) {
	t.Helper()
	var output strings.Builder
	cmd.Stderr = &output
	must(t, cmd.Start())
	done = make(chan struct{})
	go func() {
		defer close(done)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-done
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, output.String())
		}
	})
	return done
}

// await polls until a viewer shows the canvas. Viewers do not tell when they have
// drawn.
func (c *canvas) await(t *testing.T, what string, ended chan struct{}, shown func() (pix []uint32, width int)) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		pix, width := shown()
		wrong := image.Rectangle{}
		for y := range c.height {
			row := c.pix[y*c.width : (y+1)*c.width]
			if len(pix) < y*width+c.width || !slices.Equal(pix[y*width:y*width+c.width], row) {
				wrong = wrong.Union(image.Rect(0, y, c.width, y+1))
			}
		}
		if wrong.Empty() {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: the viewer does not show rows %d to %d", what, wrong.Min.Y, wrong.Max.Y)
		case <-ended:
			t.Fatalf("%s: the viewer has ended", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// watch starts a graphical viewer, follows the changes on its screen and types and
// clicks in it.
func watch(t *testing.T, viewer func(x *xvfbtest.Server, host, port string) *exec.Cmd) {
	t.Helper()
	xvfbtest.Need(t, "xdotool")
	c, in, host, port := viewerScreen(t)
	// A viewer makes its window smaller than what it shows where that would fill the screen.
	x := xvfbtest.Start(t, xvfbtest.Options{Width: c.width + 100, Height: c.height + 100})
	painter := x.Painter(t)
	ended := start(t, viewer(x, host, port))
	// There is no window manager to place the window and to give it the keys.
	place := x.Command("timeout", "20", "xdotool", "search", "--sync", "--onlyvisible", "--class", ".", "windowmove", "0", "0", "windowfocus")
	if out, err := place.CombinedOutput(); err != nil {
		t.Fatalf("place the viewer's window: %v\n%s", err, out)
	}
	for i, change := range c.changes() {
		change()
		c.await(t, fmt.Sprint("change ", i), ended, func() ([]uint32, int) {
			return painter.Pixels(painter.Bounds()), painter.Bounds().Dx()
		})
	}
	must(t, x.Command("xdotool", "mousemove", "123", "45", "click", "1", "key", "q", "key", "shift+exclam").Run())
	wants := []any{moved{123, 45}, clicked{1, true}, clicked{1, false}, keyed{'q', true}, keyed{'q', false}, keyed{'!', true}, keyed{'!', false}}
	for len(wants) > 0 {
		for _, e := range in.got(t, 1) {
			if len(wants) > 0 && e == wants[0] {
				wants = wants[1:]
			}
		}
	}
}

func TestViewerTigerVNC(t *testing.T) {
	xvfbtest.Need(t, "xtigervncviewer")
	for name, args := range map[string][]string{
		"Tight":   {"-AutoSelect=0", "-PreferredEncoding=Tight", "-NoJPEG"},
		"ZRLE":    {"-AutoSelect=0", "-PreferredEncoding=ZRLE", "-NoJPEG"},
		"Hextile": {"-AutoSelect=0", "-PreferredEncoding=Hextile", "-NoJPEG"},
		"JPEG":    {"-AutoSelect=0", "-PreferredEncoding=Tight", "-QualityLevel=6"},
		"auto":    {"-NoJPEG"},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(x *xvfbtest.Server, host, port string) *exec.Cmd {
				cmd := x.Command("xtigervncviewer", append(args, "-RemoteResize=0", "-AlertOnFatalError=0",
					"-ReconnectOnError=0", "-MenuKey=", host+"::"+port)...)
				cmd.Env = append(cmd.Env, "HOME="+t.TempDir(), "VNC_PASSWORD="+viewerPassword)
				return cmd
			})
		})
	}
}

func TestViewerGTK(t *testing.T) {
	const python = "/usr/bin/python3" // the one that the distribution's bindings are for
	xvfbtest.Need(t, python)
	if exec.Command(python, "-c", `import gi; gi.require_version("GtkVnc", "2.0")`).Run() != nil {
		xvfbtest.Need(t, "gir1.2-gtk-vnc-2.0")
	}
	watch(t, func(x *xvfbtest.Server, host, port string) *exec.Cmd {
		return x.Command(python, "testdata/gtkvnc.py", host, port, viewerPassword)
	})
}

func TestViewerLibvncclient(t *testing.T) {
	xvfbtest.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "vncclient")
	if _, err := os.Stat("/usr/include/rfb/rfbclient.h"); err != nil {
		xvfbtest.Need(t, "libvncclient's headers")
	}
	build := exec.Command("gcc", "-O2", "-o", program, "testdata/vncclient.c", "-lvncclient")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, encodings := range []string{"tight copyrect raw", "zrle copyrect raw", "zlib raw", "hextile raw", "raw"} {
		t.Run(encodings, func(t *testing.T) {
			c, in, host, port := viewerScreen(t)
			cmd := exec.Command(program, host+":"+port, viewerPassword, encodings)
			stdin, err := cmd.StdinPipe()
			must(t, err)
			stdout, err := cmd.StdoutPipe()
			must(t, err)
			ended := start(t, cmd)
			lines := bufio.NewScanner(stdout)
			tell := func(line string) {
				io.WriteString(stdin, line+"\n")
				if !lines.Scan() || lines.Text() != "done" {
					t.Fatalf("%s: the viewer said %q", line, lines.Text())
				}
			}
			if !lines.Scan() {
				t.Fatal("the viewer did not connect")
			}
			file := filepath.Join(t.TempDir(), "dump")
			for i, change := range c.changes() {
				change()
				c.await(t, fmt.Sprint("change ", i), ended, func() (pix []uint32, width int) {
					tell("dump " + file)
					b, err := os.ReadFile(file)
					must(t, err)
					for ; len(b) >= 4; b = b[4:] {
						pix = append(pix, binary.LittleEndian.Uint32(b)&0xffffff)
					}
					return swapped(pix[2:]), int(pix[0])
				})
			}
			tell("click 12 34")
			tell("key 113")
			in.want(t, moved{12, 34}, clicked{1, true}, moved{12, 34}, clicked{1, false}, keyed{'q', true}, keyed{'q', false})
		})
	}
}

// swapped exchanges red and blue: libvncclient asks for R, G, B, 0.
func swapped(pix []uint32) []uint32 {
	for i, p := range pix {
		pix[i] = p&0xff<<16 | p&0xff00 | p>>16&0xff
	}
	return pix
}
