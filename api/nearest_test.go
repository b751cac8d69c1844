package api

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"SCREEN_SIZE", "shell", "IMAGE", "clipboard"}
	for _, c := range []struct {
		name string
		n    int
		want []string
	}{
		{"screensize", 1, []string{"SCREEN_SIZE"}},
		{"shel", 1, []string{"shell"}},
		{"images", 2, []string{"IMAGE", "shell"}},
		{"", 9, []string{"shell", "IMAGE", "clipboard", "SCREEN_SIZE"}},
	} {
		if got := Nearest(c.name, names, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"stpo", "stop", 2}, {"logs", "log", 1}, {"kitten", "sitting", 3}, {"abc", "", 3}, {"", "é", 2}, {"flaw", "lawn", 2}} {
		if got := Edits(c.a, c.b); got != c.want {
			t.Errorf("%q to %q is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
