package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/treetest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// withoutUnnamed makes temporary files have names, as on other systems.
func withoutUnnamed() { hasProc = func() bool { return false } }

// named runs a test both with files that have no name and with temporary names.
func named(t *testing.T, test func(t *testing.T)) {
	t.Run("unnamed", test)
	t.Run("named", func(t *testing.T) {
		before := hasProc
		defer func() { hasProc = before }()
		withoutUnnamed()
		test(t)
	})
}

// S0-132: a file has its final name only when it is complete, and replaces the one
// before at one stroke.
func TestNothingHalfWritten(t *testing.T) {
	named(t, func(t *testing.T) {
		dir := tree(t, t.TempDir(), map[string]string{"new/f": random(1, 3*bufferSize), "to/f": "old"})
		archive := pack(t, filepath.Join(dir, "new/f"))
		looks := 0
		a, err := NewArchive(bytes.NewReader(archive))
		if err != nil {
			t.Fatal(err)
		}
		target, err := Aim(Computer, filepath.Join(dir, "to"), a.Origin, Options{Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = target.Unpack(t.Context(), a, func(p Progress) {
			looks++
			if data, err := os.ReadFile(filepath.Join(dir, "to/f")); p.Files == 0 && (err != nil || string(data) != "old") {
				t.Errorf("after %v: %d bytes, %v", p, len(data), err)
			}
		})
		if err != nil || looks < 3 {
			t.Fatalf("%d looks, %v", looks, err)
		}
		if got, want := treetest.List(t, filepath.Join(dir, "to/f")), treetest.List(t, filepath.Join(dir, "new/f")); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if entries, _ := os.ReadDir(filepath.Join(dir, "to")); len(entries) != 1 {
			t.Errorf("left behind: %v", entries)
		}
	})
}

// S0-140: a copy that is cancelled, or whose stream ends, stops and leaves no temporary
// files, at whatever moment.
//
// Issue 8, Done when 4: 200 random interruptions, a third of them kill -9. After the
// next copy into the same folder nothing is left of any.
func TestInterruptions(t *testing.T) {
	seed := uint64(os.Getpid())
	t.Logf("seed %d", seed)
	random1 := rand.New(rand.NewPCG(seed, 8))
	dir := t.TempDir()
	versions := map[string]string{}
	for _, v := range []string{"old", "new"} {
		tree(t, filepath.Join(dir, v), map[string]string{
			"src/a": v, "src/b/large": random(len(v), 2*bufferSize+len(v)), "src/b/c/d": v + v, "src/e": "-> " + v, "src/z": random(7, 50_000),
		})
		versions[v] = treetest.List(t, filepath.Join(dir, v))
	}
	archive := pack(t, filepath.Join(dir, "new/src"))
	to := filepath.Join(dir, "to")
	left := 0
	for i := range 200 {
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(filepath.Join(dir, "old"))); err != nil {
			t.Fatal(err)
		}
		at := random1.IntN(len(bytes.TrimRight(archive, "\x00"))) // nobody waits for the zeros at the end
		how := []string{"cut", "cancelled", "killed"}[i%3]
		switch how {
		case "cut":
			_, err := unpack(bytes.NewReader(archive[:at]), to, Options{Overwrite: true})
			if e := api.AsError(err); err == nil || e.Code != api.CodeInternal {
				t.Errorf("cut at %d of %d: %v", at, len(archive), err)
			}
		case "cancelled":
			ctx, cancel := context.WithCancelCause(t.Context())
			a, err := NewArchive(io.MultiReader(bytes.NewReader(archive[:at]), readerFunc(func([]byte) (int, error) {
				cancel(errors.New("enough"))
				return 0, context.Cause(ctx)
			})))
			if err != nil {
				break
			}
			target, err := Aim(Computer, to, a.Origin, Options{Overwrite: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := target.Unpack(ctx, a, ignore); err == nil {
				t.Errorf("cancelled at %d: no error", at)
			}
			cancel(nil)
		case "killed":
			killUnpack(t, archive[:at], to, i%2 == 0)
		}
		after := treetest.List(t, to)
		if strings.Contains(after, tempPrefix) {
			left++
			if how != "killed" {
				t.Errorf("%s at %d of %d left\n%s", how, at, len(archive), after)
			}
		}
		for line := range strings.Lines(after) {
			line = strings.TrimSpace(line)
			if !strings.Contains(line, tempPrefix) && !strings.Contains(versions["old"], line) && !strings.Contains(versions["new"], line) {
				t.Errorf("%s at %d: neither old nor new: %s", how, at, line)
			}
		}
		if how != "killed" {
			continue
		}
		// A link that was killed within its microseconds is too young to be told from
		// one that is being made; here it may be made older.
		ageLinks(t, to)
		if _, err := unpack(bytes.NewReader(archive), to, Options{Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		if got := treetest.List(t, to); got != versions["new"] {
			t.Errorf("%s at %d, then copied again:\n%s\nwant\n%s", how, at, got, versions["new"])
		}
	}
	t.Logf("%d of the killed processes left a temporary file, which the next copy removed", left)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// killUnpack unpacks in another process and kills it when it has received some bytes.
func killUnpack(t *testing.T, archive []byte, to string, named bool) {
	t.Helper()
	args := []string{unpackArgument, to}
	if named {
		args = append(args, "named")
	}
	cmd := exec.Command("/proc/self/exe", args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(archive); err != nil {
		t.Error(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

func ageLinks(t *testing.T, dir string) {
	t.Helper()
	links, _ := filepath.Glob(filepath.Join(dir, "src", tempPrefix+"*"))
	for _, link := range links {
		old := []unix.Timeval{{Sec: 1}, {Sec: 1}}
		if err := unix.Lutimes(link, old); err != nil {
			t.Fatal(err)
		}
	}
}

// A temporary file that another process still writes is not swept.
func TestSweepSparesTheLiving(t *testing.T) {
	before := hasProc
	defer func() { hasProc = before }()
	withoutUnnamed()
	dir := tree(t, t.TempDir(), map[string]string{"to/" + tempPrefix + "DEAD": "x", "f": "new", "to/f": "old"})
	root, err := os.OpenRoot(filepath.Join(dir, "to"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	living, err := newTemp(root, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("x", filepath.Join(dir, "to", tempPrefix+"young")); err != nil {
		t.Fatal(err)
	}
	send(t, filepath.Join(dir, "f"), filepath.Join(dir, "to"), Options{Overwrite: true})
	got := treetest.List(t, filepath.Join(dir, "to"))
	if strings.Contains(got, "DEAD") || !strings.Contains(got, living.name) || !strings.Contains(got, "young") {
		t.Errorf("%s", got)
	}
	living.drop(root)
	if got := treetest.List(t, filepath.Join(dir, "to")); strings.Contains(got, living.name) {
		t.Errorf("%s", got)
	}
}

// S0-123, S0-125: holes stay holes and cost nothing on the way.
func TestHoles(t *testing.T) {
	dir := t.TempDir()
	const size = 1 << 40
	make := func(name string, parts ...extent) {
		f, err := os.Create(filepath.Join(tree(t, dir, map[string]string{"from/": ""}), "from", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, p := range parts {
			if _, err := f.WriteAt([]byte(random(int(p.at), int(p.size))), p.at); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Truncate(size); err != nil {
			xvfbtest.NeedThat(t, false, fmt.Sprintf("a file system for files of %d bytes (%v)", size, err))
		}
	}
	many := []extent{}
	for i := range int64(1500) { // more than the record holds
		many = append(many, extent{i << 13, 1})
	}
	make("nothing")
	make("begin", extent{0, 5000})
	make("end", extent{size - 5000, 5000})
	make("middle", extent{1 << 30, 10}, extent{1 << 35, 300_000})
	f, err := os.Create(filepath.Join(dir, "from", "many"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range many {
		f.WriteAt([]byte("x"), p.at)
	}
	f.Close()
	archive := pack(t, filepath.Join(dir, "from"))
	if len(archive) > 20<<20 {
		t.Fatalf("the archive has %d bytes", len(archive))
	}
	r, err := unpack(bytes.NewReader(archive), filepath.Join(dir, "to"), Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(4*size + 1499<<13 + 1); r.Bytes != want {
		t.Errorf("%d bytes, want %d", r.Bytes, want)
	}
	for _, name := range []string{"nothing", "begin", "end", "middle", "many"} {
		a, b := sparseDigest(t, filepath.Join(dir, "from", name)), sparseDigest(t, filepath.Join(dir, "to", name))
		if a != b {
			t.Errorf("%s: %s, want %s", name, b, a)
		}
		var stat unix.Stat_t
		if err := unix.Stat(filepath.Join(dir, "to", name), &stat); err != nil || stat.Blocks*512 > 20<<20 {
			t.Errorf("%s takes %d bytes, %v", name, stat.Blocks*512, err)
		}
	}
}

// sparseDigest describes a file by what is in it, without reading holes.
func sparseDigest(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	parts, _ := extents(f, info.Size())
	sum := newChecksum()
	for _, p := range parts {
		data := make([]byte, p.size)
		if _, err := f.ReadAt(data, p.at); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		for i, c := range data {
			if c != 0 { // what is allocated may differ in its zeros
				fmt.Fprint(sum, p.at+int64(i), c)
			}
		}
	}
	return fmt.Sprint(info.Size(), sum)
}

// S0-135: pipes, sockets and devices are listed.
func TestSpecialFiles(t *testing.T) {
	dir := tree(t, t.TempDir(), map[string]string{"from/file": "x"})
	if err := unix.Mkfifo(filepath.Join(dir, "from/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	t.Chdir(filepath.Join(dir, "from")) // a socket's path is short
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}); err != nil {
		t.Fatal(err)
	}
	want := "from/pipe: it is a pipe, from/socket: it is a socket"
	if os.Getuid() == 0 {
		if err := unix.Mknod("device", unix.S_IFCHR|0o600, 1<<8|3); err == nil {
			want = "from/device: it is a device, " + want
		}
	}
	r := send(t, filepath.Join(dir, "from"), filepath.Join(dir, "to"), Options{})
	var got []string
	for _, s := range r.Skipped {
		got = append(got, s.Path+": "+s.Why)
	}
	if strings.Join(got, ", ") != want || r.SkippedTotal != len(got) || r.Files != 1 {
		t.Errorf("%s, want %s", got, want)
	}
	for _, path := range []string{filepath.Join(dir, "from/pipe"), "/dev/null"} {
		if _, err := Open(Host, path); api.AsError(err).Code != api.CodeUnsupported {
			t.Errorf("%s: %v", path, err)
		}
	}
	refused(t, api.CodeUnsupported, filepath.Join(dir, "from/file"), filepath.Join(dir, "from/pipe"), Options{Overwrite: true})
}

// A file of /proc, which says that it is empty, is copied with what it has.
func TestProc(t *testing.T) {
	want, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "v")
	send(t, "/proc/version", to, Options{})
	if got, _ := os.ReadFile(to); !bytes.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Issue 8, Done when 4: a source that changes while it is read.
func TestChangingSource(t *testing.T) {
	setUp := func(t *testing.T) (dir, file string) {
		dir = tree(t, t.TempDir(), map[string]string{"from/a": "a", "from/large": random(1, 4*bufferSize), "from/z": "z"})
		return dir, filepath.Join(dir, "from/large")
	}
	// copyWhile copies, and calls change when a part of the large file was packed.
	copyWhile := func(t *testing.T, dir string, change func() error) api.TransferResult {
		t.Helper()
		source, err := Open(Host, filepath.Join(dir, "from"))
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		var b bytes.Buffer
		changed := false
		err = source.Pack(t.Context(), &b, func(p Progress) {
			if p.Bytes > bufferSize && !changed {
				changed = true
				if err := change(); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil || !changed {
			t.Fatal(changed, err)
		}
		r, err := unpack(&b, filepath.Join(dir, "to"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if z, _ := os.ReadFile(filepath.Join(dir, "to/z")); string(z) != "z" {
			t.Error("what comes behind it is missing")
		}
		return r
	}
	t.Run("shorter", func(t *testing.T) {
		dir, file := setUp(t)
		r := copyWhile(t, dir, func() error { return os.Truncate(file, bufferSize) })
		if r.Files != 2 || r.Bytes != 2 || len(r.Skipped) != 1 || r.Skipped[0].Path != "from/large" {
			t.Errorf("%+v", r)
		}
		if entries, _ := os.ReadDir(filepath.Join(dir, "to")); len(entries) != 2 {
			t.Errorf("%v", entries)
		}
	})
	t.Run("longer", func(t *testing.T) {
		dir, file := setUp(t)
		r := copyWhile(t, dir, func() error { return os.Truncate(file, 8*bufferSize) })
		if info, err := os.Stat(filepath.Join(dir, "to/large")); r.Files != 3 || err != nil || info.Size() != 4*bufferSize {
			t.Errorf("%+v, %v", r, err)
		}
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "from/large") {
			t.Errorf("notes %q", r.Notes)
		}
	})
	t.Run("removed", func(t *testing.T) {
		dir, _ := setUp(t)
		tree(t, dir, map[string]string{"from/m/gone": "x", "from/n": "x"})
		source, err := Open(Host, filepath.Join(dir, "from"))
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		var b bytes.Buffer
		err = source.Pack(t.Context(), &b, func(p Progress) {
			os.RemoveAll(filepath.Join(dir, "from/m"))
			os.Remove(filepath.Join(dir, "from/n"))
		})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := unpack(&b, filepath.Join(dir, "to"), Options{}); err != nil || r.Files != 3 || len(r.Skipped) != 2 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// S0-139: a destination that cannot be written is refused before anything moves. Disk
// full: nothing half-written stays, and the error says how far it got.
func TestFullAndReadOnlyDisk(t *testing.T) {
	xvfbtest.NeedThat(t, os.Getuid() == 0, "root, to mount a small disk")
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		xvfbtest.NeedThat(t, false, fmt.Sprintf("the right to mount a tmpfs (%v)", err))
	}
	defer unix.Unmount(disk, unix.MNT_DETACH)
	dir := tree(t, t.TempDir(), map[string]string{"from/a": random(1, 300_000), "from/b": random(2, 900_000), "from/c": "c"})
	named(t, func(t *testing.T) {
		defer os.RemoveAll(filepath.Join(disk, "from"))
		_, err := unpack(bytes.NewReader(pack(t, filepath.Join(dir, "from"))), disk, Options{})
		e := api.AsError(err)
		if e.Code != api.CodeTooLarge || !strings.Contains(e.Message, filepath.Join(disk, "from/b")) || !strings.Contains(e.Message, "By then 1 file, 1 folder") {
			t.Errorf("%s: %v", e.Code, e)
		}
		if got := treetest.List(t, disk); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"from/a"`) {
			t.Errorf("%s", got)
		}
	})
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	refused(t, api.CodePermissionDenied, filepath.Join(dir, "from"), filepath.Join(disk, "new/er"), Options{})
}

// Names with any bytes arrive as they are, and are shown in a form that can be read.
func TestNames(t *testing.T) {
	files := map[string]string{}
	for i, name := range treetest.OddNames {
		files["d/"+name] = fmt.Sprint(i)
		if len(name) < 200 {
			files["d/folder "+name+"/x"] = fmt.Sprint(i)
			files["d/link to "+name] = "-> " + name
		}
	}
	dir := tree(t, t.TempDir(), files)
	for _, name := range []string{"bad\xffroot", "new\nline"} {
		if err := os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		r := send(t, filepath.Join(dir, name), to, Options{})
		if r.Path != filepath.Join(to, name) || treetest.List(t, r.Path) != treetest.List(t, filepath.Join(dir, name)) {
			t.Errorf("%q", r.Path)
		}
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "d")); err != nil {
			t.Fatal(err)
		}
	}
}
