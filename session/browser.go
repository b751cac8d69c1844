package session

import (
	"cmp"
	"context"
	"os"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/browser"
)

// forBrowser is what the browser of the screen needs of it.
func (d *Desktop) forBrowser() browser.Screen {
	return browser.Screen{
		Number: d.Screen.Number(),
		Start: func(argv []string, files ...*os.File) (browser.Process, error) {
			run, err := d.children.start(d.table.cfg.Programs, d.Screen, argv, files...)
			if err != nil {
				return nil, err // not run, which would be an interface that is not nil
			}
			return run, nil
		},
		Raise: d.raiseBrowser,
		Owns:  d.ownsPeer,
	}
}

// browserClass is the class of Chromium's windows, in any case.
const browserClass = "chromium"

// raiseBrowser gives the keyboard to Chromium's topmost window, which may be on its way.
func (d *Desktop) raiseBrowser(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, windowTime)
	defer cancel()
	for {
		stamp := d.Screen.Frame().Stamp()
		windows, err := d.Screen.Windows(ctx)
		if err != nil {
			return err
		}
		if w, ok := match(windows, browserClass); ok && !w.Hidden {
			if ok, err := activate(ctx, d.Screen, w); ok || err != nil {
				return err
			}
		}
		if err := changeOr(limited, d.Screen.Frame(), stamp, poll); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return api.Errorf(api.CodeTimeout, "The browser runs, but no window of it has appeared within %v.", windowTime).
				WithFix("Look at the screen, then open the page again.").WithRetry()
		}
	}
}

// ownsPeer reports whether a peer on the loopback address is a program of this screen's
// session.
func (d *Desktop) ownsPeer(peer string) bool {
	if d.children.HasPeer(peer) {
		return true
	}
	d.table.mu.Lock()
	s := d.session
	d.table.mu.Unlock()
	return s != nil && s.work.shell.HasPeer(peer)
}

// PageText reads the page in front of the browser of the session's screen.
func (s *Session) PageText(ctx context.Context, r api.PageTextRequest) (page api.PageText, err error) {
	if err := r.Check(); err != nil {
		return page, err
	}
	err = s.inTurn(ctx, func(ctx context.Context, d *Desktop) error {
		if d.browser == nil {
			return api.Errorf(api.CodeUnsupported, "This computer has no browser.")
		}
		page, err = d.browser.Page(ctx, cmp.Or(r.MaxBytes, api.DefaultPageText))
		return err
	})
	return page, err
}
