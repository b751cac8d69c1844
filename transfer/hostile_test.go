package transfer

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// forge writes an archive of headers without an end. The content of a file without a
// size is its name.
func forge(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	data, _ := forgeSum(t, headers)
	return data
}

// forgeWhole is forge with an end.
func forgeWhole(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	data, sum := forgeSum(t, headers)
	end := forge(t, &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{recordEnd: fmt.Sprintf(`{"checksum":%q}`, sum)}})
	return append(data, end...)
}

func forgeSum(t testing.TB, headers []*tar.Header) ([]byte, checksum) {
	t.Helper()
	var b bytes.Buffer
	w, sum := tar.NewWriter(&b), newChecksum()
	for _, h := range headers {
		h.Format = tar.FormatPAX
		content := strings.Repeat("x", int(h.Size))
		if h.Typeflag == tar.TypeReg && h.Size == 0 {
			content = h.Name
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("%+v: %v", h, err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		sum.entry(h)
		sum.Write([]byte(content))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), sum
}

func dirHeader(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}
}

func fileHeader(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}
}

func linkHeader(name, to string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}

// Issue 8, item 1: hostile archives are refused, and nothing leaves the destination.
func TestHostileArchives(t *testing.T) {
	for _, c := range []struct {
		name    string
		headers []*tar.Header
	}{
		{"absolute", []*tar.Header{dirHeader("r/"), fileHeader("/etc/planted")}},
		{"absolute root", []*tar.Header{fileHeader("/planted")}},
		{"dots", []*tar.Header{dirHeader("r/"), fileHeader("r/../planted")}},
		{"dots as root", []*tar.Header{dirHeader("../")}},
		{"dots at the end", []*tar.Header{dirHeader("r/"), dirHeader("r/../")}},
		{"dot", []*tar.Header{dirHeader("r/"), fileHeader("r/./a")}},
		{"double slash", []*tar.Header{dirHeader("r/"), fileHeader("r//a")}},
		{"through a link", []*tar.Header{dirHeader("r/"), linkHeader("r/a", "../../outside"), fileHeader("r/a/planted")}},
		{"a folder over a link", []*tar.Header{dirHeader("r/"), linkHeader("r/a", "../../outside"), dirHeader("r/a/"), fileHeader("r/a/planted")}},
		{"a file over a link", []*tar.Header{dirHeader("r/"), linkHeader("r/a", "../../outside/victim"), fileHeader("r/a")}},
		{"another root", []*tar.Header{dirHeader("r/"), fileHeader("planted")}},
		{"another root before", []*tar.Header{dirHeader("r/"), dirHeader("s/"), fileHeader("s/a")}},
		{"root twice", []*tar.Header{dirHeader("r/"), dirHeader("r/")}},
		{"a file as folder", []*tar.Header{fileHeader("r"), fileHeader("r/a")}},
		{"no folder", []*tar.Header{dirHeader("r/"), fileHeader("r/missing/a")}},
		{"twice", []*tar.Header{dirHeader("r/"), fileHeader("r/a"), fileHeader("r/a")}},
		{"out of order", []*tar.Header{dirHeader("r/"), fileHeader("r/b"), fileHeader("r/a")}},
		{"back into a folder", []*tar.Header{dirHeader("r/"), dirHeader("r/a/"), dirHeader("r/b/"), fileHeader("r/a/x")}},
		{"hard link", []*tar.Header{dirHeader("r/"), {Typeflag: tar.TypeLink, Name: "r/a", Linkname: "../outside/victim"}}},
		{"device", []*tar.Header{dirHeader("r/"), {Typeflag: tar.TypeBlock, Name: "r/a", Devmajor: 254}}},
		{"pipe", []*tar.Header{dirHeader("r/"), {Typeflag: tar.TypeFifo, Name: "r/a"}}},
		{"a device as root", []*tar.Header{{Typeflag: tar.TypeChar, Name: "r", Devmajor: 1}}},
		{"a link as root", []*tar.Header{linkHeader("r", "/etc")}},
		{"deep", deep(maxDepth + 2)},
		{"holes before the start", []*tar.Header{dirHeader("r/"), holes("r/a", "-5+3,", "10")}},
		{"holes behind the end", []*tar.Header{dirHeader("r/"), holes("r/a", "8+3,", "10")}},
		{"holes that overlap", []*tar.Header{dirHeader("r/"), holes("r/a", "1+1,1+2,", "10")}},
		{"holes beyond count", []*tar.Header{dirHeader("r/"), holes("r/a", "0+9223372036854775807,", "9223372036854775807")}},
		{"holes that are not numbers", []*tar.Header{dirHeader("r/"), holes("r/a", "x", "10")}},
		{"a size below nothing", []*tar.Header{dirHeader("r/"), holes("r/a", "", "-1")}},
		{"a record of others", []*tar.Header{dirHeader("r/"), {Typeflag: tar.TypeReg, Name: "r/a", PAXRecords: map[string]string{"comment": "x"}}}},
		{"no end", []*tar.Header{dirHeader("r/"), fileHeader("r/a")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, t.TempDir(), map[string]string{"outside/victim": "victim", "to/": ""})
			_, err := unpack(bytes.NewReader(forge(t, c.headers...)), filepath.Join(dir, "to", "r"), Options{})
			e := api.AsError(err)
			if want := map[bool]api.Code{true: api.CodeInternal, false: api.CodeUnsupported}[c.name == "no end"]; err == nil || e.Code != want || e.Fix == "" {
				t.Errorf("%v (%s), want code %s", err, e.Code, want)
			}
			checkConfined(t, dir)
		})
	}
}

func holes(name, extents, size string) *tar.Header {
	h := fileHeader(name)
	h.PAXRecords = map[string]string{recordExtents: extents, recordSize: size}
	h.Size = 3
	return h
}

func deep(n int) []*tar.Header {
	var headers []*tar.Header
	name := ""
	for range n {
		name += "r/"
		headers = append(headers, dirHeader(name))
	}
	return headers
}

// checkConfined fails the test when anything but dir/to was changed, or when something
// is left there that is not complete.
func checkConfined(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("entries %v, %v", entries, err)
	}
	victim, err := os.ReadFile(filepath.Join(dir, "outside/victim"))
	outside, _ := os.ReadDir(filepath.Join(dir, "outside"))
	if err != nil || string(victim) != "victim" || len(outside) != 1 {
		t.Errorf("outside: %v, %q, %v", outside, victim, err)
	}
	// Names only: a hole may be larger than memory.
	err = filepath.WalkDir(filepath.Join(dir, "to"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), tempPrefix) {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Whatever the bytes are, nothing is written outside the destination.
func FuzzUnpack(f *testing.F) {
	dir := f.TempDir()
	f.Add(pack(f, tree(f, filepath.Join(dir, "r"), map[string]string{"a": "x", "b/c": "y", "e/": "", "large": random(1, 2000)})), false)
	f.Add(forge(f, dirHeader("r/"), linkHeader("r/a", "../../outside"), fileHeader("r/a/planted")), true)
	f.Add(forge(f, dirHeader("r/"), holes("r/a", "2+3,", "10"), &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{recordRetract: "1"}}), true)
	f.Add(forge(f, dirHeader("r/"), fileHeader("r/a"), &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{recordEnd: "{}"}}), true)
	f.Add(forge(f, fileHeader("r")), true)
	f.Fuzz(func(t *testing.T, archive []byte, overwrite bool) {
		dir, err := os.MkdirTemp("", "fuzz-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		tree(t, dir, map[string]string{"outside/victim": "victim", "to/there": "-> ../outside", "to/r/link": "-> ../../outside", "to/r/b/old": "old"})
		unpack(bytes.NewReader(archive), filepath.Join(dir, "to"), Options{Overwrite: overwrite, Verify: true})
		checkConfined(t, dir)
	})
}
