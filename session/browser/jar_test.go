package browser

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/session/private"
)

func quietConfig(t *testing.T) Config {
	return Config{Home: t.TempDir(), Env: os.Environ(), Logger: slog.New(slog.DiscardHandler)}
}

// S0-203: one jar in home, mode 0600, which the next start finds.
func TestJarIsKept(t *testing.T) {
	cfg := quietConfig(t)
	j := openJar(cfg)
	c := chip("login", "ada")
	c.HTTPOnly, c.Partition = true, &partition{Site: "https://top.test", Ancestor: true}
	j.contents.apply(changes{c.key(): &c}, time.Now())
	j.keep()
	info, err := os.Stat(filepath.Join(cfg.Home, private.Folder, "cookies.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	again := openJar(cfg).contents[c.key()]
	if !again.same(c) || again.key() != c.key() || again.Changed.IsZero() {
		t.Errorf("%+v", again)
	}
}

// S0-213, and a format of the future: what cannot be read is kept beside.
func TestUnreadableJarIsSetAside(t *testing.T) {
	for name, text := range map[string]string{
		"cut": `{"version":1,"data":[{"na`, "other version": `{"version":2,"data":[]}`, "empty": "", "other shape": `{"version":1,"data":{"a":1}}`,
	} {
		cfg := quietConfig(t)
		file := filepath.Join(cfg.Home, private.Folder, "cookies.json")
		os.Mkdir(filepath.Dir(file), 0o700)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j := openJar(cfg)
		if got, err := os.ReadFile(file + ".bad"); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		c := chip("a", "1")
		j.contents.apply(changes{c.key(): &c}, time.Now())
		j.keep()
		if n := len(openJar(cfg).contents); n != 1 {
			t.Errorf("%s: %d cookies in the new jar", name, n)
		}
	}
}

// Home is the programs' user's: a pipe in the place of the jar must not hold the daemon up,
// a link must not lead it elsewhere.
func TestJarIsAFile(t *testing.T) {
	cfg := quietConfig(t)
	file := filepath.Join(cfg.Home, private.Folder, "cookies.json")
	os.Mkdir(filepath.Dir(file), 0o700)
	if err := os.Symlink("/etc/passwd", file); err != nil {
		t.Fatal(err)
	}
	openJar(cfg).keep()
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// FuzzJar reads any file; what was read once can be kept and read again.
func FuzzJar(f *testing.F) {
	f.Add([]byte(`{"version":1,"data":[{"name":"a","value":"1","domain":"b","path":"/","expires":-1,"changed":"2026-01-02T03:04:05Z"}]}`))
	f.Add([]byte(`{"version":1,"data":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var list, again []kept
		if parse(text, &list) != nil {
			return
		}
		first, second := make(contents), make(contents)
		first.fill(list)
		data, err := format(first.list())
		if err != nil {
			t.Fatal(err)
		}
		if err := parse(data, &again); err != nil {
			t.Fatal(err)
		}
		second.fill(again)
		if len(diff(first.set(), second.set())) > 0 {
			t.Errorf("kept %v, read %v", first, second)
		}
	})
}

func (j contents) set() cookies {
	s := make(cookies, len(j))
	for k, c := range j {
		s[k] = c.cookie
	}
	return s
}
