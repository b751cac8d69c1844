package browser

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// jar holds the cookies of all browsers.
type jar struct {
	keeper
	contents contents
}

func openJar(cfg Config) *jar {
	j := &jar{keeper: keeper{cfg.Home, "cookies.json", cfg.Logger}, contents: make(contents)}
	var list []kept
	j.load(&list)
	j.contents.fill(list)
	return j
}

func (j contents) fill(list []kept) {
	for _, c := range list {
		j[c.key()] = c
	}
}

func (j *jar) keep() { j.save(j.contents.list()) }

// kept is a cookie of the jar and when it changed last.
type kept struct {
	cookie
	Changed time.Time `json:"changed"`
}

// maxCookies is how many cookies a jar holds.
const maxCookies = 5000

// contents are the cookies of a jar.
type contents map[cookieKey]kept

// apply brings changes of a time into the jar. Those that have expired go, and if there are
// too many, those whose last change is longest ago.
func (j contents) apply(ch changes, at time.Time) {
	for k, c := range ch {
		if c == nil {
			delete(j, k)
		} else {
			j[k] = kept{*c, at}
		}
	}
	maps.DeleteFunc(j, func(_ cookieKey, c kept) bool { return c.expired(at) })
	if len(j) <= maxCookies {
		return
	}
	oldest := j.list()
	slices.SortStableFunc(oldest, func(a, b kept) int { return a.Changed.Compare(b.Changed) })
	for _, c := range oldest[:len(j)-maxCookies] {
		delete(j, c.key())
	}
}

// list returns the cookies in an order that depends on nothing but them.
func (j contents) list() []kept {
	return slices.SortedFunc(maps.Values(j), func(a, b kept) int {
		x, y := a.key(), b.key()
		for _, pair := range [][2]string{
			{x.domain, y.domain}, {x.path, y.path}, {x.name, y.name}, {x.partition.Site, y.partition.Site},
		} {
			if c := strings.Compare(pair[0], pair[1]); c != 0 {
				return c
			}
		}
		return 0
	})
}

// all returns the cookies as a change of a browser that has none.
func (j contents) all() changes {
	ch := make(changes, len(j))
	for k, c := range j {
		ch[k] = &c.cookie
	}
	return ch
}
