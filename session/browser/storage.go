package browser

import (
	"bufio"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits of the localStorage that is carried. Where there is more, the origins that changed
// longest ago are left out.
const (
	maxOrigins    = 100
	maxOriginSize = 256 << 10 // bytes, of keys and values; an origin with more is not carried
)

// optOutFile lists, in home, the hosts whose localStorage is not carried, one a line; a dot
// before one stands for the hosts below it as well, and a * for all.
const optOutFile = ".config/computer-use/no-local-storage"

// storage is the localStorage of the browsers' pages, by origin. Many sites keep logins
// there. A Chromium that starts gets that of an origin before it asks for a page of it
// (bringAll); from then on it is on its own, for its pages would not expect it to change. The
// last change counts.
type storage struct {
	keeper

	mu      sync.Mutex
	origins map[string]origin // guarded by mu; by origin, such as https://example.com
	changed bool              // guarded by mu; since it was saved
}

// origin is the localStorage of one origin.
type origin struct {
	Items   map[string]string `json:"items"`
	Changed time.Time         `json:"changed"`
}

func openStorage(cfg Config) *storage {
	s := &storage{keeper: keeper{cfg.Home, "local-storage.json", cfg.Logger}, origins: make(map[string]origin)}
	s.load(&s.origins)
	return s
}

// keep saves it if it has changed.
func (s *storage) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed {
		s.save(s.origins)
		s.changed = false
	}
}

// set replaces an origin's items; none forgets it.
func (s *storage) set(name string, items map[string]string, at time.Time) {
	size := 0
	for k, v := range items {
		size += len(k) + len(v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.origins[name]; ok && maps.Equal(old.Items, items) || !ok && len(items) == 0 {
		return
	}
	s.changed = true
	if len(items) == 0 || size > maxOriginSize {
		delete(s.origins, name)
		return
	}
	s.origins[name] = origin{items, at}
	if len(s.origins) > maxOrigins {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.origins)), func(a, b string) int {
			return s.origins[a].Changed.Compare(s.origins[b].Changed)
		})
		delete(s.origins, oldest)
	}
}

// collect reads what has changed in a browser's pages.
func (s *storage) collect(ctx context.Context, i *instance) {
	type source struct {
		page *page
		key  string
	}
	var changed []source
	i.mu.Lock()
	for _, p := range i.pages {
		for key := range p.changed {
			changed = append(changed, source{p, key})
		}
		clear(p.changed)
	}
	i.mu.Unlock()
	if len(changed) == 0 {
		return
	}
	out := s.optedOut()
	for _, c := range changed {
		name, partitioned := originOf(c.key)
		if partitioned || out(name) {
			continue
		}
		var result struct{ Entries [][2]string }
		err := i.conn.call(ctx, c.page.session, "DOMStorage.getDOMStorageItems", map[string]any{
			"storageId": map[string]any{"storageKey": c.key, "isLocalStorage": true},
		}, &result)
		if ctx.Err() != nil { // the next time
			i.mu.Lock()
			c.page.changed[c.key] = true
			i.mu.Unlock()
		}
		if err != nil {
			continue // the page has gone on to another place
		}
		items := make(map[string]string, len(result.Entries))
		for _, e := range result.Entries {
			items[e[0]] = e[1]
		}
		s.set(name, items, time.Now())
	}
}

// originOf returns the origin of a storage key, which is the origin and a slash, and whether
// it is only part of one, as in a frame of another site.
func originOf(key string) (name string, partitioned bool) {
	name, rest, _ := strings.Cut(key, "/^")
	if rest == "" {
		name = strings.TrimSuffix(key, "/")
	}
	return name, rest != "" || !strings.HasPrefix(name, "http")
}

// kept returns what a Chromium that starts should get, by origin, and the origins, those
// first that changed last.
func (s *storage) kept() (items map[string]map[string]string, latest []string) {
	out := s.optedOut()
	s.mu.Lock()
	defer s.mu.Unlock()
	items = make(map[string]map[string]string)
	for name, o := range s.origins {
		if !out(name) {
			items[name] = o.Items
		}
	}
	return items, slices.SortedFunc(maps.Keys(items), func(a, b string) int {
		return s.origins[b].Changed.Compare(s.origins[a].Changed)
	})
}

// optedOut returns what says of an origin whether its localStorage is not to be carried.
func (s *storage) optedOut() func(origin string) bool {
	var hosts []string
	if root, err := os.OpenRoot(s.home); err == nil {
		defer root.Close()
		if f, err := root.OpenFile(filepath.FromSlash(optOutFile), os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			defer f.Close()
			for lines := bufio.NewScanner(io.LimitReader(f, 64<<10)); lines.Scan(); {
				hosts = append(hosts, strings.TrimSpace(lines.Text()))
			}
		}
	}
	return func(origin string) bool {
		host := origin[strings.LastIndexByte(origin, '/')+1:]
		host, _, _ = strings.Cut(host, ":")
		return slices.ContainsFunc(hosts, func(h string) bool {
			return h == "*" || h == host || strings.HasPrefix(h, ".") && strings.HasSuffix("."+host, h)
		})
	}
}
