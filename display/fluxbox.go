package display

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// Background is the colour of an empty screen, 0x00RRGGBB: calm, and unlike the
// black of a screen that shows nothing because it broke.
const Background = 0x2e4057

// managerTime is how long the window manager has to take over the screen.
const managerTime = 5 * time.Second

// Fluxbox reads its settings from $HOME/.fluxbox and writes what it misses there.
// So it gets a home of its own inside the screen's folder, which keeps screens
// apart and the user's home clean, and its menu gives programs the real home back.
//
// session.configVersion keeps it from "upgrading" the settings. The style is made
// of flat colours because each gradient and picture costs round trips to the X
// server at the start (measured: 95 ms to take over with Debian's style, 50 ms
// with this), and its background is unset because style backgrounds, the one called
// none too, are set by an outside program that opens an error window when it fails.
const (
	fluxboxInit = `session.configVersion: 13
session.menuFile: %[1]s/menu
session.keyFile: %[1]s/keys
session.appsFile: %[1]s/apps
session.slitlistFile: %[1]s/slitlist
session.styleFile: %[1]s/style
session.styleOverlay: %[1]s/overlay
session.screen0.workspaces: 1
session.screen0.toolbar.visible: false
session.screen0.slit.autoHide: true
session.screen0.focusNewWindows: true
session.screen0.windowPlacement: RowSmartPlacement
session.screen0.tabs.usePixmap: false
session.titlebar.left: MenuIcon
session.titlebar.right: Minimize Maximize Close
`
	fluxboxKeys = `OnDesktop Mouse3 :RootMenu
OnDesktop Mouse1 :HideMenus
OnDesktop Mouse2 :ClientMenu
OnTitlebar Mouse1 :MacroCmd {Raise} {Focus} {ActivateTab}
OnTitlebar Move1 :StartMoving
OnTitlebar Double Mouse1 :Maximize
OnTitlebar Mouse3 :WindowMenu
OnWindowBorder Move1 :StartMoving
OnLeftGrip Move1 :StartResizing bottomleft
OnRightGrip Move1 :StartResizing bottomright
Mod1 Tab :NextWindow {groups} (workspace=[current])
Mod1 Shift Tab :PrevWindow {groups} (workspace=[current])
Mod1 F4 :Close
`
	fluxboxStyle = `*.font: sans-9
*.color: #3b4252
*.textColor: #e5e9f0
*.borderColor: #242933
*.borderWidth: 1
*.bevelWidth: 2
background: unset
menu.title: flat solid
menu.frame: flat solid
menu.hilite: flat solid
menu.hilite.color: #5e81ac
window.title.height: 22
window.title.focus: flat solid
window.title.focus.color: #5e81ac
window.title.unfocus: flat solid
window.label.focus: parentrelative
window.label.unfocus: parentrelative
window.label.focus.textColor: #ffffff
window.label.unfocus.textColor: #a7afbe
window.button.focus: parentrelative
window.button.unfocus: parentrelative
window.button.focus.picColor: #ffffff
window.button.unfocus.picColor: #a7afbe
window.handle.focus: flat solid
window.handle.unfocus: flat solid
window.grip.focus: flat solid
window.grip.unfocus: flat solid
window.handleWidth: 4
`
	fluxboxOverlay = "background: unset\n"
	// GTK makes its file dialog up to 852 pixels high, so that its buttons lie below the
	// edge of the screen. An application's rule does not count for its dialogs.
	fluxboxApps = `[app] (role=GtkFileChooserDialog)
  [Dimensions] {80% 80%}
[end]
[transient] (role=GtkFileChooserDialog)
  [Dimensions] {80% 80%}
[end]
`
)

// startManager starts the window manager and returns when it has taken over the
// screen. It may fail on a screen that works: then windows have no frames.
func (s *Screen) startManager(ctx context.Context) (supervise.Running, error) {
	c, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(s.dir, "fluxbox")
	if err := s.writeFluxbox(home); err != nil {
		return nil, fmt.Errorf("write its settings: %w", err)
	}
	p, err := supervise.Command{
		Name: "the window manager",
		Path: "fluxbox",
		Env:  setEnv(s.Env(), "HOME", home),
		Dir:  "/",
		User: s.User(),
		// It misses a SIGTERM that comes while it starts, and has nothing to save.
		Grace: 200 * time.Millisecond,
	}.Start()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, managerTime)
	defer cancel()
	return p, p.Ready(ctx, c.windows.WaitWindowManager)
}

// writeFluxbox writes the settings anew, whatever became of an earlier copy.
func (s *Screen) writeFluxbox(home string) error {
	if err := os.RemoveAll(home); err != nil {
		return err
	}
	dir := filepath.Join(home, ".fluxbox")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	owner := s.User()
	for name, text := range map[string]string{
		"init":    fmt.Sprintf(fluxboxInit, dir),
		"menu":    menu(s.m.cfg.Menu, s.Display(), getEnv(s.m.cfg.Environ, "HOME")),
		"keys":    fluxboxKeys,
		"style":   fluxboxStyle,
		"overlay": fluxboxOverlay,
		"apps":    fluxboxApps,
	} {
		if err := writeFile(filepath.Join(dir, name), []byte(text), owner); err != nil {
			return err
		}
	}
	if owner == nil {
		return nil
	}
	// The outer folder last: until then nobody else can reach the inner one.
	for _, d := range []string{dir, home} {
		if err := os.Chown(d, int(owner.UID), int(owner.GID)); err != nil {
			return err
		}
	}
	return nil
}

// menu returns a menu file. Fluxbox gives each command to sh in a session of its
// own, so what was started lives on when the window manager is restarted; its
// output must not go to the pipe that ends then.
func menu(items []MenuItem, display, home string) string {
	var b strings.Builder
	b.WriteString("[begin] (Menu)\n")
	for _, item := range items {
		command := fmt.Sprintf("export DISPLAY=%s HOME=%s; cd; exec >/dev/null 2>&1; %s",
			display, supervise.ShellQuote(home), item.Command)
		fmt.Fprintf(&b, "  [exec] (%s) {%s}\n", escape(item.Label, ")"), escape(command, "}"))
	}
	// There is no task bar: this is where minimised windows are found.
	b.WriteString("  [clientmenu] (Windows) {()}\n[end]\n")
	return b.String()
}

// escape puts a backslash before a closing bracket of a menu file.
func escape(s, bracket string) string { return strings.ReplaceAll(s, bracket, `\`+bracket) }

// setEnv returns env with one variable set.
func setEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, name+"=") })
	return append(env, name+"="+value)
}

// getEnv returns a variable of env, or the empty string.
func getEnv(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
