package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// change writes a file as a Chromium does that has been running for a while.
func change(t *testing.T, path, text string) {
	t.Helper()
	write(t, path, text)
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
}

// S0-197, S0-208 to S0-210.
func TestProfilesComeFromTheTemplate(t *testing.T) {
	b := New(quietConfig(t))
	ctx := t.Context()
	write(t, b.template()+"/Default/Bookmarks", "old")
	write(t, b.template()+"/Default/Custom Dictionary.txt", "words")
	one, two := b.profileDir(1), b.profileDir(2)
	write(t, one+"/Default/History", "of a Chromium that was killed")
	os.Symlink("host-1", one+"/SingletonLock")
	for _, dir := range []string{one, two} {
		if err := b.makeProfile(ctx, dir); err != nil {
			t.Fatal(err)
		}
		if got := read(dir + "/Default/Bookmarks"); got != "old" {
			t.Errorf("bookmarks %q", got)
		}
	}
	if entries, _ := os.ReadDir(one); len(entries) != 2 { // .begun and Default
		t.Errorf("something is left of the last one: %v", entries)
	}
	change(t, one+"/Default/Bookmarks", "of one")
	change(t, one+"/Default/Preferences", "of one")
	change(t, one+"/Default/Cookies", "not carried")
	change(t, two+"/Default/Bookmarks", "of two")
	write(t, two+"/Default/Extensions/adblock/1_0/manifest.json", "{}")
	write(t, one+"/Default/Extensions/adblock/2_0/manifest.json", "{}")
	for _, dir := range []string{two, one} {
		if err := b.saveProfile(ctx, dir); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		"Bookmarks": "of one", "Preferences": "of one", "Custom Dictionary.txt": "words", "Cookies": "",
	} {
		if got := read(b.template() + "/Default/" + file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	// The preferences name those of one, and a Chromium that has none takes none away.
	for range 2 {
		if found, _ := filepath.Glob(b.template() + "/Default/Extensions/*/*/manifest.json"); len(found) != 1 || !strings.Contains(found[0], "/2_0/") {
			t.Errorf("extensions %q", found)
		}
		if err := b.makeProfile(ctx, two); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(two + "/Default/Extensions"); err != nil {
			t.Fatal(err)
		}
		if err := b.saveProfile(ctx, two); err != nil {
			t.Fatal(err)
		}
	}
}

// A computer may be killed at any moment. The template's preferences then name extensions
// that are there: Chromium would not notice that one is missing.
func TestKilledSaveKeepsExtensions(t *testing.T) {
	killed := 0
	for n, whole := 1, false; !whole; n++ {
		cfg := quietConfig(t)
		cfg.Env = append(cfg.Env, "PATH="+killedAt(t, n)+":"+os.Getenv("PATH"))
		b := New(cfg)
		from := b.profileDir(1)
		write(t, b.template()+"/Default/Preferences", "1_0")
		write(t, b.template()+"/Default/Extensions/adblock/1_0/manifest.json", "{}")
		write(t, from+"/.begun", "")
		change(t, from+"/Default/Preferences", "2_0")
		write(t, from+"/Default/Extensions/adblock/2_0/manifest.json", "{}")
		whole = b.saveProfile(t.Context(), from) == nil
		if !whole {
			killed++
		}
		named := read(b.template() + "/Default/Preferences")
		if whole && named != "2_0" || read(b.template()+"/Default/Extensions/adblock/"+named+"/manifest.json") != "{}" {
			t.Errorf("killed before step %d: the preferences name %q, which is not there", n, named)
		}
	}
	if killed < 4 {
		t.Errorf("the script was killed at %d steps only", killed)
	}
}

// killedAt returns a folder of programs that do what the real ones do, but the nth of them
// to run kills the script that runs it.
func killedAt(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cp", "mkdir", "mv", "rm"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("#!/bin/sh\ncd %s\necho >>steps\n[ $(wc -l <steps) -ne %d ] || kill -KILL $PPID\nexec %s \"$@\"\n", dir, n, program)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Issue 9, Done when 1: the lock of a profile may be that of a process that is long gone.
func TestStaleLocks(t *testing.T) {
	host, _ := os.Hostname()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"dead": fmt.Sprintf("%s-%d", host, ended.Process.Pid),
		// This process has the number now.
		"reused":       fmt.Sprintf("%s-%d", host, os.Getpid()),
		"another host": fmt.Sprintf("another-%d", os.Getpid()),
		"no number":    host + "-x", "init": host + "-1", "itself": "-1", "empty": "-",
	} {
		t.Run(name, func(t *testing.T) {
			b := New(quietConfig(t))
			dir := b.profileDir(1)
			os.MkdirAll(dir, 0o700)
			if err := os.Symlink(target, dir+"/SingletonLock"); err != nil {
				t.Fatal(err)
			}
			if err := b.makeProfile(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(dir + "/SingletonLock"); err == nil {
				t.Error("the lock is there still")
			}
		})
	}
}

// A Chromium that runs on the profile, past this process, is ended first.
func TestHolderIsEnded(t *testing.T) {
	t.Parallel()
	b := New(quietConfig(t))
	dir := b.profileDir(1)
	os.MkdirAll(dir, 0o700)
	// It says when it runs, and heeds no SIGTERM.
	holder := exec.Command("/bin/sh", "-c", `trap "" TERM; echo; read never`, "chromium", "--user-data-dir="+dir)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Process.Kill()
	out.Read(make([]byte, 1))
	host, _ := os.Hostname()
	os.Symlink(fmt.Sprintf("%s-%d", host, holder.Process.Pid), dir+"/SingletonLock")
	if err := b.makeProfile(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	if state, _ := holder.Process.Wait(); state.Success() {
		t.Errorf("%v", state)
	}
}
