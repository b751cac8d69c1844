package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
)

// A person who does nothing gets to see what agents do: the browser opens at the first
// screen, and the same page goes to the next one (S0-225, S0-226, S0-173). The key is
// neither on a command line nor in the visible address. It also makes the README's
// picture, with -artifacts; see `make picture`.
func TestThePageOpensByItself(t *testing.T) {
	dir := t.TempDir()
	addresses := filepath.Join(dir, "addresses")
	// The person's browser, which starts by this name.
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" >>"+addresses+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := newComputer(t, "COMPUTER_USE_OPEN=browser", "DISPLAY=:a-display", "PATH="+dir+":"+os.Getenv("PATH"))
	a := c.agent()
	opened := func() []string {
		data, _ := os.ReadFile(addresses)
		return strings.Fields(string(data))
	}

	first := a.start("Write the release notes")
	if len(opened()) > 0 {
		t.Error("the browser was opened before there is a screen")
	}
	first.observe()
	a.eventually("the browser is started", func() bool { return len(opened()) == 1 })
	b := browsertest.Start(t)
	b.Open(opened()[0])
	b.Until("document.querySelector('#waiting').hidden && document.querySelector('#stage canvas')?.width > 0")
	if at := browsertest.Eval[string](b, "location.href"); at != fmt.Sprintf("http://127.0.0.1:%d/#screen=1", c.base) {
		t.Errorf("the page is at %s", at)
	}
	if strings.Contains(opened()[0], "key") {
		t.Errorf("the command line has %s", opened()[0])
	}

	second := a.start("Compare the invoices of March with the bank's list")
	second.observe()
	b.Until("location.hash === '#screen=2'")
	if n := len(opened()); n != 1 {
		t.Errorf("%d pages were opened", n)
	}

	// The picture: two agents at work.
	first.writes("printf '# Version 1.4: Grüße · 你好 · Привет\\n\\n'; printf -- '- %s\\n' 'screens open by themselves' 'text of any language' 'every answer says what changed'; echo; date +%F")
	second.writes("printf 'invoice,amount\\n0301,120.00\\n0302,89.90\\n' | tee march.csv; awk -F, 'NR>1 {s+=$2} END {print \"sum \" s}' march.csv")
	b.Run("location.hash = ''")
	b.Until("document.querySelectorAll('.shot img:not([hidden])').length === 2")
	b.Run("location.hash = '#screen=1'")
	b.UntilShows("#stage canvas", first.pixels)
	b.Save("page")
	if shown := b.Text("body"); strings.Contains(shown, c.key()) {
		t.Error("the page shows its key")
	}
}

// writes runs a command in a terminal that people can read from afar.
func (s *session) writes(command string) {
	s.t.Helper()
	const title = "at work"
	s.on("shell", map[string]any{
		"command":    "xterm -T '" + title + "' -fa 'DejaVu Sans Mono' -fs 17 -geometry 72x20+60+60",
		"background": true,
	})
	if got := s.on("computer_wait", map[string]any{"for": "window", "title": title, "timeout_ms": 25_000}); got.fields["met"] != true {
		s.t.Fatalf("no terminal opens: %s", got.text)
	}
	// A click on the terminal need not show.
	s.on("computer_act", map[string]any{"stop_on_no_reaction": "never", "actions": []map[string]any{
		{"kind": "click", "x": 400, "y": 400},
		{"kind": "type", "text": "PS1='$ '; clear\n" + command + "\n"},
	}})
}

// pixels returns the screen's, as 0xrrggbb.
func (s *session) pixels() []uint32 {
	s.t.Helper()
	shot := s.call("computer_observe", map[string]any{"session": s.id, "force": true, "format": "png"}).image
	size := shot.Bounds().Size()
	pix := make([]uint32, 0, size.X*size.Y)
	for y := range size.Y {
		for x := range size.X {
			r, g, b, _ := shot.At(x, y).RGBA()
			pix = append(pix, r>>8<<16|g>>8<<8|b>>8)
		}
	}
	return pix
}

// key returns the key of the viewer page.
func (c *computer) key() string {
	c.t.Helper()
	out, err := c.command("info", "--json").Output()
	_, rest, ok := strings.Cut(string(out), "#key=")
	if err != nil || !ok || len(rest) < 8 {
		c.t.Fatalf("no key: %v\n%s", err, out)
	}
	return rest[:8]
}
