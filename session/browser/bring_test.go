package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Issue 9, item 3: a start does not wait for the localStorage of many origins, but the first
// document of one does, and all have theirs in the end.
func TestStorageIsBrought(t *testing.T) {
	t.Parallel()
	s := newTestScreen(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `<!doctype html><body><script>document.body.append("token: " + localStorage.token)</script>`)
	})
	first, last := httptest.NewServer(mux), httptest.NewServer(mux)
	t.Cleanup(first.Close)
	t.Cleanup(last.Close)
	kept, now := s.all.storage, time.Now()
	for age, site := range []string{"https://1.test", "https://2.test", "https://3.test", first.URL, last.URL} {
		kept.set(site, map[string]string{"token": fmt.Sprintf("Zuse %d ✓", age)}, now.Add(-time.Duration(age)*time.Hour))
	}
	s.text(t, first.URL, "token: Zuse 3 ✓", 1000)
	run := s.current()
	eventually(t, "all that is kept is there", func() bool {
		run.mu.Lock()
		defer run.mu.Unlock()
		return len(run.owedItems) == 0
	})
	s.text(t, last.URL, "token: Zuse 4 ✓", 1000)
	eventually(t, "the tab that brought it is gone", func() bool {
		var all struct{ TargetInfos []struct{ Type, URL string } }
		err := run.conn.call(t.Context(), "", "Target.getTargets", nil, &all)
		return err == nil && len(all.TargetInfos) == 2
	})
}
