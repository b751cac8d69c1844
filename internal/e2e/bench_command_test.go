package e2e

import (
	"strings"
	"testing"
)

// S3-61 and issue 10, item 7: bench measures the product, and the peers that are here, on this
// machine; and has go measure what is made in the source.
func TestBench(t *testing.T) {
	c := newComputer(t)
	out, err := c.command("bench", "agent", "--rounds", "1").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	settling, err := c.command("bench", "settling", "--rounds", "1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, settling)
	}
	tables := string(out) + string(settling)
	for _, row := range []string{
		"| a new session to its first picture | ", "| a picture of the screen | ", "| ffmpeg | ", "| xdotool | ",
		"| an unchanged screen, without a picture | ", "| a command in the shell | ",
		"| benchmark | ms-late-p50 | ms-late-p99 |", "\n| VerdictLateness | ", "\n| WaitOnStillScreen | ",
	} {
		if !strings.Contains(tables, row) {
			t.Errorf("no %q in\n%s", row, tables)
		}
	}
	for line := range strings.Lines(tables) {
		if strings.HasPrefix(line, "| a") && strings.Contains(line, " 0.0 |") {
			t.Errorf("something took no time: %s", line)
		}
		if strings.HasSuffix(line, " \n") {
			t.Errorf("a line ends in a space: %q", line)
		}
	}
	if sessions := c.info().Screens; len(sessions) > 0 {
		t.Errorf("its session goes on: %v", sessions)
	}
}
