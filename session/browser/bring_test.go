package browser

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// Issue 9, item 3: a start does not wait for the localStorage of many origins, but the first
// document of one does, in whatever tab, and all have theirs in the end.
func TestStorageIsBrought(t *testing.T) {
	t.Parallel()
	s := newTestScreen(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<!doctype html><body><a id=link target=_blank href=%q>next</a><script>document.body.append("token: " + localStorage.token)</script>`,
			r.FormValue("link"))
	})
	var sites [3]string
	for n := range sites {
		site := httptest.NewServer(mux)
		t.Cleanup(site.Close)
		sites[n] = site.URL
	}
	kept, now := s.all.storage, time.Now()
	for age := range 10 {
		site := fmt.Sprintf("https://%d.test", age)
		if from := 10 - len(sites); age >= from {
			site = sites[age-from]
		}
		kept.set(site, map[string]string{"token": fmt.Sprintf("Zuse %d ✓", age)}, now.Add(-time.Duration(age)*time.Hour))
	}
	s.text(t, sites[0]+"/?link="+sites[1], "token: Zuse 7 ✓", 1000)
	run := s.current()
	s.click(t, "link", true)
	eventually(t, "the page of a tab that Chromium opens has what is kept of its origin", func() bool {
		run.mu.Lock()
		p := slices.MaxFunc(slices.Collect(maps.Values(run.pages)), func(a, b *page) int { return a.came - b.came })
		run.mu.Unlock()
		var text string
		err := run.evaluate(t.Context(), p, "document.body.innerText", &text)
		if strings.Contains(text, "undefined") {
			t.Fatal(text)
		}
		return err == nil && strings.Contains(text, "token: Zuse 8 ✓")
	})
	eventually(t, "all that is kept is there", func() bool {
		run.mu.Lock()
		defer run.mu.Unlock()
		return len(run.owedItems) == 0
	})
	s.text(t, sites[2], "token: Zuse 9 ✓", 1000)
	eventually(t, "the tab that brought it is gone", func() bool {
		var all struct{ TargetInfos []struct{ Type, URL string } }
		err := run.conn.call(t.Context(), "", "Target.getTargets", nil, &all)
		return err == nil && len(all.TargetInfos) == 3
	})
}
