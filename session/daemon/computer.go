package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/session"
	"github.com/falleng0d/computer-use-mcp/session/browse"
	"github.com/falleng0d/computer-use-mcp/session/browser"
	"github.com/falleng0d/computer-use-mcp/session/files"
	"github.com/falleng0d/computer-use-mcp/session/shell"
)

// closeTimeout bounds the closing of what is left of the screens at shutdown.
const closeTimeout = 10 * time.Second

// service is what runs until ctx ends, or it fails.
type service = func(ctx context.Context) error

// computer is what sessions take place on.
type computer struct {
	screens  *display.Manager
	shells   *shell.Shells
	browsers *browser.Browsers
	calls    net.Listener // for programs that open links; nil where there is no browser
	table    *session.Table
	log      *slog.Logger
}

// newComputer makes a computer. Nothing of it runs until its services do; close ends it.
func newComputer(o Options) (*computer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &computer{log: o.Logger}
	if c.calls, err = installBrowse(o, self); err != nil {
		return nil, fmt.Errorf("install what programs call: %w", err)
	}
	c.screens = display.New(display.Config{
		StateDir:   filepath.Join(o.StateDir, "screens"),
		ServerUser: o.ServerUser, ProgramUser: o.ProgramUser,
		Environ: environ(o), Menu: menu(o), Changed: func() { c.table.Changed() }, Logger: o.Logger,
	})
	c.shells = shell.New(shell.Config{
		User: o.ProgramUser, Env: environ(o), OutputDir: filepath.Join(o.StateDir, "jobs"),
		Cgroups: true, Logger: o.Logger,
	})
	c.browsers = browser.New(browser.Config{
		Home: o.HomeDir, User: o.ProgramUser, Env: environ(o),
		OwnSandbox: o.BrowserSandbox,
		Offline:    o.Network == "offline",
		PortBase:   o.DevToolsBase,
		Logger:     o.Logger,
	})
	c.table = session.NewTable(session.Config{
		Open:     openOn(c.screens),
		Programs: session.Programs{Home: o.HomeDir, Daemon: self},
		Browsers: c.browsers,
		Shells:   c.shells,
		Files:    filesOf(o),
		Logger:   o.Logger,
	})
	return c, nil
}

// services are what runs as long as the computer does.
func (c *computer) services() []service {
	services := []service{c.table.Run, c.browsers.Run}
	if c.calls != nil {
		services = append(services, func(ctx context.Context) error { return browse.Serve(ctx, c.calls, c.table.Browse) })
	}
	return services
}

// close closes what is left once the services have ended.
func (c *computer) close() {
	if c.calls != nil {
		c.calls.Close()
	}
	c.shells.Close()
	closeScreens(c.screens, c.log)
}

func closeScreens(m *display.Manager, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		log.Error("close screens", "error", err)
	}
}

// filesOf returns what does calls on files: this program again, as the programs' user.
func filesOf(o Options) files.Runner {
	// Not its path: the file may have been replaced by another version by now.
	return files.Runner{Command: []string{"/proc/self/exe", filesCommand}, Home: o.HomeDir, User: o.ProgramUser, Env: environ(o)}
}

// environ returns the environment of everything that an agent can reach, apart from
// what the screen adds. Nothing of the daemon's own gets in unseen.
func environ(o Options) []string {
	path := os.Getenv("PATH")
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	lang := os.Getenv("LANG")
	if lang == "" {
		lang = "C.UTF-8" // in another character set, typed text would be spoiled
	}
	env := []string{
		"HOME=" + o.HomeDir,
		"PATH=" + filepath.Join(o.HomeDir, ".local/bin") + ":" + path,
		"LANG=" + lang,
		"SHELL=/bin/bash",
	}
	if tz := os.Getenv("TZ"); tz != "" {
		env = append(env, "TZ="+tz)
	}
	uid := os.Geteuid()
	if o.ProgramUser != nil {
		uid = int(o.ProgramUser.UID)
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		env = append(env, "USER="+u.Username, "LOGNAME="+u.Username)
	}
	if folder := browseFolder(o); folder != "" {
		env = append(env, folder.Environ()...)
	}
	return env
}
