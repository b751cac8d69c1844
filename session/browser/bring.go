package browser

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"
)

// bringTime bounds bring: a login is worth a wait, but not a page.
const bringTime = 5 * time.Second

// oweStorage has documents wait for the localStorage that is kept of their origins, which it
// returns, those first that changed last. Requests are paused in the browser as a whole: a tab
// that Chromium opens by itself has asked for its document before it is told of.
func (i *instance) oweStorage(ctx context.Context) (latest []string, err error) {
	i.mu.Lock()
	i.owedItems, latest = i.browser.all.storage.kept()
	i.mu.Unlock()
	if len(latest) == 0 {
		return nil, nil // no pattern would be all of them
	}
	patterns := make([]map[string]string, 0, len(latest))
	for _, name := range latest {
		patterns = append(patterns, map[string]string{"urlPattern": name + "/*", "resourceType": "Document"})
	}
	return latest, i.conn.call(ctx, "", "Fetch.enable", map[string]any{"patterns": patterns}, nil)
}

// release lets the request of a document go on, once its origin has its localStorage. One
// of the tab that brings it gets an empty page, which comes from here and not from the site.
func (i *instance) release(paused message) {
	var e struct {
		RequestID string
		Request   struct{ URL string }
	}
	if json.Unmarshal(paused.Params, &e) != nil {
		return
	}
	i.mu.Lock()
	brings := paused.Session == i.bringer
	i.mu.Unlock()
	if u, err := url.Parse(e.Request.URL); err == nil && !brings {
		i.bring(u.Scheme + "://" + u.Host)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	if brings {
		_ = i.conn.call(ctx, paused.Session, "Fetch.fulfillRequest", map[string]any{
			"requestId": e.RequestID, "responseCode": 200,
			"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "text/html"}},
		}, nil)
		return
	}
	_ = i.conn.call(ctx, paused.Session, "Fetch.continueRequest", map[string]any{"requestId": e.RequestID}, nil)
}

// bringAll gives every origin the localStorage that is kept of it, those first that changed
// last. It takes a tenth of a second or two for each, so no start waits for it, but documents
// do (release).
func (i *instance) bringAll(latest []string) {
	for _, name := range latest {
		i.bring(name)
	}
	_ = i.conn.call(context.Background(), "", "Fetch.disable", nil, nil) // each request takes a little longer with it
}

// bring gives an origin the localStorage that is kept of it, if it has not got it yet. It is
// tried once only, and takes bringTime at most, but for those that are brought before it.
func (i *instance) bring(name string) {
	i.bringing.Lock() // also for another document of the origin, which must wait as well
	defer i.bringing.Unlock()
	i.mu.Lock()
	items := i.owedItems[name]
	delete(i.owedItems, name)
	i.mu.Unlock()
	if items == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), bringTime)
	defer cancel()
	if err := i.carry(ctx, name, items); err != nil && !errors.Is(err, errGone) {
		i.browser.all.cfg.Logger.Warn("bring localStorage back", "screen", i.browser.screen.Number, "error", err)
	}
}

// carry puts items into the localStorage of an origin by way of a tab that nobody sees, whose
// requests are answered from here.
func (i *instance) carry(ctx context.Context, name string, items map[string]string) error {
	var tab struct{ TargetID string }
	if err := i.conn.call(ctx, "", "Target.createTarget", map[string]any{"url": blank, "background": true, "hidden": true}, &tab); err != nil {
		return err
	}
	defer func() { // also when the time is up
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		defer cancel()
		_ = i.conn.call(closing, "", "Target.closeTarget", map[string]any{"targetId": tab.TargetID}, nil)
	}()
	var with struct{ SessionID string }
	if err := i.conn.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": tab.TargetID, "flatten": true}, &with); err != nil {
		return err
	}
	i.mu.Lock()
	i.bringer = with.SessionID
	i.mu.Unlock()
	if err := i.conn.call(ctx, with.SessionID, "Fetch.enable", nil, nil); err != nil {
		return err
	}
	if err := i.conn.call(ctx, with.SessionID, "Page.navigate", map[string]any{"url": name + "/"}, nil); err != nil {
		return err
	}
	data, err := json.Marshal(items)
	if err != nil {
		return err
	}
	// location.origin: what did not get there must not get the items.
	script := "if (location.origin === " + quote(name) + ") " +
		"for (const [k, v] of Object.entries(JSON.parse(" + quote(string(data)) + "))) localStorage.setItem(k, v)"
	return i.conn.call(ctx, with.SessionID, "Runtime.evaluate", map[string]any{"expression": script}, nil)
}

func quote(s string) string {
	data, _ := json.Marshal(s) // of a string, which never fails
	return string(data)
}
