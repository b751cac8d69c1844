package browser

import (
	"math"
	"strings"
	"time"
)

// cookie is a cookie as the DevTools protocol and the jar write it (Network.Cookie).
type cookie struct {
	Name         string     `json:"name"`
	Value        string     `json:"value"`
	Domain       string     `json:"domain"` // with a dot before it also that of hosts below
	Path         string     `json:"path"`
	Expires      float64    `json:"expires"` // seconds since 1970; -1 at the end of the browser
	HTTPOnly     bool       `json:"httpOnly,omitempty"`
	Secure       bool       `json:"secure,omitempty"`
	SameSite     string     `json:"sameSite,omitempty"`
	Priority     string     `json:"priority,omitempty"`
	SourceScheme string     `json:"sourceScheme,omitempty"`
	SourcePort   int        `json:"sourcePort,omitempty"`
	Partition    *partition `json:"partitionKey,omitempty"`
	// Opaque says that the cookie belongs to a partition that has no name.
	Opaque bool `json:"partitionKeyOpaque,omitempty"`
}

// partition is the site under which a cookie was set in a frame (CHIPS).
type partition struct {
	Site     string `json:"topLevelSite"`
	Ancestor bool   `json:"hasCrossSiteAncestor"`
}

// cookieKey is what a browser keeps one cookie for (RFC 6265 section 5.3, step 11, and the
// partition).
type cookieKey struct {
	name, domain, path string
	partition          partition
}

func (c cookie) key() cookieKey {
	k := cookieKey{name: c.Name, domain: c.Domain, path: c.Path}
	if c.Partition != nil {
		k.partition = *c.Partition
	}
	return k
}

// expired reports whether the cookie's time is up.
func (c cookie) expired(now time.Time) bool {
	return c.Expires >= 0 && c.Expires <= float64(now.Unix())
}

// same reports whether two cookies of one key are alike. Times are stored with more or
// fewer digits here and there.
func (c cookie) same(o cookie) bool {
	return c.Value == o.Value && c.HTTPOnly == o.HTTPOnly && c.Secure == o.Secure &&
		c.SameSite == o.SameSite && math.Abs(c.Expires-o.Expires) < 2
}

// param is the cookie as Storage.setCookies takes it. One that only its own host gets must
// be named by an address: with a domain, others below would get it.
func (c cookie) param() map[string]any {
	p := map[string]any{
		"name": c.Name, "value": c.Value, "path": c.Path, "secure": c.Secure, "httpOnly": c.HTTPOnly,
	}
	if strings.HasPrefix(c.Domain, ".") {
		p["domain"] = c.Domain
	} else {
		scheme := "http://"
		if c.Secure || c.SourceScheme == "Secure" {
			scheme = "https://"
		}
		p["url"] = scheme + c.Domain + c.Path
	}
	if c.Expires >= 0 {
		p["expires"] = c.Expires
	}
	for name, value := range map[string]string{"sameSite": c.SameSite, "priority": c.Priority, "sourceScheme": c.SourceScheme} {
		if value != "" {
			p[name] = value
		}
	}
	if c.SourcePort > 0 {
		p["sourcePort"] = c.SourcePort
	}
	if c.Partition != nil {
		p["partitionKey"] = c.Partition
	}
	return p
}

// removal is what takes the cookie away: one that has expired long ago in its place.
func (k cookieKey) removal() map[string]any {
	c := cookie{Name: k.name, Domain: k.domain, Path: k.path, Expires: 1}
	if k.partition != (partition{}) {
		c.Partition = &k.partition
	}
	// What is secure can only be replaced from a secure address, and what has a name with
	// this prefix is always secure.
	c.Secure = true
	return c.param()
}

// cookies are those of one browser.
type cookies map[cookieKey]cookie

// cookiesOf makes a set of a list, without those that cannot be carried.
func cookiesOf(list []cookie) cookies {
	set := make(cookies, len(list))
	for _, c := range list {
		if !c.Opaque {
			set[c.key()] = c
		}
	}
	return set
}

// changes say what becomes of cookies: a new value, or nil for one that was taken away.
type changes map[cookieKey]*cookie

// diff returns what changed from one set to another.
func diff(before, after cookies) changes {
	ch := make(changes)
	for k, c := range after {
		if old, ok := before[k]; !ok || !old.same(c) {
			ch[k] = &c
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			ch[k] = nil
		}
	}
	return ch
}

// merge makes one of the changes that several browsers had between two exchanges, which is
// all that is known of their order. Who is signed out of a site by mistake signs in again,
// who stays signed in by mistake does not know: taking away wins. Of several values the
// one that lasts longer does.
func merge(list ...changes) changes {
	all := make(changes)
	for _, ch := range list {
		for k, c := range ch {
			old, ok := all[k]
			if !ok || c == nil || old != nil && later(*c, *old) {
				all[k] = c
			}
		}
	}
	return all
}

// later orders values of one key, so that the result does not depend on the order of the
// browsers.
func later(a, b cookie) bool {
	if a.Expires != b.Expires {
		return a.Expires > b.Expires
	}
	return a.Value > b.Value
}

// missing returns the changes that a browser does not have yet.
func (ch changes) missing(in cookies) changes {
	out := make(changes)
	for k, c := range ch {
		has, ok := in[k]
		if c == nil && ok || c != nil && (!ok || !has.same(*c)) {
			out[k] = c
		}
	}
	return out
}
