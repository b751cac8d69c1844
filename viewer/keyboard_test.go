package viewer

import (
	"strings"
	"testing"
)

// tabTo presses Tab until an element has the focus, which must show.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 40 {
		if eval[bool](b, "document.activeElement.matches('"+selector+"')") {
			if !eval[bool](b, "document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle !== 'none'") {
				b.t.Errorf("nothing shows that %s has the focus", selector)
			}
			return
		}
		b.press("Tab", "Tab", 0)
	}
	b.save("failure")
	b.t.Fatalf("Tab never gets to %s", selector)
}

func (b *tab) enter() { b.t.Helper(); b.press("Enter", "Enter", 0) }

// Every function can be reached, seen and used without a mouse, and the screen, which
// takes every key, can be left.
func TestWithTheKeyboardAlone(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "first", Screen: 3}, Session{ID: "b", Title: "second", Screen: 4})
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey)
	b.until("document.querySelectorAll('.card').length === 2")

	b.tabTo("#skip")
	b.enter()
	if id := eval[string](b, "document.activeElement.id"); id != "main" {
		t.Errorf("the skip link leads to %q", id)
	}
	b.tabTo(".card[data-screen=\"3\"]")
	b.enter()
	b.entered()
	b.tabTo("#lock")
	b.enter()
	b.until("document.querySelector('#screen').hasAttribute('data-mine') && document.activeElement.tagName === 'CANVAS'")
	seat := c.lastSeat()

	// Tab belongs to the screen now.
	b.press("Tab", "Tab", 0)
	wantTyped(t, seat, "key 0xff09 true", "key 0xff09 false")
	// The one way out, which leaves nothing pressed.
	b.key("rawKeyDown", "Control", "ControlLeft", ctrl)
	b.key("rawKeyDown", "Alt", "AltLeft", ctrl|alt)
	b.press("Home", "Home", ctrl|alt)
	b.key("keyUp", "Alt", "AltLeft", ctrl)
	b.key("keyUp", "Control", "ControlLeft", 0)
	wantTyped(t, seat, "key 0xffe3 true", "key 0xffe9 true")
	left := map[string]bool{<-seat.typed: true, <-seat.typed: true}
	if !left["key 0xffe3 false"] || !left["key 0xffe9 false"] {
		t.Errorf("Ctrl and Alt are not released: %v", left)
	}
	if id := eval[string](b, "document.activeElement.id"); id != "lock" {
		t.Errorf("Ctrl+Alt+Home leads to %q", id)
	}

	b.tabTo("#fit")
	b.enter()
	b.until("document.querySelector('#fit').ariaPressed === 'false'")
	b.enter()
	b.tabTo("#full")
	b.enter()
	b.until("document.fullscreenElement !== null")
	b.enter()
	b.until("document.fullscreenElement === null")
	b.tabTo("#keys")
	b.enter()
	b.until("document.querySelector('#keys-menu').matches(':popover-open')")
	b.tabTo("#ctrl-alt-del")
	b.enter()
	wantTyped(t, seat, "key 0xffe3 true", "key 0xffe9 true", "key 0xffff true", "key 0xffff false", "key 0xffe9 false", "key 0xffe3 false")
	b.tabTo("#keys")
	b.enter()
	b.tabTo("#reset-keys")
	b.enter()
	wantTyped(t, seat, "reset")

	b.press("Home", "Home", ctrl|alt) // the unlocked screen would take a Tab
	b.tabTo("#lock")
	b.enter()
	b.until("!document.querySelector('#screen').hasAttribute('data-mine')")
	if id := eval[string](b, "document.activeElement.id"); id != "lock" {
		t.Errorf("after locking the focus is at %q", id)
	}
	b.tabTo("#list a[href=\"#screen=4\"]")
	b.enter()
	b.until("document.querySelector('#screen-name').innerText === 'second'")
	b.entered()
	b.tabTo("#back")
	b.enter()
	b.until("!document.querySelector('#overview').hidden")
	if screen := eval[string](b, "document.activeElement.dataset.screen ?? ''"); screen != "4" {
		t.Errorf("back in the grid the focus is at the card of screen %q", screen)
	}
	b.tabTo("#notify")

	// What changes is said, in places that screen readers listen to.
	for _, selector := range []string{"#link", "#notice", "#fate", "#request"} {
		if role := eval[string](b, "document.querySelector('"+selector+"').getAttribute('role')"); role != "status" && role != "alert" {
			t.Errorf("%s has the role %q", selector, role)
		}
	}
	if label := eval[string](b, "document.querySelector('#stage canvas')?.ariaLabel ?? ''"); strings.Contains(label, "undefined") {
		t.Errorf("the canvas is called %q", label)
	}
}
