package supervise

import (
	"os/exec"
	"testing"
)

func TestShellQuote(t *testing.T) {
	for _, text := range []string{"", "plain", "two words", "it's", "''", `\'`, "$HOME `id` \"x\"", "a\nb", "-n", "ü"} {
		got, err := exec.Command("sh", "-c", "printf %s "+ShellQuote(text)).Output()
		if err != nil || string(got) != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}
