package session

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
	"github.com/falleng0d/computer-use-mcp/session/apps"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

// Browser is the Chromium of one screen; browser.Browser is one. All methods may be called
// from any goroutine.
type Browser interface {
	// Open opens an address in a new tab and brings it to the front, and starts Chromium
	// if none runs. With an empty address it raises Chromium's window.
	Open(ctx context.Context, address string) error
	// Page returns what can be read in the tab in front, no more than most bytes.
	Page(ctx context.Context, most int) (api.PageText, error)
	// Busy reports whether the page in front is loading.
	Busy() bool
	// DevTools returns the address, for programs of this screen, of Chromium's DevTools.
	DevTools(ctx context.Context) (address string, err error)
	// TakeNotes returns what happened to Chromium since the last call.
	TakeNotes() []string
	// Close has Chromium quit and returns when it has.
	Close(ctx context.Context) error
}

// OpenPath shows a web page, or a file in the browser or in its default application, and
// answers with the screen after it.
func (s *Session) OpenPath(ctx context.Context, r api.OpenPathRequest) (o api.Observation, images []Image, err error) {
	if err := r.Check(); err != nil {
		return o, nil, err
	}
	return s.show(ctx, "open_path", func(ctx context.Context, d *Desktop) error { return s.openPath(ctx, d, r.Path) })
}

// LaunchApp starts an application, or raises its window, and answers with the screen after
// it.
func (s *Session) LaunchApp(ctx context.Context, r api.LaunchAppRequest) (o api.Observation, images []Image, err error) {
	if err := r.Check(); err != nil {
		return o, nil, err
	}
	return s.show(ctx, "launch_app", func(ctx context.Context, d *Desktop) error { return s.focus(ctx, d, r.Application, r.URI) })
}

// show does something that brings a window to the front. It takes its turn, is refused
// while a person has control, and answers when the screen has come to rest.
func (s *Session) show(ctx context.Context, kind string, do func(context.Context, *Desktop) error) (o api.Observation, images []Image, err error) {
	err = s.inTurn(ctx, func(ctx context.Context, d *Desktop) error {
		if _, err := d.Screen.Refresh(ctx); err != nil {
			return err
		}
		acting, _, done, err := d.beginActing(ctx)
		if err != nil {
			return err
		}
		d.acts(kind)
		rest := settle.Verdict{}
		base := settle.Look(d.Screen.Frame(), s.tracker, d.busy)
		if err = do(acting, d); err == nil {
			rest, err = settle.Watch(acting, d.Screen.Frame(), s.tracker, settle.Action{Kind: api.KindFocus}, base)
		}
		err = explain(acting, err) // before done, which cancels acting
		done(err == nil)
		full := s.table.diskIsFull()
		if err != nil {
			if full != "" {
				e := *api.AsError(err) // others may have it too
				return e.WithFix("%s %s", e.Fix, full)
			}
			return err
		}
		o, images, err = s.look(ctx, d, wish{view: s.viewOf(api.ImageOptions{})})
		if full != "" {
			o.Notes = append(o.Notes, full)
		}
		if rest.Outcome == settle.Timeout {
			o.Notes = append(o.Notes, "The screen was still changing when this picture was taken; computer_wait waits until it is still.")
		}
		return err
	})
	return o, images, err
}

// openPath opens an address or a file: what Chromium shows there, everything else in the
// application that is the default for its type.
func (s *Session) openPath(ctx context.Context, d *Desktop, target string) error {
	address, path, err := s.target(target)
	if err != nil {
		return err
	}
	if path == "" {
		return d.browse(ctx, address)
	}
	id, err := s.identify(ctx, path)
	if err != nil {
		return err
	}
	if apps.Shown(id.Type) {
		return d.browse(ctx, address)
	}
	app, ok := d.apps().Default(id.Type, id.Path)
	switch {
	case !ok:
		return noApplication(id)
	case app.Browser():
		return d.browse(ctx, address)
	}
	windows, err := d.Screen.Windows(ctx)
	if err != nil {
		return err
	}
	return d.launch(ctx, app, app.Name, id.Path, windows)
}

// target returns the address that an agent's path or address means, and the absolute path
// if that is a file.
func (s *Session) target(text string) (address, path string, err error) {
	if api.IsAddress(text) {
		address, err = api.CheckAddress(text)
		path, _ = api.FileOf(address)
		return address, path, err
	}
	path = files.Resolve(s.table.cfg.Programs.Home, s.work.folder(), text)
	return api.FileAddress(path), path, nil
}

// identify asks what is at an absolute path, with the rights of the programs' user.
func (s *Session) identify(ctx context.Context, path string) (id files.Identity, err error) {
	_, err = s.table.cfg.Files.Call(ctx, files.Identify, "/", api.OpenPathRequest{Path: path}, &id)
	if e := api.AsError(err); err != nil && e.Code == api.CodeNotFound {
		return id, e.WithFix("%s A web address begins with http:// or https://.", e.Fix)
	}
	return id, err
}

// noApplication says what a file needs that is not installed.
func noApplication(id files.Identity) error {
	if id.Type == files.FolderType {
		return api.Errorf(api.CodeIsAFolder, "%q is a folder, and no file manager is installed.", id.Path).
			WithFix("list_files shows what is in it.")
	}
	e := api.Errorf(api.CodeUnsupported, "No application is installed that opens %q, which is %s.", id.Path, id.Type)
	if part := apps.OfficePart(id.Type); part != "" {
		return e.WithFix("LibreOffice opens it: the Debian package libreoffice-%s, which the full image has. Until it is installed, work on the file with shell.", part)
	}
	return e.WithFix("read_file and shell can look into it, launch_app opens it in an application of your choice.")
}

// browse opens what target returned in the browser, and refuses a file that is not there.
func (s *Session) browse(ctx context.Context, d *Desktop, address, path string) error {
	if path != "" {
		if _, err := s.identify(ctx, path); err != nil {
			return err
		}
	}
	return d.browse(ctx, address)
}

// browse opens an address in the screen's browser; with an empty one it raises that.
func (d *Desktop) browse(ctx context.Context, address string) error {
	if d.browser == nil {
		return noBrowser()
	}
	return d.browser.Open(ctx, address)
}

func noBrowser() error {
	return api.Errorf(api.CodeUnsupported, "This computer has no browser.").WithFix("Use shell, for example with curl.")
}

// busy reports whether the page in front of the screen's browser is loading.
func (d *Desktop) busy() bool { return d.browser != nil && d.browser.Busy() }

// apps returns the applications that programs on the screen see.
func (d *Desktop) apps() apps.Apps {
	return apps.Apps{Env: d.Screen.Env(), Home: d.table.cfg.Programs.Home}
}

// Browse opens an address in the browser of the screen whose authority file a program
// names: its place is known to the programs of that screen only. With an empty address the
// browser's window is raised. It is what programs call, and waits for nobody's turn.
func (t *Table) Browse(ctx context.Context, xauthority, address string) error {
	if address != "" {
		checked, err := api.CheckAddress(address)
		if err != nil {
			return err
		}
		address = checked
	}
	for _, d := range t.Desktops() {
		if api.SameSecret(xauthority, d.Screen.Xauthority()) {
			return d.browse(ctx, address)
		}
	}
	return api.Errorf(api.CodePermissionDenied, "The program was not started on a screen that is open.").
		WithFix("Look at the screen with computer_observe first; then run the command again.")
}
