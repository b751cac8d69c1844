package browser

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// period is how often cookies are exchanged while a browser runs. There is no event for
// a cookie that changes.
const period = 2 * time.Second

// answerTime bounds how long one Chromium is waited for at a time during an exchange.
const answerTime = 3 * time.Second

// Run exchanges cookies while any browser runs, until ctx ends. It sleeps while none does.
func (b *Browsers) Run(ctx context.Context) error {
	for {
		select {
		case <-b.started:
		case <-ctx.Done():
			return nil
		}
		for tick := time.Tick(period); b.anyRuns(); {
			select {
			case <-tick:
				b.exchange(ctx)
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func (b *Browsers) anyRuns() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.running) > 0
}

// join gives a Chromium that has just started the cookies and localStorage of the others
// and takes it into the exchange.
func (b *Browsers) join(ctx context.Context, i *instance) error {
	b.exchange(ctx) // for what somebody has just signed in to
	b.exchanging.Lock()
	err := i.give(ctx, b.jar.contents.all())
	if err == nil {
		i.seen, err = i.cookies(ctx)
	}
	b.exchanging.Unlock()
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.running[i] = true
	b.mu.Unlock()
	select {
	case b.started <- struct{}{}:
	default:
	}
	return nil
}

// leave takes a Chromium that has ended out of the exchange.
func (b *Browsers) leave(i *instance) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, i)
}

// exchange brings what has changed in each browser into the jar and into the others.
func (b *Browsers) exchange(ctx context.Context) {
	b.exchanging.Lock()
	defer b.exchanging.Unlock()
	b.mu.Lock()
	running := maps.Clone(b.running)
	b.mu.Unlock()

	var (
		mu   sync.Mutex
		all  changes
		have = make(map[*instance]cookies)
	)
	each(ctx, running, func(ctx context.Context, i *instance) {
		b.storage.collect(ctx, i)
		now, err := i.cookies(ctx)
		if err != nil {
			return // it is ending, or so busy that it has to wait for the next time
		}
		mu.Lock()
		defer mu.Unlock()
		have[i] = now
		all = merge(all, diff(i.seen, now))
	})
	b.storage.keep()
	if len(all) > 0 {
		b.jar.contents.apply(all, time.Now())
		b.jar.keep()
	}
	each(ctx, running, func(ctx context.Context, i *instance) {
		now, ok := have[i]
		if !ok {
			// It gets these changes as well as its own when it answers.
			maps.Copy(i.owed, all)
			return
		}
		i.seen = now
		missing := maps.Clone(i.owed)
		maps.Copy(missing, all)
		missing, i.owed = missing.missing(now), make(changes)
		if err := i.give(ctx, missing); err != nil {
			i.owed = missing
			return
		}
		i.given(ctx, missing)
	})
}

// each calls f for all browsers side by side, with a context of answerTime.
func each(ctx context.Context, running map[*instance]bool, f func(context.Context, *instance)) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var wg sync.WaitGroup
	for i := range running {
		wg.Go(func() { f(ctx, i) })
	}
	wg.Wait()
}

// cookies returns those that the browser has.
func (i *instance) cookies(ctx context.Context) (cookies, error) {
	var result struct{ Cookies []cookie }
	err := i.conn.call(ctx, "", "Storage.getCookies", nil, &result)
	return cookiesOf(result.Cookies), err
}

// give makes changes in the browser. Chromium takes all cookies of a call or none, so when
// it does not like one, the others are given one by one.
func (i *instance) give(ctx context.Context, ch changes) error {
	if len(ch) == 0 {
		return nil
	}
	params := make([]map[string]any, 0, len(ch))
	for k, c := range ch {
		if c == nil {
			params = append(params, k.removal())
		} else {
			params = append(params, c.param())
		}
	}
	err := i.set(ctx, params)
	if _, refused := errors.AsType[*remoteError](err); !refused {
		return err
	}
	for _, p := range params {
		err := i.set(ctx, []map[string]any{p})
		if _, refused := errors.AsType[*remoteError](err); err != nil && !refused {
			return err
		}
	}
	return nil
}

func (i *instance) set(ctx context.Context, params []map[string]any) error {
	return i.conn.call(ctx, "", "Storage.setCookies", map[string]any{"cookies": params}, nil)
}

// given notes what became of changes that were given to the browser, which may have stored
// them a little otherwise. What else has changed since is news for the next exchange.
func (i *instance) given(ctx context.Context, ch changes) {
	if len(ch) == 0 {
		return
	}
	now, err := i.cookies(ctx)
	for k, c := range ch {
		stored, ok := now[k]
		switch {
		case err != nil && c != nil:
			i.seen[k] = *c
		case err == nil && ok:
			i.seen[k] = stored
		default:
			delete(i.seen, k)
		}
	}
}
