package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// S0-237: commit messages decide the next version.
func TestNext(t *testing.T) {
	fix, feature, breaking := commit{what: "fix a leak"}, commit{what: "show a page"}, commit{what: "fix it", breaking: true}
	for _, test := range []struct {
		last    string
		commits []commit
		want    string
	}{
		{"", []commit{feature}, "v0.1.0"},
		{"", nil, "v0.1.0"},
		{"v0.1.0", nil, "v0.1.0"},
		{"v0.1.0", []commit{fix, fix}, "v0.1.1"},
		{"v0.1.3", []commit{fix, feature}, "v0.2.0"},
		{"v0.1.3", []commit{fix, breaking}, "v0.2.0"},
		{"v1.4.2", []commit{breaking, feature}, "v2.0.0"},
		{"v1.4.2", []commit{fix}, "v1.4.3"},
		{"v1.4.2-rc.1", []commit{fix}, "v1.4.3"},
	} {
		if got := next(test.last, test.commits); got != test.want {
			t.Errorf("after %q with %v comes %s, want %s", test.last, test.commits, got, test.want)
		}
	}
}

// S0-237: the changelog is made of the messages of a repository's commits.
func TestChangelog(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a",
			"GIT_AUTHOR_DATE=2026-01-31T12:00:00Z", "GIT_COMMITTER_DATE=2026-01-31T12:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	commit := func(message string) { t.Helper(); git("commit", "-q", "--allow-empty", "-m", message) }
	git("init", "-q")
	commit("Initial commit")
	commit("viewer: show every screen")
	git("tag", "v0.1.0")
	commit("e2e: test something")
	commit("shell, e2e: fix the end of jobs")
	commit("api: rename a field\n\nIt said nothing.\n\nBREAKING: x is now y.")

	var b strings.Builder
	if err := run(nil, &b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"\n## Unreleased\n\n### api\n\n- **Breaking**: rename a field (", "\n### shell, e2e\n\n- fix the end of jobs (",
		"\n## v0.1.0 (2026-01-31)\n\n### viewer\n\n- show every screen (",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, not := range []string{"Initial", "test something"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in\n%s", not, got)
		}
	}
	b.Reset()
	if err := run([]string{"next"}, &b); err != nil || b.String() != "v0.2.0\n" {
		t.Errorf("next: %q, %v", b.String(), err)
	}
	b.Reset()
	if err := run([]string{"v0.1.0"}, &b); err != nil || !strings.Contains(b.String(), "show every screen") || strings.Contains(b.String(), "rename") {
		t.Errorf("v0.1.0: %q, %v", b.String(), err)
	}
	if err := run([]string{"v9"}, &b); err == nil {
		t.Error("a release that is not there is printed")
	}
}
