package browser

import "testing"

// Which tab is meant does not depend on chance.
func TestActive(t *testing.T) {
	for name, c := range map[string]struct {
		pages []*page // in the order in which they came
		want  int
	}{
		"the one with the keyboard": {[]*page{{shown: shownInWindow}, {shown: shownKeyboard}, {shown: shownMaybe, silent: true}}, 1},
		"the one that says so, with a dialog that was used before": {[]*page{
			{shown: shownKeyboard, silent: true, dialog: &dialog{}}, {shown: shownKeyboard},
		}, 1},
		"one that answers": {[]*page{{shown: shownInWindow}, {shown: shownInWindow, silent: true}}, 0},
		"the last of those that links have opened and that load": {[]*page{
			{shown: shownNot}, {shown: shownMaybe, silent: true}, {shown: shownMaybe, silent: true}, {shown: shownMaybe, silent: true},
		}, 3},
	} {
		i := &instance{pages: make(map[string]*page)}
		for n, p := range c.pages {
			p.came = n
			i.pages[string(rune('a'+n))] = p
		}
		for range 20 { // a map has no order
			if got := i.active(); got != c.pages[c.want] {
				t.Errorf("%s: tab %d", name, got.came)
				break
			}
		}
	}
}

// A tab that shows a dialog answers nothing, and still is the one in front.
func TestDialogIsInFront(t *testing.T) {
	for name, c := range map[string]struct {
		opener, other int    // how far in front they were before the dialog
		after         string // an event after it
		otherNow      int    // what the other one says then
		want          string
	}{
		"before a popup that had the keyboard":     {shownInWindow, shownKeyboard, "", shownInWindow, "opener"},
		"behind a popup that has it":               {shownInWindow, shownKeyboard, "", shownKeyboard, "other"},
		"behind another tab of its window":         {shownNot, shownKeyboard, "", shownKeyboard, "other"},
		"behind one with the address field in use": {shownNot, shownInWindow, "", shownInWindow, "other"},
		"turned to since":                          {shownNot, shownKeyboard, "", shownNot, "opener"},
		"behind one that was opened since": {
			shownKeyboard, shownNot, `{"sessionId": "new", "targetInfo": {"type": "page", "targetId": "1"}}`, shownNot, "new",
		},
	} {
		i := &instance{pages: map[string]*page{
			"opener": {session: "opener", shown: c.opener},
			"other":  {session: "other", shown: c.other, came: 1},
		}, came: 2, conn: newConn(nil, nil, nil), news: make(chan struct{}), browser: New(quietConfig(t)).On(Screen{})}
		i.conn.fail() // nobody is there to set up tabs
		i.event(message{Session: "opener", Method: "Page.javascriptDialogOpening", Params: []byte(`{"type": "alert", "message": "Sure?"}`)})
		i.pages["opener"].silent = true
		if c.after != "" {
			i.event(message{Method: "Target.attachedToTarget", Params: []byte(c.after)})
			i.work.Wait()
			i.pages["new"].silent = false
			i.saw(i.pages["new"], shownInWindow)
		}
		i.saw(i.pages["other"], c.otherNow)
		if got := i.active(); got.session != c.want {
			t.Errorf("%s: it is %s", name, got.session)
		}
	}
}
