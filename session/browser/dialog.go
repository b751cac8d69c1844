package browser

import "github.com/falleng0d/computer-use-mcp/api"

// dialog is a question that holds a page up: its own (alert, confirm, prompt), or Chromium's
// before a page is left in which something was entered (beforeunload).
type dialog struct {
	kind, message string
	came          int // how many tabs had come before it
}

// asks notes that a tab shows a dialog. It answers lookFront no more, but Chromium holds up
// the tab that is used and no other. It does tell of the dialogs of tabs that are behind
// another one, so one that was last seen there may still be. The caller holds mu.
func (i *instance) asks(p *page, kind, message string) {
	p.dialog = &dialog{kind, message, i.came}
	if p.shown == shownNot {
		p.shown = shownInWindow
	} else {
		p.shown = shownKeyboard
	}
}

// cameOverDialog reports whether a tab came while another one showed a dialog that is still
// open. The caller holds mu.
func (i *instance) cameOverDialog(p *page) bool {
	for _, other := range i.pages {
		if other.dialog != nil && other.dialog.came <= p.came {
			return true
		}
	}
	return false
}

// refusal says that a page cannot be read while its dialog is open.
func (d *dialog) refusal(url string) error {
	if d.kind == "beforeunload" {
		return api.Errorf(api.CodeBusy, "The browser asks whether to leave or reload the page %.200q, where something was entered that may get lost.", url).
			WithFix("Answer on the screen: Escape stays on the page, Enter lets it go. Then read the page.")
	}
	return api.Errorf(api.CodeBusy, "The page %.200q is held up by its %s dialog, which says %.300q.", url, d.kind, d.message).
		WithFix("Answer the dialog on the screen, then read the page.")
}
