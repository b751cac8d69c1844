package arch

import (
	"os"
	"regexp"
	"testing"
)

// Whoever raises the toolchain does so everywhere, the checksums in fetch-go included.
func TestOneToolchain(t *testing.T) {
	pins := map[string]string{
		"go.mod":           `(?m)^toolchain (go\S+)$`,
		"Makefile":         `(?m)^export GOTOOLCHAIN := (go\S+)$`,
		"scripts/fetch-go": `(?m)^version=(go\S+)$`,
	}
	first := ""
	for path, pattern := range pins {
		data, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		pin := regexp.MustCompile(pattern).FindSubmatch(data)
		if pin == nil {
			t.Fatalf("%s does not pin a toolchain", path)
		}
		if first == "" {
			first = string(pin[1])
		}
		if string(pin[1]) != first {
			t.Errorf("%s pins %s, another file %s", path, pin[1], first)
		}
	}
}
