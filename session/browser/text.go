package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

//go:embed text.js
var textScript string

// textTime bounds the reading of a page, whose scripts may keep it from answering.
const textTime = 10 * time.Second

// Page returns what can be read in the tab in front, with its links no more than most
// bytes. It starts no Chromium: the error is an api.Error of CodeNotFound when there is no
// page.
func (b *Browser) Page(ctx context.Context, most int) (api.PageText, error) {
	var p api.PageText
	run := b.current()
	var front *page
	var url, dialog string
	if run != nil {
		run.lookFront(ctx)
		run.mu.Lock()
		if front = run.active(); front != nil {
			url, dialog = front.url, front.dialog
		}
		run.mu.Unlock()
	}
	if front == nil {
		return p, api.Errorf(api.CodeNotFound, "No page is open in the browser of this screen.").
			WithFix("Open one with open_path. Pages of other programs can only be seen in a picture.")
	}
	if dialog != "" {
		return p, api.Errorf(api.CodeBusy, "The page %.200s is held up by its dialog, which says %.300q.", url, dialog).
			WithFix("Answer the dialog on the screen, then read the page.")
	}
	limited, cancel := context.WithTimeout(ctx, textTime)
	defer cancel()
	err := run.evaluate(limited, front, fmt.Sprintf("((max) => {%s})(%d)", textScript, most), &p)
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case limited.Err() != nil:
		return p, api.Errorf(api.CodeTimeout, "The page in front, %.200q, did not answer within %v.", url, textTime).
			WithFix("Look at the screen: it may still be loading, its scripts are busy, or something is open in front of it.").WithRetry()
	case errors.Is(err, errGone):
		return p, api.Errorf(api.CodeNotFound, "The browser was closed.").WithFix("Open a page with open_path.")
	case err != nil:
		return p, api.Errorf(api.CodeScreenFailed, "The page could not be read: %v.", err).
			WithFix("It may have gone on to another one: try again, or look at the screen.").WithRetry()
	}
	return p, nil
}
