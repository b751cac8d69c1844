// Changelog makes the changelog and the next version of the commit messages, which say
// "package: verb in lower case".
//
//	go run ./internal/changelog          the whole file: unreleased changes, then every release
//	go run ./internal/changelog v1.2.3   the section of one release
//	go run ./internal/changelog next     the version that the unreleased changes ask for
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// inner are the packages whose changes only developers see.
var inner = []string{
	"arch", "bench", "browsertest", "ci", "conformance", "e2e", "freeports", "fuzz", "golden", "leaktest", "lint", "make",
	"release", "test", "tests", "testscreen", "treetest", "xvfbtest",
}

// commit is one that a reader may care about.
type commit struct {
	hash, area, what string
	breaking         bool
}

// release is a version, newest first in a list, and what came with it.
type release struct {
	title   string // "v1.2.3 (2026-01-31)", or "Unreleased"
	commits []commit
}

func (r release) version() string {
	version, _, _ := strings.Cut(r.title, " ")
	return version
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "changelog:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	releases, err := history()
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		fmt.Fprint(w, "# Changelog\n\nMade of the commit messages: `make changelog`.\n")
		for _, r := range releases {
			writeRelease(w, r)
		}
	case args[0] == "next":
		last := ""
		if len(releases) > 1 {
			last = releases[1].version()
		}
		fmt.Fprintln(w, next(last, releases[0].commits))
	default:
		i := slices.IndexFunc(releases, func(r release) bool { return r.version() == args[0] })
		if i < 0 {
			return fmt.Errorf("there is no release %s", args[0])
		}
		writeRelease(w, releases[i])
	}
	return nil
}

// history reads the repository's releases from git, the unreleased changes first.
func history() ([]release, error) {
	tags, err := git("tag", "--list", "v[0-9]*", "--sort=-version:refname", "--merged", "HEAD")
	if err != nil {
		return nil, err
	}
	var releases []release
	newer, title := "HEAD", "Unreleased"
	for _, tag := range append(strings.Fields(tags), "") {
		span := newer
		if tag != "" {
			span = tag + ".." + newer
		}
		log, err := git("log", "--no-merges", "--format=%h%x00%s%x00%b%x01", span)
		if err != nil {
			return nil, err
		}
		releases = append(releases, release{title, parse(log)})
		if tag != "" {
			date, err := git("log", "-1", "--format=%cs", tag)
			if err != nil {
				return nil, err
			}
			newer, title = tag, fmt.Sprintf("%s (%s)", tag, strings.TrimSpace(date))
		}
	}
	return releases, nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

// subject is the form of a commit message's first line.
var subject = regexp.MustCompile(`^([a-z0-9][a-z0-9, _/-]*): (.+)$`)

// parse reads commits separated by \x01: hash, subject and body, separated by \x00.
func parse(log string) (commits []commit) {
	for record := range strings.SplitSeq(log, "\x01") {
		fields := strings.Split(strings.TrimSpace(record), "\x00")
		if len(fields) < 3 {
			continue
		}
		m := subject.FindStringSubmatch(fields[1])
		if m == nil || !concerns(m[1]) {
			continue
		}
		commits = append(commits, commit{
			hash: fields[0], area: m[1], what: m[2],
			breaking: strings.HasPrefix(fields[2], "BREAKING:") || strings.Contains(fields[2], "\nBREAKING:"),
		})
	}
	return commits
}

// concerns reports whether any of the packages is one whose changes users see.
func concerns(area string) bool {
	return slices.ContainsFunc(strings.Split(area, ","), func(pkg string) bool { return !slices.Contains(inner, strings.TrimSpace(pkg)) })
}

func writeRelease(w io.Writer, r release) {
	fmt.Fprintf(w, "\n## %s\n", r.title)
	byArea := map[string][]commit{}
	for _, c := range r.commits {
		byArea[c.area] = append(byArea[c.area], c)
	}
	for _, area := range slices.Sorted(maps.Keys(byArea)) {
		fmt.Fprintf(w, "\n### %s\n\n", area)
		for _, c := range byArea[area] {
			mark := ""
			if c.breaking {
				mark = "**Breaking**: "
			}
			fmt.Fprintf(w, "- %s%s (%s)\n", mark, c.what, c.hash)
		}
	}
}

// next returns the version after last that the commits ask for: its third number rises when all
// are fixes, else the second, and with a breaking one the first, for which the second
// stands in before 1.0.
func next(last string, commits []commit) string {
	var n [3]int
	numbers, _, _ := strings.Cut(strings.TrimPrefix(last, "v"), "-")
	for i, part := range strings.SplitN(numbers, ".", 3) {
		n[i], _ = strconv.Atoi(part) // a tag is of this form; none is 0.0.0
	}
	isFix := func(c commit) bool { return strings.HasPrefix(c.what, "fix ") }
	switch {
	case last != "" && len(commits) == 0:
		return last
	case n[0] > 0 && slices.ContainsFunc(commits, func(c commit) bool { return c.breaking }):
		n = [3]int{n[0] + 1, 0, 0}
	case last == "" || slices.ContainsFunc(commits, func(c commit) bool { return c.breaking || !isFix(c) }):
		n = [3]int{n[0], n[1] + 1, 0}
	default:
		n[2]++
	}
	return fmt.Sprintf("v%d.%d.%d", n[0], n[1], n[2])
}
