package browser

import "testing"

// Which tab is meant does not depend on chance.
func TestActive(t *testing.T) {
	for name, c := range map[string]struct {
		pages []*page // in the order in which they came
		want  int
	}{
		"the one with the keyboard": {[]*page{{shown: shownInWindow}, {shown: shownKeyboard}, {shown: shownMaybe, silent: true}}, 1},
		"one that answers":          {[]*page{{shown: shownInWindow}, {shown: shownInWindow, silent: true}}, 0},
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
