package main

import (
	"strings"
	"testing"
)

func TestColours(t *testing.T) {
	if got := colours(true).bad("!"); got != "\x1b[1;31m!\x1b[m" {
		t.Errorf("%q", got)
	}
	if got := colours(false).good("ok"); got != "ok" {
		t.Errorf("%q", got)
	}
}

// A line of progress is replaced by the next one and gone at the end; what comes later
// is not shown.
func TestProgressLine(t *testing.T) {
	var out strings.Builder
	p := &progressLine{out: &out}
	p.show("too early")
	p.begin()
	p.show("Pulling the image: 10 of 90 MB.")
	p.show("")
	p.show("Starting.")
	p.end()
	p.show("too late")
	if want := eraseLine + "Pulling the image: 10 of 90 MB." + eraseLine + "Starting." + eraseLine; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	silent := (&app{stderr: &out}).progressLine()
	silent.begin()
	silent.show("into a pipe")
	silent.end()
	if strings.Contains(out.String(), "pipe") {
		t.Error("progress in what is no terminal")
	}
}
