package e2e

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// on calls a tool in the session.
func (s *session) on(tool string, args map[string]any) answer {
	s.t.Helper()
	args["session"] = s.id
	return s.call(tool, args)
}

// fails calls a tool in the session that must be refused with a code.
func (s *session) fails(code, tool string, args map[string]any) *refusal {
	s.t.Helper()
	args["session"] = s.id
	return s.refused(code, tool, args)
}

// S0-105 to S0-118: files through the built binaries, as the programs' user.
func TestFiles(t *testing.T) {
	c := newComputer(t)
	s, other := c.agent().start("Files"), c.agent().start("Other files")

	got := s.on("write_file", map[string]any{"path": "notes/a.txt", "content": "one\ntwo\nÆØÅ\n"})
	if got.fields["path"] != "/home/computer/notes/a.txt" || got.fields["created"] != true {
		t.Errorf("%v", got.fields)
	}
	if out := s.stdout("stat -c '%U %a' notes notes/a.txt"); out != "computer 755\ncomputer 644\n" {
		t.Errorf("%q", out)
	}
	// S0-11, S0-106: all sessions see the same files, whoever has started them.
	if got := other.on("read_file", map[string]any{"path": "~/notes/a.txt", "offset": 2, "limit": 1}); got.fields["text"] != "two\n" || !strings.Contains(got.text, "these are 2 to 2") {
		t.Errorf("%v", got.fields)
	}
	s.on("set_cwd", map[string]any{"path": "notes"})
	s.on("edit_file", map[string]any{"path": "a.txt", "old_text": "two", "new_text": "2"})
	s.fails("not_found", "edit_file", map[string]any{"path": "a.txt", "old_text": "two", "new_text": "2"})
	if got := s.on("search_files", map[string]any{"pattern": "^2$"}); !strings.Contains(got.text, "a.txt:2: 2") {
		t.Errorf("%s", got.text)
	}
	s.shell("mkdir sub; touch $'bad\\xff'; mkfifo pipe; ln -s /proc/1/environ planted; ln -s a.txt link")
	listed := s.on("list_files", map[string]any{}).text
	for _, want := range []string{"folder", "sub/", `$'bad\xff'`, "other", "link -> a.txt"} {
		if !strings.Contains(listed, want) {
			t.Errorf("no %s in\n%s", want, listed)
		}
	}
	s.fails("unsupported", "read_file", map[string]any{"path": "pipe"})
	s.fails("permission_denied", "read_file", map[string]any{"path": "planted"})
	s.fails("permission_denied", "write_file", map[string]any{"path": "/etc/planted", "content": "x"})
	s.fails("is_a_folder", "write_file", map[string]any{"path": "sub", "content": "x"})
	// What reads for the agent is a process of the agent's user, with nothing to hide.
	if got := s.on("read_file", map[string]any{"path": "/proc/self/status"}); !strings.Contains(got.text, "Uid:\t"+s.stdout("id -u | tr -d '\\n'")) {
		t.Errorf("%s", got.text)
	}

	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.home, "picture.txt"), picture.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := s.on("read_file", map[string]any{"path": "~/picture.txt"}); got.image == nil || got.image.Bounds().Dx() != 40 {
		t.Errorf("%v", got.fields)
	}
	large := strings.Repeat("0123456789<&>\n", 500000) // 7 MB
	s.on("write_file", map[string]any{"path": "large", "content": large})
	if got := s.on("read_file", map[string]any{"path": "large"}); got.fields["cut_bytes"] == nil || !strings.HasPrefix(got.fields["text"].(string), "0123456789<&>\n") {
		t.Errorf("%.200s", got.text)
	}
	if data, err := os.ReadFile(filepath.Join(c.home, "notes/large")); err != nil || string(data) != large {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// Issue 6 item 5: the clipboard tool, and typing that does not touch it.
func TestClipboardTool(t *testing.T) {
	c := newComputer(t)
	s := c.agent().start("Clipboard")
	if got := s.on("clipboard", map[string]any{"action": "get"}); got.fields["text"] != "" {
		t.Errorf("%v", got.fields)
	}
	s.on("clipboard", map[string]any{"action": "set", "text": "ÆØÅ 日本"})
	s.terminal()
	s.run(c, "echo typed text äöü > typed")
	if got := s.on("clipboard", map[string]any{"action": "get"}); got.fields["text"] != "ÆØÅ 日本" {
		t.Errorf("after typing: %v", got.fields)
	}
	if out := s.stdout("timeout 5 xclip -o -selection clipboard"); out != "ÆØÅ 日本" {
		t.Errorf("a program gets %q", out)
	}
	s.shell("echo -n from a program | xclip -i -selection clipboard")
	if got := s.on("clipboard", map[string]any{"action": "get"}); got.fields["text"] != "from a program" {
		t.Errorf("%v", got.fields)
	}
	s.fails("bad_request", "clipboard", map[string]any{"action": "set"})
}

// Issue 6 item 7: session A's shell with session B's DISPLAY fails, also with the path of
// B's authority, from a job, after a look into B's processes, and with sudo as far as the
// engine has it: the local one has none.
func TestSessionsAreIsolated(t *testing.T) {
	c := newComputer(t)
	a := c.agent()
	one, two := a.start("One"), a.start("Two")
	one.observe()
	two.observe()
	var own, others struct{ display, authority string }
	for _, screen := range c.info().Screens {
		of := &own
		if screen.Session == two.id {
			of = &others
		}
		of.display, of.authority = screen.Display, screen.Xauthority
	}
	if own.display == "" || others.display == "" || own == others {
		t.Fatalf("screens %v, %v", own, others)
	}
	// A program of the other session to look into.
	job := two.call("shell", map[string]any{"session": two.id, "command": "exec sleep 4711", "background": true}).fields["job"].(string)
	const find = "pgrep -xf 'sleep 4711'"
	two.eventually("the other's program runs", func() bool { return two.stdout(find) != "" })
	if got := two.shell("grep -z XAUTHORITY /proc/$(" + find + ")/environ"); got.fields["exit_code"] != 0.0 {
		t.Errorf("a session cannot see its own programs: %s", got.text)
	}
	if got := one.shell("xdotool getdisplaygeometry"); got.fields["exit_code"] != 0.0 {
		t.Errorf("on its own screen: %s", got.text)
	}
	attacks := []string{
		"DISPLAY=" + others.display + " xdotool getdisplaygeometry",
		"DISPLAY=" + others.display + " xdotool key a",
		"DISPLAY=" + others.display + " XAUTHORITY= xdotool getdisplaygeometry",
		"env -u XAUTHORITY DISPLAY=" + others.display + " xdotool getdisplaygeometry",
		// Neither its cookie nor its folder can be found by looking around.
		"ls $(dirname $(dirname $XAUTHORITY))",
		"cat /proc/$(pgrep -o Xvfb)/environ",
	}
	if os.Getuid() == 0 { // else the programs are of the daemon's own user, which the README says
		with := "DISPLAY=" + others.display + " XAUTHORITY=" + others.authority + " xdotool getdisplaygeometry"
		attacks = append(attacks,
			with, "setsid --wait env "+with, "sudo -n env "+with, "newgrp - screen2 -c 'cat "+others.authority+"'", "cat "+others.authority,
			"grep -z XAUTHORITY /proc/$("+find+")/environ", "readlink /proc/$("+find+")/fd/1", "head -c 1 /proc/$("+find+")/maps",
			"grep -ozl "+others.authority+" /proc/[0-9]*/environ",
		)
	}
	for _, command := range attacks {
		if got := one.shell(command); got.fields["exit_code"] == 0.0 {
			t.Errorf("%s: %s", command, got.text)
		}
		if got := one.inBackground(command); got == 0 {
			t.Errorf("as a job: %s", command)
		}
	}
	if out := one.stdout("ps axww -o args"); strings.Contains(out, "Xauthority") {
		t.Errorf("a command line names an authority:\n%s", out)
	}
	two.call("job_stop", map[string]any{"session": two.id, "job": job})
}

// inBackground runs a command as a job and returns its exit code.
func (s *session) inBackground(command string) float64 {
	s.t.Helper()
	job := s.call("shell", map[string]any{"session": s.id, "command": command, "background": true}).fields["job"].(string)
	var got answer
	s.eventually("the end of "+command, func() bool {
		got = s.call("job_output", map[string]any{"session": s.id, "job": job, "wait_ms": 5000})
		return got.fields["running"] == false
	})
	return got.fields["exit_code"].(float64)
}
