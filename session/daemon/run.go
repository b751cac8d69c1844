package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/session/private"
)

// Credential is a user that child processes run as.
type Credential = display.Credential

// Options say how a computer runs.
type Options struct {
	StateDir     string // for the daemon alone
	HomeDir      string // of the programs
	Listen       string // host:port of the API
	ViewerListen string // host:port of the viewer page, empty for none
	PortBase     int    // of the viewer page on the host; screen n has PortBase+n; 0 for none
	TokenFile    string
	// NativeViewers is control when empty.
	NativeViewers NativeViewers
	// DevToolsBase plus a screen's number is the loopback port of its browser's DevTools; 0
	// is a free port, where the network is shared with other programs than the computer's.
	DevToolsBase int
	// BrowserSandbox has the browsers use a sandbox of their own, where there is none around
	// them.
	BrowserSandbox bool
	Network        string // internet or offline
	Sandbox        string // what isolates the computer, in a few words
	Version        string

	// ServerUser runs the X servers, ProgramUser everything that an agent can reach.
	// nil is the user of this process.
	ServerUser, ProgramUser *Credential

	Stdout io.Writer // told the viewer's link
	Logger *slog.Logger
}

// Run runs a computer until ctx ends or a caller asks it to stop, and returns when
// every session has ended and every screen is closed. Only one computer at a time can
// use a state folder.
func Run(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := o.absolute(); err != nil {
		return err
	}
	lock, err := lockState(o)
	if err != nil {
		return err
	}
	defer lock.Close()
	token, err := readToken(o.TokenFile)
	if err != nil {
		return err
	}
	id, err := loadIdentity(o.StateDir, o.HomeDir)
	if err != nil {
		return err
	}
	computer, err := newComputer(o)
	if err != nil {
		return err
	}
	defer computer.close()
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen for the API: %v", err)
	}
	defer listener.Close()
	services := computer.services()
	var show func(screen int) bool
	if o.ViewerListen != "" {
		people, page, err := newViewers(computer.table, o.Logger).listen(o, id)
		if err != nil {
			return err
		}
		services = append(services, people...)
		show = page.Show
	}
	link := viewerLink(o, id.ViewerKey)
	daemon := newDaemon(config{
		Table: computer.table, Identity: id, Token: token,
		Version: o.Version, Network: o.Network, Sandbox: o.Sandbox, Viewer: link,
		VNCPort:  o.vncPort,
		Show:     show,
		Shutdown: stop,
		Logger:   o.Logger,
	})
	services = append(services, func(ctx context.Context) error { return daemon.Serve(ctx, listener) })
	if err := writeFacts(o, id, listener.Addr()); err != nil {
		return err
	}
	defer os.Remove(filepath.Join(o.StateDir, api.FactsFile))
	fmt.Fprintf(o.Stdout, "Viewer: %s\nVNC password: %s\n", link, id.ViewerKey)
	o.Logger.Info("serving", "api", listener.Addr().String(), "computer", id.ComputerID, "home", id.HomeID)
	return runAll(ctx, stop, services)
}

// absolute makes the folders' paths absolute: programs run in other folders.
func (o *Options) absolute() (err error) {
	if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
		return err
	}
	o.HomeDir, err = filepath.Abs(o.HomeDir)
	return err
}

// runAll runs services side by side until ctx ends or one of them fails, which stops
// the others. It returns when all have returned.
func runAll(ctx context.Context, stop context.CancelFunc, services []service) error {
	errs := make([]error, len(services))
	var wg sync.WaitGroup
	for i, run := range services {
		wg.Go(func() {
			defer stop()
			errs[i] = run(ctx)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// lockState makes the state folder and takes its lock, which ends with this process.
func lockState(o Options) (*os.File, error) {
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return nil, err
	}
	mode := os.FileMode(0o700)
	if o.ServerUser != nil || o.ProgramUser != nil {
		mode = 0o711 // they must get to the screens' folder, but not see what else is here
	}
	if err := os.Chmod(o.StateDir, mode); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(o.StateDir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock %s: another computerd uses it", o.StateDir)
	}
	return lock, nil
}

// minToken is the shortest bearer token that is accepted, in characters.
const minToken = 16

func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the token: %v", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken {
		return "", fmt.Errorf("read the token: %s holds fewer than %d characters", file, minToken)
	}
	return token, nil
}

// vncPort returns the port on the host that serves a screen to VNC programs, 0 for none.
func (o Options) vncPort(screen int) int {
	if o.PortBase == 0 || o.ViewerListen == "" || o.NativeViewers == NativeOff {
		return 0
	}
	return o.PortBase + screen
}

// viewerLink returns the viewer page's address as the host sees it.
func viewerLink(o Options, key string) string {
	port := strconv.Itoa(o.PortBase)
	if o.PortBase == 0 {
		_, port, _ = net.SplitHostPort(o.ViewerListen)
	}
	return fmt.Sprintf("http://127.0.0.1:%s/#key=%s", port, key)
}

// writeFacts tells in the state folder how this daemon is reached, at an address of the
// API, and what it is.
func writeFacts(o Options, id identity, at net.Addr) error {
	data, err := json.MarshalIndent(api.Facts{
		PID: os.Getpid(), API: at.String(), Viewer: o.ViewerListen,
		Version: o.Version, Protocol: api.Protocol(),
		ComputerID: id.ComputerID, HomeID: id.HomeID, Sandbox: o.Sandbox,
		NativeViewers: string(cmp.Or(o.NativeViewers, NativeControl)),
	}, "", "  ")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(o.StateDir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := private.Write(root, api.FactsFile, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %v", api.FactsFile, err)
	}
	return nil
}
