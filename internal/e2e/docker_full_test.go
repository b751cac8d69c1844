package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests of TestDockerFull need what only the full image has; `make e2e-docker` builds
// it and names it in this variable.
const dockerFullImage = "E2E_DOCKER_FULL_IMAGE"

// newFullComputer is newDockerComputer with the image that users get.
func newFullComputer(t testing.TB, settings ...string) *dockerComputer {
	t.Helper()
	image := os.Getenv(dockerFullImage)
	if image == "" {
		t.Skip("SKIPPED: this test needs the full image: run make e2e-docker")
	}
	return newDockerComputer(t, append([]string{"COMPUTER_USE_IMAGE=" + image}, settings...)...)
}

// put writes a file into the container's home, as the agents' user.
func (c *dockerComputer) put(name string, text io.Reader) {
	c.t.Helper()
	cmd := exec.Command("docker", "exec", "--interactive", "--user", "computer", c.name, "sh", "-c", `mkdir -p "${0%/*}" && cat >"$0"`, path.Join("/home/computer", name))
	cmd.Stdin = text
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("write %s: %v\n%s", name, err, out)
	}
}

// office is the flat form of a document of LibreOffice, in which props colour a style of
// the family that is called "c".
func office(kind, family, props, body string) io.Reader {
	const names = `xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" ` +
		`xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" ` +
		`xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" ` +
		`xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"`
	return strings.NewReader(fmt.Sprintf(`<?xml version="1.0"?><office:document %s office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.%s">`+
		`<office:automatic-styles><style:style style:name="c" style:family="%s">%s</style:style></office:automatic-styles>`+
		`<office:body><office:%[2]s>%[5]s</office:%[2]s></office:body></office:document>`, names, kind, family, props, body))
}

// documents puts documents of every format into the home, each with something blue.
func (s *session) documents(c *dockerComputer) {
	s.t.Helper()
	c.put("letter.fodt", office("text", "paragraph", `<style:paragraph-properties fo:background-color="#1e3cc8"/>`,
		strings.Repeat(`<text:p text:style-name="c">Dear all</text:p>`, 8)))
	c.put("sums.fods", office("spreadsheet", "table-cell", `<style:table-cell-properties fo:background-color="#1e3cc8"/>`,
		`<table:table table:name="T">`+strings.Repeat(`<table:table-row><table:table-cell table:style-name="c" table:number-columns-repeated="4" office:value-type="float" office:value="7"/></table:table-row>`, 8)+`</table:table>`))
	c.put("talk.fodp", office("presentation", "graphic", `<style:graphic-properties draw:fill="solid" draw:fill-color="#1e3cc8"/>`,
		`<draw:page draw:name="p"><draw:rect draw:style-name="c" svg:x="2cm" svg:y="2cm" svg:width="16cm" svg:height="9cm"/></draw:page>`))
	c.put("table.csv", strings.NewReader("name,amount\nAda,7\n"))
	const convert = `to() { soffice --headless --convert-to "$1" "$2"; }
to odt letter.fodt & to docx letter.fodt & to xlsx sums.fods & to pptx talk.fodp & wait
cp letter.odt other.odt && ls letter.docx sums.xlsx talk.pptx`
	if got, err := s.within(browserTime, "shell", map[string]any{"session": s.id, "command": convert}); err != nil || got.fields["exit_code"] != 0.0 {
		s.t.Fatalf("%v: %s", err, got.text)
	}
}

// opens opens a document, which must be the window in front of the answer, and returns
// the titles of all windows.
func (s *session) opens(file, title string) (windows []string) {
	s.t.Helper()
	begin := time.Now()
	got, err := s.within(browserTime, "open_path", map[string]any{"session": s.id, "path": "~/" + file})
	var r *refusal
	if errors.As(err, &r) && r.Code == "timeout" { // on a machine that has very much to do
		s.t.Log(r)
		_, err = s.within(browserTime, "computer_wait", map[string]any{"session": s.id, "for": "window", "title": title, "timeout_ms": 60_000})
		got = s.observe()
	}
	if err != nil {
		s.t.Fatalf("%s: %v", file, err)
	}
	s.t.Logf("%s: %v", file, time.Since(begin).Round(time.Millisecond))
	if got.title() != title {
		s.t.Errorf("%s: in front is %q, want %q", file, got.title(), title)
	}
	for _, w := range got.fields["windows"].([]any) {
		windows = append(windows, w.(map[string]any)["title"].(string))
	}
	return windows
}

// showsBlue waits until the screen shows the blue of documents.
func (s *session) showsBlue(file string) {
	s.t.Helper()
	s.eventually(file+" on the screen", func() bool {
		got := s.call("computer_observe", map[string]any{"session": s.id, "force": true, "format": "png"})
		return has(got.image, color.RGBA{R: 0x1e, G: 0x3c, B: 0xc8, A: 255}, 5_000)
	})
}

// Issue 9, items 2 and Done when 3: LibreOffice opens its formats, each on the screen of
// the session that asks, with nothing in front of the document.
func TestDockerFullOffice(t *testing.T) {
	c := newFullComputer(t)
	a := c.agent()
	one, two := a.start("one"), a.start("two")
	one.documents(c)

	// The first starts of two screens at once: two profiles, two processes.
	var wg sync.WaitGroup
	for s, file := range map[*session]string{one: "letter.odt", two: "other.odt"} {
		wg.Go(func() {
			if windows := s.opens(file, file+" — LibreOffice Writer"); len(windows) != 1 {
				t.Errorf("%s: windows %q", file, windows)
			}
			s.showsBlue(file)
		})
	}
	wg.Wait()

	// More documents while the first one is open.
	for i, d := range []struct{ file, part string }{{"sums.xlsx", "Calc"}, {"talk.pptx", "Impress"}, {"letter.docx", "Writer"}} {
		if windows := one.opens(d.file, d.file+" — LibreOffice "+d.part); len(windows) != i+2 {
			t.Errorf("%s: windows %q", d.file, windows)
		}
		one.showsBlue(d.file)
	}
	// LibreOffice asks how to read a CSV file, as it does every time.
	one.opens("table.csv", "Text Import - [table.csv]")
	one.act(map[string]any{"kind": "key", "key": "Enter"})
	one.titled("table.csv — LibreOffice Calc", one.observe())
	if got := two.observe(); got.title() != "other.odt — LibreOffice Writer" {
		t.Errorf("the other screen has come to show %q", got.title())
	}

	// One at a time edits a document.
	got, err := one.within(browserTime, "open_path", map[string]any{"session": one.id, "path": "~/other.odt"})
	if err != nil || got.title() != "Document in Use" {
		t.Errorf("a document that is open on another screen: %q, %v", got.title(), err)
	}
	one.act(map[string]any{"kind": "key", "key": "Escape"})

	// A session that ends with documents open leaves neither its locks nor an offer to
	// restore them.
	two.end()
	one.opens("other.odt", "other.odt — LibreOffice Writer")
	// As after a new start of a container with another host name.
	if out, err := c.exec("sed --in-place s/^Host=.*/Host=elsewhere/ ~/.config/libreoffice/screen-2/.lock"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	next := a.start("next") // on the screen of the one that ended
	if windows := next.opens("letter.odt", "Document in Use"); len(windows) == 0 {
		t.Error("no window")
	}
	next.act(map[string]any{"kind": "key", "key": "Escape"})
	one.end()
	next.opens("letter.odt", "letter.odt — LibreOffice Writer")
}

// serve puts pages into the home and serves them inside the computer, until it stops.
// Their address is the container's own loopback address.
func (c *dockerComputer) serve(pages map[string]string) (address string) {
	c.t.Helper()
	for name, page := range pages {
		c.put("site/"+name, bytes.NewReader([]byte(page)))
	}
	docker(c.t, "exec", "--detach", "--user", "computer", c.name, "python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", "/home/computer/site", "8000")
	address = "http://127.0.0.1:8000"
	if out, err := c.exec("curl --silent --fail --output /dev/null --retry 100 --retry-delay 0 --retry-max-time 60 --retry-connrefused " + address); err != nil {
		c.t.Fatalf("the web server: %v\n%s", err, out)
	}
	return address
}
