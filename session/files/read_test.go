package files

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/clip"
)

func TestRead(t *testing.T) {
	b := newBench(t)
	b.file("a", "one\ntwo\nÆØÅ\n")
	r := do[api.ReadFileResult](b, Read, api.ReadFileRequest{Path: "a"})
	if r.Text != "one\ntwo\nÆØÅ\n" || r.Encoding != "utf-8" || r.Size != 15 || r.Lines != 3 || r.FirstLine != 1 || r.LastLine != 3 || r.CutBytes != 0 || len(r.Notes) != 0 {
		t.Errorf("%+v", r)
	}
	b.file("empty", "")
	if r := do[api.ReadFileResult](b, Read, api.ReadFileRequest{Path: "empty", Offset: 1}); r.Text != "" || r.Lines != 0 {
		t.Errorf("%+v", r)
	}
	// A file of /proc says that it has no bytes.
	if r := do[api.ReadFileResult](b, Read, api.ReadFileRequest{Path: "/proc/version"}); !strings.HasPrefix(r.Text, "Linux") {
		t.Errorf("%+v", r)
	}
	b.refused(api.CodeNotFound, Read, api.ReadFileRequest{Path: "none"})
	b.refused(api.CodeIsAFolder, Read, api.ReadFileRequest{Path: "~"})
	b.refused(api.CodeBadRequest, Read, api.ReadFileRequest{Path: "a\x00b"})
}

// S0-114: offset and limit count lines from 1.
func TestReadLines(t *testing.T) {
	b := newBench(t)
	b.file("a", "1\n2\n3\n4\nlast")
	for _, c := range []struct {
		offset, limit int
		want          string
		first, last   int
	}{
		{0, 0, "1\n2\n3\n4\nlast", 1, 5}, {1, 1, "1\n", 1, 1}, {2, 2, "2\n3\n", 2, 3}, {5, 0, "last", 5, 5}, {4, 10, "4\nlast", 4, 5}, {0, 2, "1\n2\n", 1, 2},
	} {
		r := do[api.ReadFileResult](b, Read, api.ReadFileRequest{Path: "a", Offset: c.offset, Limit: c.limit})
		if r.Text != c.want || r.FirstLine != c.first || r.LastLine != c.last || r.Lines != 5 {
			t.Errorf("offset %d, limit %d: %+v", c.offset, c.limit, r)
		}
	}
	e := b.refused(api.CodeBadRequest, Read, api.ReadFileRequest{Path: "a", Offset: 6})
	if !strings.Contains(e.Message, "5 lines") {
		t.Errorf("%v", e)
	}
	b.refused(api.CodeBadRequest, Read, api.ReadFileRequest{Path: "a", Offset: -1})
}

// S0-113: long text is cut in the middle, with a marker and a note.
func TestReadLongText(t *testing.T) {
	b := newBench(t)
	b.file("a", strings.Repeat("0123456789ä\n", 10000))
	r := do[api.ReadFileResult](b, Read, api.ReadFileRequest{Path: "a"})
	if r.CutBytes == 0 || !strings.Contains(r.Text, clip.Marker(r.CutBytes)) || len(r.Notes) != 1 || len(r.Text) > 2*clip.Keep+100 {
		t.Errorf("%d bytes of text, %d cut, notes %q", len(r.Text), r.CutBytes, r.Notes)
	}
}

// S0x.14: more than 50 MiB is refused.
func TestReadHugeFile(t *testing.T) {
	b := newBench(t)
	if err := os.Truncate(b.file("a", ""), api.MaxReadFile+1); err != nil {
		t.Fatal(err)
	}
	b.refused(api.CodeTooLarge, Read, api.ReadFileRequest{Path: "a"})
}

// No read waits for the other end of a pipe or a device.
func TestReadSpecial(t *testing.T) {
	b := newBench(t)
	pipe := filepath.Join(b.home, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	os.Symlink("pipe", filepath.Join(b.home, "link"))
	for _, path := range []string{"pipe", "link", "/dev/zero", "/dev/tty", "/dev/null"} {
		if _, err := os.Stat(filepath.Join(b.home, path)); err == nil || filepath.IsAbs(path) {
			b.refused(api.CodeUnsupported, Read, api.ReadFileRequest{Path: path})
			b.refused(api.CodeUnsupported, Write, api.WriteFileRequest{Path: path, Content: "x"})
			b.refused(api.CodeUnsupported, Edit, api.EditFileRequest{Path: path, OldText: "x", NewText: "y"})
			b.refused(api.CodeUnsupported, Search, api.SearchFilesRequest{Path: path, Pattern: "x"})
		}
	}
}

// S0-111: PNG and JPEG are recognised by their first bytes.
func TestReadImage(t *testing.T) {
	b := newBench(t)
	picture := image.NewGray(image.Rect(0, 0, 30, 20))
	var asPNG, asJPEG bytes.Buffer
	if err := png.Encode(&asPNG, picture); err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(&asJPEG, picture, nil); err != nil {
		t.Fatal(err)
	}
	for format, data := range map[string][]byte{"png": asPNG.Bytes(), "jpeg": asJPEG.Bytes()} {
		b.file("text.txt", string(data))
		var r api.ReadFileResult
		got, err := b.Call(t.Context(), Read, b.home, api.ReadFileRequest{Path: "text.txt"}, &r)
		if err != nil || !bytes.Equal(got, data) || r.Kind != api.FileImage || r.Format != format || r.Width != 30 || r.Height != 20 {
			t.Errorf("%s: %d bytes, %+v, %v", format, len(got), r, err)
		}
	}
	b.file("broken", asPNG.String()[:20])
	b.refused(api.CodeUnsupported, Read, api.ReadFileRequest{Path: "broken"})
	b.file("large", asPNG.String()+strings.Repeat("x", api.MaxReadImage))
	b.refused(api.CodeTooLarge, Read, api.ReadFileRequest{Path: "large"})
}

// S0-112: what is neither text nor such an image is refused with a hint.
func TestReadBinary(t *testing.T) {
	b := newBench(t)
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"noise": string(noise), "program": string(program), "nul": "text\x00text", "gif": "GIF89a\x01\x00\x01\x00\x00\x00", "controls": "\x01\x02\x80\x03",
	} {
		b.file(name, data)
		if e := b.refused(api.CodeUnsupported, Read, api.ReadFileRequest{Path: name}); !strings.Contains(e.Fix, "shell") || !strings.Contains(e.Fix, "file_transfer") {
			t.Errorf("%s: fix %q", name, e.Fix)
		}
	}
}

func utf16Bytes(text string, little bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		hi, lo := byte(u>>8), byte(u)
		if little {
			hi, lo = lo, hi
		}
		b.WriteString(string([]byte{hi, lo}))
	}
	return b.String()
}

// S0-110 and issue 6: UTF-8, UTF-16 and Latin-1 are recognised, and said.
func TestEncodings(t *testing.T) {
	latin := func(s string) string {
		var b []byte
		for _, r := range s {
			b = append(b, byte(r))
		}
		return string(b)
	}
	const german = "Grüße aus Köln, für 5 Pfund £ oder ähnlich.\n"
	for _, c := range []struct{ name, data, text, encoding string }{
		{"plain", "abc", "abc", "utf-8"},
		{"utf-8", german + "日本語😀", german + "日本語😀", "utf-8"},
		{"utf-8 with a mark", "\xef\xbb\xbfabc", "abc", "utf-8"},
		{"utf-8 with a broken byte", "日本語\xff日本語", "日本語\uFFFD日本語", "utf-8"},
		{"utf-16le with a mark", "\xff\xfe" + utf16Bytes("日本 😀\n", true), "日本 😀\n", "utf-16le"},
		{"utf-16be with a mark", "\xfe\xff" + utf16Bytes(german, false), german, "utf-16be"},
		{"utf-16le", utf16Bytes(german, true), german, "utf-16le"},
		{"utf-16be", utf16Bytes(german, false), german, "utf-16be"},
		{"latin-1", latin(german), german, "latin-1"},
		{"latin-1, one character", "na\xefve", "naïve", "latin-1"},
		{"colours", "\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n", "utf-8"},
	} {
		text, encoding, ok := decode([]byte(c.data))
		if !ok || text != c.text || encoding != c.encoding {
			t.Errorf("%s: %q in %s, %v", c.name, text, encoding, ok)
		}
	}
	b := newBench(t)
	b.file("a", latin(german))
	if r := do[api.ReadFileResult](b, Read, api.ReadFileRequest{Path: "a"}); r.Text != german || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "latin-1") {
		t.Errorf("%+v", r)
	}
}

// FuzzDecode: what is accepted is valid text, and UTF-8 text stays as it is.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "a\x00", "\xff\xfe", "\xfe\xff\xd8", "\xff\xfea\x00", "é\xff", "\x80\x81"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, encoding, ok := decode(data)
		if !ok {
			return
		}
		if !utf8.ValidString(text) {
			t.Errorf("%s: %q", encoding, text)
		}
		if utf8.Valid(data) && !bytes.Contains(data, []byte{0}) && encoding == utf8Name && text != strings.TrimPrefix(string(data), "\uFEFF") {
			t.Errorf("%q became %q", data, text)
		}
	})
}

// A name that is shown as $'...' is the same name to bash.
func FuzzShow(f *testing.F) {
	for _, s := range []string{"a b", "it's", "new\nline", "\xff\xc3", "tab\t", "$'", `back\slash`, "\u202e", "é", "\x01" + "2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		shown := show(name)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q is shown as %q", name, shown)
		}
		if shown == name || strings.Contains(name, "\x00") || len(name) > 1000 {
			return
		}
		out, err := exec.Command("bash", "-c", "printf %s "+shown).Output()
		if err != nil || string(out) != name {
			t.Errorf("%q is shown as %s, which bash takes for %q (%v)", name, shown, out, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	bench := newBench(b)
	bench.file("a", strings.Repeat("some text\n", 1000))
	for b.Loop() {
		do[api.ReadFileResult](bench, Read, api.ReadFileRequest{Path: "a"})
	}
}
