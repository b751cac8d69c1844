package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/session/apps"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

// windowTime is how long a program that was started may take to show its window. A
// browser's first start takes 5 to 10 seconds on a busy machine.
const windowTime = 15 * time.Second

// handOverTime is how long the window may take once a program has ended well, as one does
// that hands over to a running instance, and one for a terminal that shows none.
const handOverTime = 5 * time.Second

// titleTime is how long the window's title may take to name the file that a program was
// started for: an office suite shows an empty window first, and loads then.
const titleTime = 5 * time.Second

// match returns the window that an application name means: the topmost whose class is the
// name, else whose class holds it, else whose title does. Case does not count.
func match(windows []x11.Window, name string) (w x11.Window, ok bool) {
	for _, fits := range []func(x11.Window) bool{
		func(w x11.Window) bool { return strings.EqualFold(w.Class, name) },
		func(w x11.Window) bool { return containsFold(w.Class, name) },
		func(w x11.Window) bool { return containsFold(w.Title, name) },
	} {
		if i := slices.IndexFunc(windows, fits); i >= 0 {
			return windows[i], true
		}
	}
	return w, false
}

// focus brings the application's window to the front, or starts the application when it
// has none or is to open something, and returns when its window has the keyboard.
func (s *Session) focus(ctx context.Context, d *Desktop, application, uri string) error {
	var address, path string
	if uri != "" {
		var err error
		if address, path, err = s.target(uri); err != nil {
			return err
		}
	}
	if apps.IsBrowser(application) {
		return s.browse(ctx, d, address, path)
	}
	windows, err := d.Screen.Windows(ctx)
	if err != nil {
		return err
	}
	window := application
	if strings.EqualFold(application, "terminal") {
		window = "xterm" // part of the class of all that count as one, see package apps
	}
	if w, ok := match(windows, window); ok && uri == "" {
		if ok, err := activate(ctx, d.Screen, w); ok || err != nil {
			return err
		}
	}
	app, err := d.apps().Find(application, cmp.Or(path, address))
	if err != nil && strings.Contains(application, "/") { // a path, as in a shell
		program := files.Resolve(s.table.cfg.Programs.Home, s.work.folder(), application)
		app, err = d.apps().Find(program, cmp.Or(path, address))
	}
	if err != nil {
		return err
	}
	if app.Browser() {
		return s.browse(ctx, d, address, path)
	}
	return d.launch(ctx, app, application, path, windows)
}

// launch starts an application and returns when a window that was not there before has
// the keyboard, or the one that name means when the application was running already. The
// window of one that opens a file should name it by then.
func (d *Desktop) launch(ctx context.Context, app apps.App, name, file string, before []x11.Window) error {
	run, err := d.children.start(d.table.cfg.Programs, d.Screen, app.Argv)
	if err != nil {
		return api.Errorf(api.CodeNotFound, "%.100s could not be started: %v.", name, err).
			WithFix("Start it with shell to find out why, or use another program.")
	}
	limited, cancel := context.WithTimeout(ctx, windowTime)
	defer cancel()
	err = focusNew(limited, d.Screen, before, name, run)
	if limited.Err() != nil && ctx.Err() == nil {
		return api.Errorf(api.CodeTimeout, "%s was started, but no window of it has appeared within %v.", run.name, windowTime).
			WithFix("Wait for its window with computer_wait, then go on.")
	}
	if err == nil && file != "" {
		err = awaitTitle(ctx, d.Screen, before, filepath.Base(file))
	}
	return err
}

// awaitTitle waits until the title of the window with the keyboard names a file. A new
// window that does is given the keyboard, which another one of the program may have taken
// back. Some programs never name it, so it gives up after titleTime, which is no failure.
func awaitTitle(ctx context.Context, screen Screen, before []x11.Window, file string) error {
	limited, cancel := context.WithTimeout(ctx, titleTime)
	defer cancel()
	for limited.Err() == nil {
		stamp := screen.Frame().Stamp()
		windows, err := screen.Windows(limited)
		if err != nil && limited.Err() == nil {
			return err
		}
		for _, w := range windows {
			switch {
			case !strings.Contains(w.Title, file):
			case w.Focused:
				return nil
			case isNew(w, before):
				if ok, err := activate(limited, screen, w); ok || err != nil && limited.Err() == nil {
					return err
				}
			}
		}
		_ = changeOr(limited, screen.Frame(), stamp, poll) // the loop's condition sees its error too
	}
	return ctx.Err()
}

// isNew reports whether a window that people see was not there before.
func isNew(w x11.Window, before []x11.Window) bool {
	return !w.Hidden && !slices.ContainsFunc(before, func(old x11.Window) bool { return old.ID == w.ID })
}

// focusNew gives the keyboard to the first window that was not there before a program
// was started.
func focusNew(ctx context.Context, screen Screen, before []x11.Window, application string, run *program) error {
	var giveUp time.Time // set once the program has ended
	failed := uint32(0)  // id of a window that did not take the keyboard
	for {
		stamp := screen.Frame().Stamp()
		windows, err := screen.Windows(ctx)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(windows, func(w x11.Window) bool { return isNew(w, before) }); i >= 0 {
			w := windows[i]
			ok, err := activate(ctx, screen, w)
			if err != nil && w.ID != failed {
				failed = w.ID
				continue // a dialog may have come up on top of it, which keeps the keyboard
			}
			if ok || err != nil {
				return err
			}
		}
		if run.hasEnded() {
			if run.failed {
				return run.noWindow()
			}
			// A launcher that hands over to a running instance ends well and shows a
			// window that was there.
			if w, ok := match(windows, application); ok {
				if ok, err := activate(ctx, screen, w); ok || err != nil {
					return err
				}
			}
			if giveUp.IsZero() {
				giveUp = time.Now().Add(handOverTime)
			} else if time.Now().After(giveUp) {
				return run.noWindow()
			}
		}
		if err := changeOr(ctx, screen.Frame(), stamp, poll); err != nil {
			return fmt.Errorf("wait for a window: %w", err)
		}
	}
}

// noWindow is the error of a program that has ended without a window.
func (p *program) noWindow() error {
	said := cmp.Or(strings.TrimRight(p.output.String(), "."), "it printed nothing") // ends a sentence
	if p.failed {
		return api.Errorf(api.CodeNotFound, "%s ended (%s) without a window: %s.", p.name, p.state, said).
			WithFix("Start it with shell to find out why, or use another program.")
	}
	return api.Errorf(api.CodeNotFound, "%s has ended, and no window of it has appeared: %s.", p.name, said).
		WithFix("If it is a program for a terminal, run it with shell; else start it there to find out why.")
}

// activate gives the keyboard to a window and reports false when it has just closed.
func activate(ctx context.Context, screen Screen, w x11.Window) (bool, error) {
	err := screen.Activate(ctx, w.ID)
	if errors.Is(err, x11.ErrNoWindow) {
		return false, nil
	}
	return err == nil, err
}
