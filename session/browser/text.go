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

// errorPage is the address that a page of Chromium's own has which says that another one
// cannot be shown.
const errorPage = "chrome-error://chromewebdata/"

// textTime bounds the reading of a page, whose scripts may keep it from answering.
const textTime = 10 * time.Second

// Page returns what can be read in the tab in front, no more than most bytes of text and
// listed links. It starts no Chromium: the error is an api.Error of CodeNotFound when there is no
// page.
func (b *Browser) Page(ctx context.Context, most int) (api.PageText, error) {
	var text api.PageText
	run := b.current()
	if run == nil {
		return text, b.noPage()
	}
	front, ok := run.inFront(ctx)
	switch {
	case !ok:
		return text, b.noPage()
	case front.crashed:
		return text, api.Errorf(api.CodeScreenFailed, "The page in front, %.200q, has crashed.", front.url).
			WithFix("Load it again with F5, or open another one.")
	case front.dialog != nil:
		return text, front.dialog.refusal(front.url)
	}
	limited, cancel := context.WithTimeout(ctx, textTime)
	defer cancel()
	err := run.evaluate(limited, &front, fmt.Sprintf("((max) => {%s})(%d)", textScript, most), &text)
	switch {
	case ctx.Err() != nil:
		return text, ctx.Err()
	case limited.Err() != nil:
		return text, api.Errorf(api.CodeTimeout, "The page in front, %.200q, did not answer within %v.", front.url, textTime).
			WithFix("Look at the screen: it may still be loading, its scripts are busy, or something is open in front of it.").WithRetry()
	case errors.Is(err, errGone):
		if err := run.awaitEnd(ctx); err != nil {
			return text, err
		}
		return text, b.noPage()
	case err != nil:
		return text, api.Errorf(api.CodeScreenFailed, "The page could not be read: %v.", err).
			WithFix("It may have gone on to another one: try again, or look at the screen.").WithRetry()
	}
	if text.URL == errorPage {
		text.URL = front.url
		if text.Text == "" { // it is blank while a dialog of Chromium's asks
			return text, api.Errorf(api.CodeBusy, "The page %.200q is not shown yet: the browser asks for a user name and password first.", front.url).
				WithFix("Answer on the screen, with a name and password that you were given or by request_human; Escape leaves it. Then read the page.")
		}
	}
	return text, nil
}

// noPage says why there is no page to read.
func (b *Browser) noPage() error {
	what := "No page is open in the browser of this screen."
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crash != "" {
		what = "No page is open: the browser of this screen has crashed (" + b.crash + ")."
	}
	return api.Errorf(api.CodeNotFound, "%s", what).
		WithFix("Open one with open_path. Pages of other programs can only be seen in a picture.")
}
