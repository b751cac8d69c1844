package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

func TestParseEntry(t *testing.T) {
	e, ok := parseEntry(strings.NewReader(`# comment
[Desktop Action other]
Exec=wrong
[Desktop Entry]
Name=Text Editor
Name[de]=Texteditor
Exec = "/opt/my editor/run" --new "say \"hi\"" %U --50%%
Terminal=false
[Desktop Action new]
Exec=wrong too
`))
	if !ok || e.name != "Text Editor" {
		t.Fatalf("%+v", e)
	}
	for uri, want := range map[string][]string{
		"":            {"/opt/my editor/run", "--new", `say "hi"`, "--50%"},
		"file:///a b": {"/opt/my editor/run", "--new", `say "hi"`, "file:///a b", "--50%"},
	} {
		if got := e.argv(uri); !slices.Equal(got, want) {
			t.Errorf("argv(%q) = %q, want %q", uri, got, want)
		}
	}
	if got := (entry{exec: "viewer %c %i", name: "The Viewer"}).argv("x"); !slices.Equal(got, []string{"viewer", "The Viewer", "x"}) {
		t.Errorf("%q", got)
	}
	if _, ok := parseEntry(strings.NewReader("[Desktop Entry]\nName=x\n")); ok {
		t.Error("an entry without Exec is accepted")
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add("[Desktop Entry]\nName=a\nExec=\"a b\\\" %u\n", "x")
	f.Add("[Desktop Entry]\nExec=a %% %f %F \\\n", "")
	f.Fuzz(func(t *testing.T, file, uri string) {
		e, _ := parseEntry(strings.NewReader(file))
		argv := e.argv(uri)
		if n := strings.Count(strings.Join(argv, "\x00"), uri); uri != "" && len(argv) > 0 && n == 0 {
			t.Errorf("%q lost %q: %q", file, uri, argv)
		}
	})
}

func TestFindApplication(t *testing.T) {
	dir := t.TempDir()
	bin, apps := filepath.Join(dir, "bin"), filepath.Join(dir, ".local/share/applications")
	for _, d := range []string{bin, apps} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(file, content string, mode os.FileMode) {
		if err := os.WriteFile(file, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"paint", "xterm", "top"} {
		write(filepath.Join(bin, name), "#!/bin/sh\n", 0o755)
	}
	write(filepath.Join(bin, "notes.txt"), "", 0o644)
	write(filepath.Join(apps, "org.example.Paint.desktop"), "[Desktop Entry]\nName=Paint Studio\nExec=paint --studio %f\n", 0o644)
	write(filepath.Join(apps, "top.desktop"), "[Desktop Entry]\nName=Processes\nExec=top\nTerminal=true\n", 0o644)
	write(filepath.Join(apps, "old.desktop"), "[Desktop Entry]\nName=Old\nExec=paint\nHidden=true\n", 0o644)
	write(filepath.Join(apps, "broken.desktop"), "[Desktop Entry]\nName=Broken\nExec=missing\n", 0o644)

	p := Programs{Home: dir}
	env := []string{"PATH=/nowhere:relative:" + bin, "XDG_DATA_DIRS=" + dir}
	in := func(name string) string { return filepath.Join(bin, name) }
	for _, c := range []struct {
		name, uri string
		want      []string
	}{
		{"paint", "", []string{in("paint")}},
		{"paint", "/a b", []string{in("paint"), "/a b"}},
		{"paint studio", "", []string{in("paint"), "--studio"}},
		{"org.example.paint", "x.png", []string{in("paint"), "--studio", "x.png"}},
		{"Processes", "", []string{in("xterm"), "-e", "top"}},
		{"terminal", "", []string{in("xterm")}},
		{in("paint"), "", []string{in("paint")}},
	} {
		got, err := p.find(env, c.name, c.uri)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, %v, want %q", c.name, c.uri, got, err, c.want)
		}
	}
	for _, name := range []string{"old", "broken", "missing", "notes.txt", "../bin/paint", "bin/paint", "Paint Stud", "paint --studio", "-h"} {
		if got, err := p.find(env, name, ""); err == nil || api.AsError(err).Code != api.CodeNotFound {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}
