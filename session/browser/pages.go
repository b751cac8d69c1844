package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// page is a tab. Its fields are guarded by the instance's mu.
type page struct {
	session string // of ours with it
	target  string // also the id of its main frame
	came    int    // how many tabs had come before it
	url     string // of its document; of an error page, that of the page that could not be shown
	ready   bool   // it was set up
	shown   int    // how far in front it was when it last answered lookFront
	silent  bool   // it did not answer the last time
	loading bool
	crashed bool                 // its process has ended, and nothing was loaded since
	dialog  *dialog              // that holds it up; nil when none does
	pending map[string]time.Time // requests under way and when they began
	changed map[string]bool      // origins whose localStorage has changed since it was kept
}

// pending requests are few in a page that loads well; what one that does not may take of
// our memory is bounded.
const maxPending = 200

// patience is how long a request is taken for something that the page waits for. What
// takes longer is a connection that is kept open for news.
const patience = 3 * time.Second

// world is the name of the place, apart from the page's own scripts, where ours run in it.
const world = "computer-use"

// watchPages has Chromium tell of every tab, and of new ones before they load anything.
func (i *instance) watchPages(ctx context.Context) error {
	type filter struct {
		Type string `json:"type"`
	}
	return i.conn.call(ctx, "", "Target.setAutoAttach", map[string]any{
		"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": []filter{{"page"}},
	}, nil)
}

// event is told of everything that happens in Chromium, in the order of it.
func (i *instance) event(m message) {
	if m.Method == "Fetch.requestPaused" {
		i.work.Go(func() { i.release(m) })
		return
	}
	if m.Session == "" {
		i.targetEvent(m)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if p := i.pages[m.Session]; p != nil {
		i.pageEvent(p, m)
	}
}

// targetEvent is event for tabs that come and go.
func (i *instance) targetEvent(m message) {
	var e struct {
		SessionID  string
		TargetInfo struct{ TargetID, Type, URL string }
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch m.Method {
	case "Target.attachedToTarget":
		if e.TargetInfo.Type != "page" {
			return
		}
		p := &page{
			session: e.SessionID, target: e.TargetInfo.TargetID, came: i.came, url: cmp.Or(e.TargetInfo.URL, blank), shown: shownMaybe, silent: true,
			pending: make(map[string]time.Time), changed: make(map[string]bool),
		}
		i.came++
		i.pages[p.session] = p
		i.work.Go(func() { i.setUp(p) })
	case "Target.detachedFromTarget":
		if i.pages[e.SessionID] == nil {
			return
		}
		delete(i.pages, e.SessionID)
		i.tell()
		if len(i.pages) == 0 {
			go i.quitUnused() // not one of work's, whose end it waits for
		}
	}
}

// tell wakes those who wait for a page. The caller holds mu.
func (i *instance) tell() {
	close(i.news)
	i.news = make(chan struct{})
}

// setUp has a new tab tell what it does, and lets it go on. Only then does a tab that a link
// has opened answer anything, so all is sent before an answer is waited for.
func (i *instance) setUp(p *page) {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	commands := []struct {
		method string
		params any
	}{
		{"Page.enable", nil},
		{"Network.enable", map[string]any{"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}},
		{"DOMStorage.enable", nil},
		{"Runtime.runIfWaitingForDebugger", nil},
	}
	var waits []func(context.Context, any) error
	for _, c := range commands {
		waits = append(waits, i.conn.begin(p.session, c.method, c.params))
	}
	for _, wait := range waits {
		if err := wait(ctx, nil); err != nil {
			i.browser.all.cfg.Logger.Debug("set up tab", "error", err) // it has closed
		}
	}
	var got struct {
		FrameTree struct {
			Frame struct{ URL, UnreachableURL string }
		}
	}
	_ = i.conn.call(ctx, p.session, "Page.getFrameTree", nil, &got)
	i.mu.Lock()
	if p.url == blank { // it may have gone somewhere before it told of that
		p.url = cmp.Or(got.FrameTree.Frame.UnreachableURL, got.FrameTree.Frame.URL, blank)
	}
	p.ready = true
	i.tell()
	i.mu.Unlock()
}

// pageEvent is event for what happens in a tab. The caller holds mu.
func (i *instance) pageEvent(p *page, m message) {
	var e struct {
		FrameID   string
		RequestID string
		Type      string
		Message   string
		Frame     struct{ ID, URL, UnreachableURL string }
		StorageID struct {
			SecurityOrigin string
			StorageKey     string
			IsLocalStorage bool
		}
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	switch m.Method {
	case "Page.frameStartedLoading":
		p.loading = p.loading || e.FrameID == p.target
	case "Page.frameStoppedLoading":
		p.loading = p.loading && e.FrameID != p.target
	case "Page.frameNavigated":
		if e.Frame.ID == p.target {
			p.url, p.crashed = cmp.Or(e.Frame.UnreachableURL, e.Frame.URL), false
			clear(p.pending)
		}
	case "Inspector.targetCrashed":
		p.crashed, p.loading, p.dialog = true, false, nil
		clear(p.pending)
		i.browser.note(fmt.Sprintf("A page of the browser crashed: %.200s. Reload it, or open another.", p.url))
	case "Page.javascriptDialogOpening":
		i.asks(p, e.Type, e.Message)
	case "Page.javascriptDialogClosed":
		p.dialog = nil
	case "Network.requestWillBeSent":
		if waitedFor[e.Type] && len(p.pending) < maxPending {
			p.pending[e.RequestID] = time.Now()
		}
	case "Network.loadingFinished", "Network.loadingFailed":
		delete(p.pending, e.RequestID)
	case "DOMStorage.domStorageItemAdded", "DOMStorage.domStorageItemUpdated",
		"DOMStorage.domStorageItemRemoved", "DOMStorage.domStorageItemsCleared":
		if e.StorageID.IsLocalStorage && len(p.changed) < maxOrigins { // frames can make up any number
			p.changed[e.StorageID.StorageKey] = true
		}
	}
}

// waitedFor are the types of requests whose answers change what a page shows. Pings,
// media and connections that stay open do not count.
var waitedFor = map[string]bool{
	"Document": true, "Stylesheet": true, "Script": true, "Image": true, "Font": true, "XHR": true, "Fetch": true,
}

// evaluate returns what an expression comes to in a tab, out of reach of the page's own
// scripts.
func (i *instance) evaluate(ctx context.Context, p *page, expression string, value any) error {
	var made struct{ ExecutionContextID int }
	if err := i.conn.call(ctx, p.session, "Page.createIsolatedWorld",
		map[string]any{"frameId": p.target, "worldName": world}, &made); err != nil {
		return err
	}
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	if err := i.conn.call(ctx, p.session, "Runtime.evaluate", map[string]any{
		"expression": expression, "contextId": made.ExecutionContextID, "returnByValue": true,
	}, &got); err != nil {
		return err
	}
	if got.ExceptionDetails != nil {
		return errors.New(got.ExceptionDetails.Text)
	}
	return json.Unmarshal(got.Result.Value, value)
}

// busy reports whether the tab in front loads something.
func (i *instance) busy(now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refreshFront(now)
	p := i.active()
	if p == nil || p.dialog != nil { // that is for whoever looks at the screen
		return false
	}
	if p.loading || !p.ready {
		return true
	}
	for _, since := range p.pending {
		if now.Sub(since) < patience {
			return true
		}
	}
	return false
}

// open opens an address in a new tab, or makes sure that there is one, and brings it to the
// front.
func (i *instance) open(ctx context.Context, url string) error {
	i.lookFront(ctx)
	i.mu.Lock()
	p := i.active()
	if url != "" && (p == nil || p != i.first || p.url != blank) {
		p = nil
	}
	i.mu.Unlock()
	if p == nil {
		var err error
		if p, err = i.newPage(ctx); err != nil {
			return err
		}
	}
	if url != "" {
		i.first = nil
		if err := i.navigate(ctx, p, url); err != nil {
			return err
		}
	}
	// This gives it the keyboard too, which a new tab has in its address field.
	if err := i.conn.call(ctx, p.session, "Page.bringToFront", nil, nil); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, other := range i.pages {
		other.shown = shownNot
	}
	p.shown, i.looked = shownKeyboard, time.Now()
	return nil
}

// navigateTime is how long an opened page may take to answer before it is left alone.
const navigateTime = 5 * time.Second

// navigate goes to an address. What the server says, or that it does not, is for the page
// to show.
func (i *instance) navigate(ctx context.Context, p *page, url string) error {
	limited, cancel := context.WithTimeout(ctx, navigateTime)
	defer cancel()
	err := i.conn.call(limited, p.session, "Page.navigate", map[string]any{"url": url}, nil)
	if limited.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// blank is the address of a page without anything.
const blank = "about:blank"

// newPage opens an empty tab in front of the others and returns it when it can be used.
func (i *instance) newPage(ctx context.Context) (*page, error) {
	var created struct{ TargetID string }
	if err := i.conn.call(ctx, "", "Target.createTarget", map[string]any{"url": blank}, &created); err != nil {
		return nil, err
	}
	for {
		i.mu.Lock()
		news := i.news
		for _, p := range i.pages {
			if p.ready && p.target == created.TargetID {
				i.mu.Unlock()
				return p, nil
			}
		}
		i.mu.Unlock()
		select {
		case <-news:
		case <-i.conn.done:
			return nil, errGone
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
