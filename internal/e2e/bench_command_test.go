package e2e

import (
	"strings"
	"testing"
)

// S3-61 and issue 10, item 7: bench measures the product, and the peers that are here, on this
// machine.
func TestBench(t *testing.T) {
	c := newComputer(t)
	out, err := c.command("bench", "--rounds", "1").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	table := string(out)
	for _, row := range []string{
		"| a new session to its first picture | ", "| a picture of the screen | ", "| ffmpeg | ", "| xdotool | ",
		"| an unchanged screen, without a picture | ", "| a command in the shell | ",
	} {
		if !strings.Contains(table, row) {
			t.Errorf("no %q in\n%s", row, table)
		}
	}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| a") && strings.Contains(line, " 0.0 |") {
			t.Errorf("something took no time: %s", line)
		}
	}
	if sessions := c.info().Screens; len(sessions) > 0 {
		t.Errorf("its session goes on: %v", sessions)
	}
}
