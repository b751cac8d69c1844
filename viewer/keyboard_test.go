package viewer

import (
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
)

// tabTo presses Tab until an element has the focus, which must show.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 40 {
		if browsertest.Eval[bool](b.Tab, "document.activeElement.matches('"+selector+"')") {
			if !browsertest.Eval[bool](b.Tab, "document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle !== 'none'") {
				b.t.Errorf("nothing shows that %s has the focus", selector)
			}
			return
		}
		b.Press("Tab", "Tab", 0)
	}
	b.Save("failure")
	b.t.Fatalf("Tab never gets to %s", selector)
}

func (b *tab) enter() { b.t.Helper(); b.Press("Enter", "Enter", 0) }

// Every function can be reached, seen and used without a mouse, and the screen, which
// takes every key, can be left.
func TestWithTheKeyboardAlone(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "first", Screen: 3}, Session{ID: "b", Title: "second", Screen: 4})
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey)
	b.Until("document.querySelectorAll('.card').length === 2")

	b.tabTo("#skip")
	b.enter()
	if id := browsertest.Eval[string](b.Tab, "document.activeElement.id"); id != "main" {
		t.Errorf("the skip link leads to %q", id)
	}
	b.tabTo(".card[data-screen=\"3\"]")
	b.enter()
	b.entered()
	b.tabTo("#lock")
	b.enter()
	b.Until("document.querySelector('#screen').hasAttribute('data-mine') && document.activeElement.tagName === 'CANVAS'")
	seat := c.lastSeat()

	// Tab belongs to the screen now.
	b.Press("Tab", "Tab", 0)
	wantTyped(t, seat, "key 0xff09 true", "key 0xff09 false")
	// The one way out, which leaves nothing pressed.
	b.Key("rawKeyDown", "Control", "ControlLeft", browsertest.Ctrl)
	b.Key("rawKeyDown", "Alt", "AltLeft", browsertest.Ctrl|browsertest.Alt)
	b.Press("Home", "Home", browsertest.Ctrl|browsertest.Alt)
	b.Key("keyUp", "Alt", "AltLeft", browsertest.Ctrl)
	b.Key("keyUp", "Control", "ControlLeft", 0)
	wantTyped(t, seat, "key 0xffe3 true", "key 0xffe9 true")
	left := map[string]bool{<-seat.typed: true, <-seat.typed: true}
	if !left["key 0xffe3 false"] || !left["key 0xffe9 false"] {
		t.Errorf("Ctrl and Alt are not released: %v", left)
	}
	if id := browsertest.Eval[string](b.Tab, "document.activeElement.id"); id != "lock" {
		t.Errorf("Ctrl+Alt+Home leads to %q", id)
	}

	b.tabTo("#fit")
	b.enter()
	b.Until("document.querySelector('#fit').ariaPressed === 'false'")
	b.enter()
	b.tabTo("#full")
	b.enter()
	b.Until("document.fullscreenElement !== null")
	b.enter()
	b.Until("document.fullscreenElement === null")
	b.tabTo("#keys")
	b.enter()
	b.Until("document.querySelector('#keys-menu').matches(':popover-open')")
	b.tabTo("#ctrl-alt-del")
	b.enter()
	wantTyped(t, seat, "key 0xffe3 true", "key 0xffe9 true", "key 0xffff true", "key 0xffff false", "key 0xffe9 false", "key 0xffe3 false")
	b.tabTo("#keys")
	b.enter()
	b.tabTo("#reset-keys")
	b.enter()
	wantTyped(t, seat, "reset")

	b.Press("Home", "Home", browsertest.Ctrl|browsertest.Alt) // the unlocked screen would take a Tab
	b.tabTo("#lock")
	b.enter()
	b.Until("!document.querySelector('#screen').hasAttribute('data-mine')")
	if id := browsertest.Eval[string](b.Tab, "document.activeElement.id"); id != "lock" {
		t.Errorf("after locking the focus is at %q", id)
	}
	b.tabTo("#list a[href=\"#screen=4\"]")
	b.enter()
	b.Until("document.querySelector('#screen-name').innerText === 'second'")
	b.entered()
	b.tabTo("#back")
	b.enter()
	b.Until("!document.querySelector('#overview').hidden")
	if screen := browsertest.Eval[string](b.Tab, "document.activeElement.dataset.screen ?? ''"); screen != "4" {
		t.Errorf("back in the grid the focus is at the card of screen %q", screen)
	}
	b.tabTo("#notify")

	// What changes is said, in places that screen readers listen to.
	for _, selector := range []string{"#link", "#notice", "#fate", "#request"} {
		if role := browsertest.Eval[string](b.Tab, "document.querySelector('"+selector+"').getAttribute('role')"); role != "status" && role != "alert" {
			t.Errorf("%s has the role %q", selector, role)
		}
	}
	if label := browsertest.Eval[string](b.Tab, "document.querySelector('#stage canvas')?.ariaLabel ?? ''"); strings.Contains(label, "undefined") {
		t.Errorf("the canvas is called %q", label)
	}
}
