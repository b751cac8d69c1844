package e2e

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// open opens a page or a file and returns the screen after it.
func (s *session) open(path string) answer {
	s.t.Helper()
	return s.call("open_path", map[string]any{"session": s.id, "path": path})
}

// title returns that of the active window.
func (a answer) title() string {
	title, _ := a.fields["active_window"].(string)
	return title
}

// titled waits for a page's title on the active window: the browser sets it after the page
// was painted.
func (s *session) titled(title string, now answer) {
	s.t.Helper()
	s.eventually("a window "+title, func() bool {
		found := strings.HasPrefix(now.title(), title)
		if !found {
			now = s.observe()
		}
		return found
	})
}

// write puts a file into the computer's home. Its folders belong to the computer's user,
// the file to who runs the test.
func (c *computer) write(name, text string, mode os.FileMode) {
	c.t.Helper()
	home, err := os.Stat(c.home)
	if err != nil {
		c.t.Fatal(err)
	}
	owner := home.Sys().(*syscall.Stat_t)
	dir := c.home
	for part := range strings.SplitSeq(filepath.Dir(name), "/") {
		dir = filepath.Join(dir, part)
		if err := os.Mkdir(dir, 0o755); err == nil {
			err = os.Chown(dir, int(owner.Uid), int(owner.Gid))
			if err != nil {
				c.t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(c.home, name), []byte(text), mode); err != nil {
		c.t.Fatal(err)
	}
}

// showWords makes a program that shows its arguments in a window, whose title names its
// file, and desktop entries for it. Each of them may be a default for types.
func (c *computer) showWords() {
	c.t.Helper()
	xvfbtest.Need(c.t, "zenity")
	c.write(".local/bin/words", "#!/bin/sh\nprintf '%s\\n' \"$@\" >~/words.txt\ncase $2 in /*) file=\" ${2##*/}\" ;; esac\n"+
		"exec zenity --info --no-markup --title=\"$1 window$file\" --text=words\n", 0o755)
	var defaults strings.Builder
	for id, e := range map[string]struct{ exec, more, types string }{
		"writer":  {"words Writer %U", "", "application/vnd.oasis.opendocument.text"},
		"calc":    {"words Calc %U", "", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		"impress": {"words Impress %U", "", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
		"files":   {"words Files %F", "", "inode/directory"},
		"sketch":  {`words Sketch "a \\"b\\" \\$HOME" --open=%u`, "Name[de]=Zeichenbrett\n", "image/x-sketch"},
	} {
		c.write(".local/share/applications/test-"+id+".desktop", "[Desktop Entry]\nType=Application\nName=Test "+id+"\n"+e.more+"Exec="+e.exec+"\n", 0o644)
		fmt.Fprintf(&defaults, "%s=test-%s.desktop\n", e.types, id)
	}
	c.write(".config/mimeapps.list", "[Default Applications]\n"+defaults.String(), 0o644)
}

// words returns what showWords' program was started with last.
func (c *computer) words() []string {
	data, _ := os.ReadFile(filepath.Join(c.home, "words.txt"))
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// has reports whether a colour fills at least n pixels of a picture, give or take what a
// JPEG does to it.
func has(img image.Image, want color.RGBA, n int) bool {
	near := func(a, b uint8) bool { return a-b < 12 || b-a < 12 }
	rgba := image.NewRGBA(img.Bounds())
	draw.Draw(rgba, rgba.Bounds(), img, img.Bounds().Min, draw.Src)
	for i := 0; i+3 < len(rgba.Pix) && n > 0; i += 4 {
		if near(rgba.Pix[i], want.R) && near(rgba.Pix[i+1], want.G) && near(rgba.Pix[i+2], want.B) {
			n--
		}
	}
	return n <= 0
}

// pdf is a page that one colour fills.
const pdf = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj " +
	"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R>>endobj 4 0 obj<</Length 32>>stream\n" +
	"0.2 0.6 0.4 rg 0 0 300 300 re f \nendstream endobj\ntrailer<</Root 1 0 R>>\n"

// Issue 9, Done when 3: S0-188, S0-189.
func TestOpenPath(t *testing.T) {
	xvfbtest.Need(t, "chromium")
	paths := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/favicon.ico" {
			paths <- r.RequestURI
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<title>The page</title><body>Hello")
	}))
	t.Cleanup(server.Close)
	c := newComputer(t)
	s := c.agent().start("Opening")
	c.showWords()

	got := s.open(server.URL)
	if path := <-paths; path != "/" || got.image == nil {
		t.Errorf("%s, %v", path, got.fields)
	}
	s.titled("The page", got)
	s.open(server.URL + "/a b/ü?q=日 x#ä")
	if path := <-paths; path != "/a%20b/%C3%BC?q=%E6%97%A5%20x" {
		t.Errorf("the server was asked for %s", path)
	}

	// Files that Chromium shows.
	blue, green := color.RGBA{R: 30, G: 60, B: 200, A: 255}, color.RGBA{R: 51, G: 153, B: 102, A: 255}
	picture := image.NewRGBA(image.Rect(0, 0, 200, 200))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(blue), image.Point{}, draw.Src)
	var asPNG, asJPEG strings.Builder
	png.Encode(&asPNG, picture)
	jpeg.Encode(&asJPEG, picture, nil)
	for _, f := range []struct {
		name, text string
		title      string
		colour     *color.RGBA // that the screen shows
	}{
		{"page ü.html", "<!doctype html><meta charset=utf-8><title>Grüße</title>", "Grüße", nil},
		{"paper.pdf", pdf, "paper.pdf", &green},
		{"picture.png", asPNG.String(), "picture.png (200×200)", &blue},
		{"photo.JPG", asJPEG.String(), "photo.JPG (200×200)", &blue},
		{"note.txt", "plain words", "note.txt", nil},
		{"data.json", `{"answer":42}`, "data.json", nil},
		{"list.xml", "<list><item>milk</item></list>", "list.xml", nil},
		{"README", "no extension", "README", nil},
	} {
		c.write(f.name, f.text, 0o644)
		got := s.open("~/" + f.name)
		s.titled(f.title, got)
		if f.colour != nil {
			s.eventually(f.name+" on the screen", func() bool {
				shown := has(got.image, *f.colour, 10_000)
				got = s.observe()
				return shown
			})
		}
	}
	s.call("set_cwd", map[string]any{"session": s.id, "path": "/etc"})
	s.titled("hosts", s.open("hosts"))
	c.write("local.html", "<script>document.title = 'local ' + location.hash</script>", 0o644)
	s.titled("local #part", s.open("file:///home/computer/local.html#part"))

	// Files for other applications.
	for name, application := range map[string]string{"letter a.odt": "Writer", "sums.XLSX": "Calc", "talk.pptx": "Impress", "": "Files"} {
		if name != "" {
			c.write(name, "PK\x03\x04", 0o644)
		}
		got := s.open("~/" + name)
		path := filepath.Join("/home/computer", name)
		if got.title() != application+" window "+filepath.Base(path) {
			t.Errorf("%q: the active window is %q", name, got.title())
		}
		if words := c.words(); len(words) != 2 || words[1] != path {
			t.Errorf("%q: the application was started with %q", name, words)
		}
		s.act(map[string]any{"kind": "key", "key": "escape"})
	}

	// What is not opened.
	c.write("data.qqq", "\x00\x01\x02", 0o644)
	c.write("private.txt", "secret", 0o600)
	for path, code := range map[string]string{
		"~/data.qqq": "unsupported", "~/missing.txt": "not_found", "www.example.com": "not_found", "javascript:alert(1)": "bad_request",
		"data:text/html,x": "bad_request", "chrome://settings": "bad_request", "file://server/x": "bad_request", "ftp://host/x": "bad_request",
		"file:///home/computer/missing.html": "not_found", "": "bad_request",
	} {
		if r := s.refused(code, "open_path", map[string]any{"session": s.id, "path": path}); r.Fix == "" {
			t.Errorf("%q: no fix: %v", path, r)
		}
	}
	if os.Getuid() == 0 { // the daemon may read it, the computer's user may not
		s.refused("permission_denied", "open_path", map[string]any{"session": s.id, "path": "~/private.txt"})
	}
	s.call("launch_app", map[string]any{"session": s.id, "application": "browser"})
	s.titled("local #part", s.observe()) // nothing of that was opened
}

// S0-190 to S0-192.
func TestLaunchApp(t *testing.T) {
	xvfbtest.Need(t, "chromium", "xterm")
	c := newComputer(t)
	s := c.agent().start("Applications")
	c.showWords()
	launch := func(application, uri string) answer {
		t.Helper()
		args := map[string]any{"session": s.id, "application": application}
		if uri != "" {
			args["uri"] = uri
		}
		return s.call("launch_app", args)
	}
	windows := func(a answer) string { return fmt.Sprint(a.fields["windows"]) }

	got := launch("terminal", "")
	if !strings.Contains(windows(got), "XTerm") {
		t.Errorf("terminal: %s", windows(got))
	}
	// An entry by its name in another language; nothing of its command line is a shell's.
	got = launch("zeichenbrett", "http://127.0.0.1/$(id);a b")
	if got.title() != "Sketch window" {
		t.Errorf("sketch: %v", got.fields)
	}
	if words := c.words(); len(words) != 3 || words[1] != `a "b" $HOME` || words[2] != "--open=http://127.0.0.1/$(id);a%20b" {
		t.Errorf("sketch was started with %q", words)
	}
	// What is open is raised, not started again.
	got = launch("terminal", "")
	if n := strings.Count(windows(got), "XTerm"); n != 1 || !strings.Contains(windows(got), "XTerm focused:true") {
		t.Errorf("raised: %s", windows(got))
	}
	// A program on PATH or by its path, with a file.
	c.write("a b.txt", "x", 0o644)
	for _, program := range []string{"words", "~/.local/bin/words", "./.local/bin/words", ".local/bin/words", "/home/computer/.local/bin/words"} {
		launch(program, "~/a b.txt")
		if words := c.words(); len(words) != 1 || words[0] != "/home/computer/a b.txt" {
			t.Errorf("%s was started with %q", program, words)
		}
	}
	// The browser, by all its names, is the screen's; an address opens in a new tab.
	c.write("one.html", "<title>one</title>", 0o644)
	for _, name := range []string{"browser", "chromium", "Chromium Web Browser"} {
		launch(name, "~/one.html")
		if got := launch(name, ""); !strings.Contains(got.title(), "Chromium") || strings.Count(windows(got), "class:Chromium") != 1 {
			t.Errorf("%s: %s", name, windows(got))
		}
		s.refused("not_found", "launch_app", map[string]any{"session": s.id, "application": name, "uri": "~/missing.html"})
	}
	if r := s.refused("not_found", "launch_app", map[string]any{"session": s.id, "application": "no such program"}); !strings.Contains(r.Fix, "Installed are") {
		t.Errorf("%s", r.Fix)
	}
	// What it says last ends our sentence, with one full stop.
	c.write(".local/bin/fails", "#!/bin/sh\necho Try --help for more information.\nexit 3\n", 0o755)
	if r := s.refused("not_found", "launch_app", map[string]any{"session": s.id, "application": "fails"}); !strings.HasSuffix(r.Message, "Try --help for more information.") || strings.HasSuffix(r.Message, "..") {
		t.Errorf("%v", r)
	}
	for _, uri := range []string{"javascript:alert(1)", "data:,x", "--help", "mailto:a@b"} {
		for _, application := range []string{"browser", "words"} {
			s.refused("bad_request", "launch_app", map[string]any{"session": s.id, "application": application, "uri": uri})
		}
		s.refused("bad_request", "computer_act", map[string]any{"session": s.id, "actions": []any{map[string]any{"kind": "focus", "application": "browser", "uri": uri}}})
	}
}
