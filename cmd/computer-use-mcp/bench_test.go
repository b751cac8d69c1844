package main

import (
	"strings"
	"testing"
	"time"
)

func TestBenchTable(t *testing.T) {
	ms := func(values ...int) (d []time.Duration) {
		for _, v := range values {
			d = append(d, time.Duration(v)*time.Millisecond)
		}
		return d
	}
	var out strings.Builder
	(&benchmark{rows: []measurement{
		{what: "a picture", ours: ms(9, 3, 2), bytes: 12_001, peer: "scrot", their: ms(60, 45, 30)},
		{what: "a command", ours: ms(4)},
	}}).write(&out)
	for _, want := range []string{"| a picture | 3.0 | 13 | scrot | 45.0 | 15.0 |\n", "| a command | 4.0 |  |  |  |  |\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
