package viewer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
)

// A page on another port of this machine, in a real browser, gets nothing of ours.
func TestAForeignPage(t *testing.T) {
	s := serve(t, newRFBComputer(Session{ID: "a", Title: "secret task", Screen: 3}))
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>foreign</title><body>")
	}))
	defer foreign.Close()
	b := startBrowser(t)
	b.Open(foreign.URL)
	ours := "http://" + s.addr
	for _, test := range []struct{ name, expression string }{
		{"fetch", fmt.Sprintf(`fetch(%q).then((r) => r.text()).then(() => "read", () => "")`, ours+"/")},
		{"fetch without looking", fmt.Sprintf(`fetch(%q, { mode: "no-cors" }).then(() => "sent and answered", () => "")`, ours+"/assets/main.js")},
		{"script", fmt.Sprintf(`new Promise((resolve) => {
			const s = document.createElement("script");
			s.type = "module";
			s.src = %q;
			s.onload = () => resolve("ran");
			s.onerror = () => resolve("");
			document.body.append(s);
		})`, ours+"/assets/words.js")},
		{"picture", fmt.Sprintf(`new Promise((resolve) => {
			const i = new Image();
			i.onload = () => resolve("shown");
			i.onerror = () => resolve("");
			i.src = %q;
		})`, ours+"/assets/icon.svg")},
		{"frame", fmt.Sprintf(`new Promise((resolve) => {
			const f = document.createElement("iframe");
			f.onload = () => {
				// Chromium shows a page of its own in place of a refused one.
				let theirs = "unreachable";
				try { theirs = f.contentWindow.document.title; } catch {}
				resolve(theirs === "unreachable" ? "" : theirs);
			};
			f.src = %q;
			document.body.append(f);
		})`, ours+"/")},
		{"channel", fmt.Sprintf(`new Promise((resolve) => {
			const w = new WebSocket("ws://%s/live");
			w.onopen = () => resolve("opened");
			w.onerror = () => resolve("");
		})`, s.addr)},
		{"screen", fmt.Sprintf(`new Promise((resolve) => {
			const w = new WebSocket("ws://%s/screens/3", ["binary"]);
			w.onopen = () => resolve("opened");
			w.onerror = () => resolve("");
		})`, s.addr)},
	} {
		if got := browsertest.Eval[string](b.Tab, test.expression); got != "" {
			t.Errorf("%s: %s", test.name, got)
		}
	}
	b.Forgive() // all of that was complained about
}
