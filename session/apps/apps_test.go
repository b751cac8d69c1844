package apps

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
Type=Application
Name=Text\sEditor
Name[de]=Texteditor
#Name=no
TryExec=editor
MimeType=text/plain;text/x-log;
Exec = "/opt/my editor/run" --new "say \\"hi\\"" %U --50%%
Terminal=false
[Desktop Action new]
Exec=wrong too
`))
	if !ok || e.name != "Text Editor" || e.tryExec != "editor" || !slices.Equal(e.names, []string{"Text Editor", "Texteditor"}) ||
		!slices.Equal(e.types, []string{"text/plain", "text/x-log"}) {
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
	for _, file := range []string{"[Desktop Entry]\nName=x\n", "[Desktop Entry]\nType=Link\nExec=x\n", "Exec=x\n"} {
		if _, ok := parseEntry(strings.NewReader(file)); ok {
			t.Errorf("%q is accepted", file)
		}
	}
}

// S0-191, S0-192: field codes become whole arguments, whatever the address holds; no
// shell sees them.
func TestFieldCodes(t *testing.T) {
	const hostile = `http://a/$(touch x);"'%f`
	for exec, want := range map[string][]string{
		"viewer %c %i":          {"viewer", "The Viewer", "--icon", "eye", hostile},
		"viewer %u %F":          {"viewer", hostile},
		"viewer --url=%u -x":    {"viewer", "--url=" + hostile, "-x"},
		"viewer %d %D %n %v %m": {"viewer", hostile},
		"viewer %k %% %z a%":    {"viewer", "/apps/v.desktop", "%", "", "a%", hostile},
		"sh -c \"echo %f\"":     {"sh", "-c", "echo " + hostile},
	} {
		e := entry{exec: exec, name: "The Viewer", icon: "eye", file: "/apps/v.desktop"}
		if got := e.argv(hostile); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", exec, got, want)
		}
	}
	if got := (entry{exec: "viewer %U %f"}).argv(""); !slices.Equal(got, []string{"viewer"}) {
		t.Errorf("%q", got)
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

// installed is a home with programs, and entries and lists that name them.
type installed struct {
	t   *testing.T
	dir string
	Apps
}

func install(t *testing.T, programs ...string) installed {
	t.Helper()
	i := installed{t: t, dir: t.TempDir()}
	i.Apps = Apps{Home: i.dir, Env: []string{"PATH=/nowhere:relative:" + i.bin(""), "XDG_DATA_DIRS=" + i.dir + "/usr/share", "XDG_CONFIG_DIRS=" + i.dir + "/etc"}}
	for _, name := range programs {
		i.write("bin/"+name, "#!/bin/sh\n", 0o755)
	}
	return i
}

func (i installed) bin(name string) string { return filepath.Join(i.dir, "bin", name) }

func (i installed) write(name, content string, mode os.FileMode) {
	i.t.Helper()
	file := filepath.Join(i.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		i.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		i.t.Fatal(err)
	}
}

// entry writes a desktop entry of the user's or of the system's.
func (i installed) entry(folder, id, content string) {
	i.t.Helper()
	i.write(folder+"/applications/"+id, "[Desktop Entry]\nType=Application\n"+content, 0o644)
}

const (
	userData   = ".local/share"
	systemData = "usr/share"
)

// S0-191: an application is known by its entry, in any language, or as a program.
func TestFind(t *testing.T) {
	i := install(t, "paint", "xterm", "top", "chromium")
	i.write("bin/notes.txt", "", 0o644)
	i.entry(userData, "org.example.Paint.desktop", "Name=Paint Studio\nName[el]=Ζωγραφική\nExec=paint --studio %f\n")
	i.entry(userData, "top.desktop", "Name=Processes\nExec=top\nTerminal=true\n")
	i.entry(userData, "old.desktop", "Name=Old\nExec=paint\nHidden=true\n")
	i.entry(systemData, "old.desktop", "Name=Old\nExec=paint\n")
	i.entry(systemData, "broken.desktop", "Name=Broken\nExec=missing\n")
	i.entry(systemData, "tried.desktop", "Name=Tried\nExec=paint\nTryExec=missing\n")
	i.entry(systemData, "helper.desktop", "Name=Helper\nExec=paint --help %u\nNoDisplay=true\n")
	i.entry(systemData, "chromium.desktop", "Name=Chromium Web Browser\nName[de]=Webbrowser\nExec=chromium %U\n")
	for _, c := range []struct {
		name, uri string
		want      []string
	}{
		{"paint", "", []string{i.bin("paint")}},
		{"paint", "/a b", []string{i.bin("paint"), "/a b"}},
		{"paint studio", "", []string{i.bin("paint"), "--studio"}},
		{"ζωγραφική", "", []string{i.bin("paint"), "--studio"}},
		{"org.example.paint", "x.png", []string{i.bin("paint"), "--studio", "x.png"}},
		{"org.example.Paint.desktop", "", []string{i.bin("paint"), "--studio"}},
		{"helper", "", []string{i.bin("paint"), "--help"}},
		{"Processes", "", []string{i.bin("xterm"), "-e", i.bin("top")}},
		{"terminal", "", []string{i.bin("xterm")}},
		{i.bin("paint"), "", []string{i.bin("paint")}},
		{"Webbrowser", "http://a/", []string{i.bin("chromium"), "http://a/"}},
	} {
		got, err := i.Find(c.name, c.uri)
		if err != nil || !slices.Equal(got.Argv, c.want) {
			t.Errorf("%s %s: %q, %v, want %q", c.name, c.uri, got.Argv, err, c.want)
		}
		if err == nil && got.Browser() != (c.name == "Webbrowser") {
			t.Errorf("%s: the browser is %v", c.name, got.Browser())
		}
	}
	for _, name := range []string{"old", "broken", "tried", "Helper Tool", "missing", "notes.txt", "../bin/paint", "bin/paint", "Paint Stud", "paint --studio", "-h", ""} {
		if got, err := i.Find(name, ""); err == nil || api.AsError(err).Code != api.CodeNotFound {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	// What is installed is named, the likeliest first and what no menu has left out.
	if _, err := i.Find("Painter", ""); err == nil || !strings.HasSuffix(api.AsError(err).Fix, "Installed are, among others: Paint Studio, Processes, Chromium Web Browser.") {
		t.Errorf("%v", err)
	}
	// Whoever gives arguments is told where they go.
	if _, err := i.Find("paint --studio", ""); err == nil || !strings.Contains(api.AsError(err).Fix, "with shell") {
		t.Errorf("a name with an argument: %v", err)
	}
	if _, err := i.Find("terminal", "http://a/"); err == nil || api.AsError(err).Code != api.CodeBadRequest {
		t.Errorf("a terminal with an address: %v", err)
	}
}

// S0-189: which application a file's type leads to. Issue 9, Done when 3: ODT, XLSX, PPTX.
func TestDefault(t *testing.T) {
	const (
		odt  = "application/vnd.oasis.opendocument.text"
		xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
		pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	)
	i := install(t, "soffice", "editor", "calc", "chromium")
	i.entry(systemData, "libreoffice-writer.desktop", "Name=Writer\nExec=soffice --writer %U\n")
	i.entry(systemData, "libreoffice-calc.desktop", "Name=Calc\nExec=soffice --calc %U\n")
	i.entry(systemData, "libreoffice-impress.desktop", "Name=Impress\nExec=soffice --impress %U\nMimeType="+pptx+";\n")
	i.entry(systemData, "editor.desktop", "Name=Editor\nExec=editor %f\nMimeType=text/plain;\n")
	i.entry(systemData, "browser.desktop", "Name=Browser\nExec=chromium %U\n")
	i.entry(userData, "calc.desktop", "Name=Other\nExec=calc %f\n")
	i.write("etc/mimeapps.list", "[Default Applications]\n"+odt+"=gone.desktop;libreoffice-writer.desktop\n"+
		xlsx+"=libreoffice-calc.desktop\nvideo/mp4=browser.desktop\nx/removed=../applications/editor.desktop\n", 0o644)
	i.write(systemData+"/mime/subclasses", "application/x-shellscript text/plain\napplication/x-loop application/x-pool\napplication/x-pool application/x-loop\n", 0o644)
	check := func(mimeType string, want ...string) {
		t.Helper()
		got, ok := i.Default(mimeType, "/d/a b")
		if ok != (len(want) > 0) || !slices.Equal(got.Argv, want) {
			t.Errorf("%s: %q, %v, want %q", mimeType, got.Argv, ok, want)
		}
	}
	check(odt, i.bin("soffice"), "--writer", "/d/a b")
	check(xlsx, i.bin("soffice"), "--calc", "/d/a b")
	check(pptx, i.bin("soffice"), "--impress", "/d/a b") // no list says so, its entry does
	check("text/csv", i.bin("editor"), "/d/a b")
	check("application/x-shellscript", i.bin("editor"), "/d/a b")
	check("video/mp4", i.bin("chromium"), "/d/a b")
	check("application/x-loop")
	check("application/octet-stream")
	check("x/removed")

	// What the user chooses counts before what the system does.
	i.write(".config/mimeapps.list", "[Default Applications]\n"+xlsx+"=calc.desktop\n[Removed Associations]\n"+
		pptx+"=libreoffice-impress.desktop\n[Added Associations]\napplication/octet-stream=editor.desktop\n", 0o644)
	check(xlsx, i.bin("calc"), "/d/a b")
	check(pptx)
	check("application/octet-stream", i.bin("editor"), "/d/a b")
}

// S0-189: what Chromium shows, and what it would only save.
func TestShown(t *testing.T) {
	for mimeType, want := range map[string]bool{
		"text/html": true, "text/plain": true, "text/x-python": true, "application/pdf": true, "image/png": true, "image/jpeg": true,
		"application/json": true, "application/ld+json": true, "application/xml": true, "application/rss+xml": true, "image/svg+xml": true,
		"text/csv": false, "text/vcard": false, "image/tiff": false, "application/zip": false, "application/octet-stream": false,
		"application/vnd.oasis.opendocument.text": false, "inode/directory": false, "": false,
	} {
		if got := Shown(mimeType); got != want {
			t.Errorf("%s: %v", mimeType, got)
		}
	}
}
