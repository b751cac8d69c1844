package browser

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// How far in front a tab is. The first and the last two are what shownScript comes to.
const (
	shownNot      = iota // behind another tab of its window
	shownMaybe           // new, and has not answered yet: it may load slowly
	shownInWindow        // in front of a window
	shownKeyboard        // and has the keyboard
)

var shownScript = fmt.Sprintf(`document.visibilityState !== "visible" ? %d : document.hasFocus() ? %d : %d`,
	shownNot, shownKeyboard, shownInWindow)

// active returns the tab that is in front, as far as is known, or nil. Of those that seem to
// be as far in front it is one that has just said so, and of those the newest: links that
// open several tabs leave the last one in front. The caller holds mu.
func (i *instance) active() *page {
	var front *page
	for _, p := range i.pages {
		if front == nil || p.isBefore(front) {
			front = p
		}
	}
	return front
}

// isBefore reports whether a tab is rather the one in front than another.
func (p *page) isBefore(q *page) bool {
	switch {
	case p.shown != q.shown:
		return p.shown > q.shown
	case p.silent != q.silent:
		return q.silent
	}
	return p.came > q.came
}

// lookFront asks the tabs how far in front they are. Those that cannot answer, because they
// load, or a dialog or a script holds them up, stay as they were. Chromium does not tell by
// itself, unless pages are watched in a way that they can notice (Runtime.enable), which
// some take for a reason to turn people away.
func (i *instance) lookFront(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, frontTime)
	defer cancel()
	i.mu.Lock()
	pages := slices.Collect(maps.Values(i.pages))
	for _, p := range pages {
		p.silent = p.dialog != nil || p.crashed
	}
	pages = slices.DeleteFunc(pages, func(p *page) bool { return p.silent })
	i.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range pages {
		wg.Go(func() {
			var shown int
			err := i.evaluate(ctx, p, shownScript, &shown)
			i.mu.Lock()
			defer i.mu.Unlock()
			if p.silent = err != nil; !p.silent {
				i.saw(p, shown)
			}
		})
	}
	wg.Wait()
}

// saw notes how far in front a tab says that it is. The caller holds mu.
func (i *instance) saw(p *page, shown int) {
	// One that was opened while a dialog was up is used rather than the tab that asks, but it
	// does not say so while what is used is its address field.
	if shown == shownInWindow && i.cameOverDialog(p) {
		shown = shownKeyboard
	}
	p.shown = shown
}

// inFront asks which tab is in front and returns what is known of it; false when there is
// no tab.
func (i *instance) inFront(ctx context.Context) (page, bool) {
	i.lookFront(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	p := i.active()
	if p == nil {
		return page{}, false
	}
	return *p, true
}

// frontTime bounds lookFront, and is how old its result may be for busy.
const frontTime = 500 * time.Millisecond

// refreshFront has lookFront called soon if that was long ago. The caller holds mu.
func (i *instance) refreshFront(now time.Time) {
	if now.Sub(i.looked) < frontTime || len(i.pages) < 2 {
		return
	}
	i.looked = now
	select {
	case <-i.conn.done: // work may be waited for
	default:
		i.work.Go(func() { i.lookFront(context.Background()) })
	}
}
