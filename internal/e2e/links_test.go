package e2e

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// named serves a page for every path, which has the path as its title.
func named(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(serveName))
	t.Cleanup(server.Close)
	return server
}

func serveName(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<title>page %s</title>", r.URL.Path)
}

// S0-193, S0-195, S0-199: links that programs open reach the browser of their own screen.
func TestLinks(t *testing.T) {
	xvfbtest.Need(t, "chromium", "xdg-open")
	server := named(t)
	c := newComputer(t)
	a := c.agent()
	one, two := a.start("one"), a.start("two")
	if got := one.shell("xdg-open " + server.URL + "/early"); got.fields["exit_code"] == 0.0 {
		t.Errorf("without a screen: %v", got.fields)
	}
	one.observe()
	two.observe()
	for i, command := range []string{
		"xdg-open '%s'", `"$BROWSER" '%s'`, "python3 -m webbrowser '%s' >/dev/null", "gio open '%s'",
	} {
		if _, err := exec.LookPath(strings.Fields(command)[0]); err != nil && !strings.HasPrefix(command, `"$`) {
			continue // a machine without it has no such links
		}
		for _, s := range []*session{one, two} {
			path := fmt.Sprintf("/%d of %s", i, s.id[:4])
			if got := s.shell(fmt.Sprintf(command, server.URL+strings.ReplaceAll(path, " ", "%20"))); got.fields["exit_code"] != 0.0 {
				t.Fatalf("%s: %v", command, got.fields)
			}
			s.titled("page "+path, s.observe())
		}
	}
	// A file, from the folder of the command, and a program that is on the screen itself.
	c.write("linked ü.html", "<title>linked file</title>", 0o644)
	one.shell(`"$BROWSER" 'linked ü.html'`)
	one.titled("linked file", one.observe())
	c.write(".local/bin/clicked", "#!/bin/sh\nxdg-open "+server.URL+"/clicked\nexec xterm\n", 0o755)
	two.call("launch_app", map[string]any{"session": two.id, "application": "clicked"})
	two.call("launch_app", map[string]any{"session": two.id, "application": "browser"})
	two.titled("page /clicked", two.observe())
	one.titled("linked file", one.observe())

	for _, address := range []string{"javascript:alert(1)", "data:text/html,x", "chrome://settings"} {
		if got := one.shell(`"$BROWSER" '` + address + "'"); got.fields["exit_code"] == 0.0 || !strings.Contains(fmt.Sprint(got.fields["stderr"]), "is not opened") {
			t.Errorf("%s: %v", address, got.fields)
		}
	}
	// A screen's authority is what opens its browser, and nothing else is.
	if got := one.shell(`XAUTHORITY=/nowhere "$BROWSER" ` + server.URL); got.fields["exit_code"] == 0.0 {
		t.Errorf("another authority: %v", got.fields)
	}
}

// S0-198: what the background's menu offers opens on its screen.
func TestMenu(t *testing.T) {
	xvfbtest.Need(t, "chromium", "xterm")
	c := newComputer(t)
	s := c.agent().start("menu")
	s.observe()
	choose := func(presses int, class string) {
		t.Helper()
		s.act(map[string]any{"kind": "click", "x": 900, "y": 500, "button": "right"})
		s.act(map[string]any{"kind": "key", "key": "down", "repeat": presses}, map[string]any{"kind": "key", "key": "enter"})
		s.call("computer_wait", map[string]any{"session": s.id, "for": "window", "title": class, "timeout_ms": 25_000})
		if windows := fmt.Sprint(s.observe().fields["windows"]); !strings.Contains(strings.ToLower(windows), class) {
			t.Fatalf("no window %s: %s", class, windows)
		}
	}
	choose(2, "term")
	choose(1, "chromium")
}

// glyphs are letters of many scripts.
const glyphs = "Aéßžøþ" + "Ωжש" + "日本漢字かなカナ한국中國" + "العربية" + "😀🚀👍"

// glyphPage says in its title which letters of its query look like one that no font has.
const glyphPage = `<!doctype html><meta charset="utf-8"><title>drawing</title><script>
	const draw = (text) => {
		const canvas = document.createElement("canvas");
		canvas.width = canvas.height = 64;
		const pen = canvas.getContext("2d", { willReadFrequently: true });
		pen.font = "40px sans-serif";
		pen.fillText(text, 8, 48);
		return pen.getImageData(0, 0, 64, 64).data.join();
	};
	const box = draw("\u0378"), nothing = draw(" ");
	const bad = [...new URLSearchParams(location.search).get("text")].filter((c) => draw(c) === box || draw(c) === nothing);
	document.title = box === nothing ? "no box to compare with" : "missing: [" + bad.join(" ") + "]";
</script>`

// Issue 9, Done when 4: text in every script has its own shapes, and none is the box of a
// letter that no font has.
func TestGlyphs(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, glyphPage)
	}))
	t.Cleanup(server.Close)
	s := newComputer(t).agent().start("glyphs")
	s.titled("missing: []", s.open(server.URL+"/?text="+glyphs))
	// The comparison itself: a letter of no font is found.
	s.titled("missing: [\u0379]", s.open(server.URL+"/?text=A\u0379"))
}

// Issue 9, Done when 3: a page of a private CA is refused until the computer's user trusts
// that, as image/README.md says.
func TestPrivateCA(t *testing.T) {
	xvfbtest.Need(t, "chromium", "certutil")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<title>private page</title>")
	}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	c := newComputer(t)
	a := c.agent()
	before := a.start("distrusts")
	before.titled("Privacy error", before.open(server.URL))
	c.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), 0o644)
	if got := before.shell(`mkdir -p ~/.pki/nssdb && certutil -d sql:$HOME/.pki/nssdb -N --empty-password && certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n private -i ~/ca.pem`); got.fields["exit_code"] != 0.0 {
		t.Fatal(got.text)
	}
	before.end()
	after := a.start("trusts")
	after.titled("private page", after.open(server.URL))
}
