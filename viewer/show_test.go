package viewer

import (
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
)

// S0-226, S0-227: an open page is sent to the new screen; without one a page is asked for
// once, however many screens open.
func TestShow(t *testing.T) {
	s := serve(t, newFakeComputer())
	if s.Show(3) {
		t.Error("shown without a page")
	}
	if !s.Show(4) || !s.Show(5) {
		t.Error("a second page is asked for while the first is being opened")
	}
	first, firstID := s.openPage(t)
	second, secondID := s.openPage(t)
	first.WriteJSON(command{Type: cmdThumbnails}) // now it is the one that was used last
	s.until(t, func(pages map[string]*page) bool { return pages[firstID].heard.Load() > pages[secondID].heard.Load() })
	if !s.Show(6) {
		t.Error("not shown on an open page")
	}
	if m := next(t, first, msgShow); m.Screen != 6 {
		t.Errorf("the page is sent to screen %d", m.Screen)
	}
	first.Close()
	s.until(t, func(pages map[string]*page) bool { return len(pages) == 1 })
	if !s.Show(7) {
		t.Error("not shown on the other page")
	}
	if m := next(t, second, msgShow); m.Screen != 7 {
		t.Errorf("the page is sent to screen %d", m.Screen)
	}
}

// until waits until the open pages are as wanted.
func (s served) until(t *testing.T, wanted func(map[string]*page) bool) {
	t.Helper()
	ok := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return wanted(s.pages)
	}
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the pages are not as wanted")
		}
	}
}

// The page goes to the screen and marks it; a person at work is only told.
func TestThePageGoesToANewScreen(t *testing.T) {
	now := time.Now()
	c := newRFBComputer(Session{ID: "a", Title: "First", Screen: 3, StartedAt: now}, Session{ID: "b", Title: "Second", Screen: 4, StartedAt: now})
	paint(c.Frame(3), 0x2d6a4f)
	paint(c.Frame(4), 0x2f5d8a)
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey)
	b.Until("document.querySelector('#link').dataset.state === 'live' && document.querySelectorAll('#list li').length === 2")
	if !s.Show(3) {
		t.Fatal("the open page does not count")
	}
	b.entered()
	b.wantPicture(c.Frame(3))
	if marked := browsertest.Eval[string](b.Tab, "document.querySelector('#list [aria-current=page]').innerText"); marked == "" || marked[0] != '3' {
		t.Errorf("the list marks %q", marked)
	}
	b.unlock()
	s.Show(4)
	b.Until("document.querySelector('#notice').innerText.includes('Screen 4 has opened')")
	if at := browsertest.Eval[string](b.Tab, "location.hash"); at != "#screen=3" {
		t.Errorf("a person at work was taken to %s", at)
	}
	b.Click("#notice-action")
	b.Until("location.hash === '#screen=4'")
	b.wantPicture(c.Frame(4))
}
