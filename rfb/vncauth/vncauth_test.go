package vncauth_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/rfb/vncauth"
)

// Checklist 9: passwords of all lengths, against DES of OpenSSL.
func TestAnswer(t *testing.T) {
	challenge := [vncauth.ChallengeSize]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for password, want := range map[string]string{
		"":                       "491e890de9ace932838a49792f2213f3",
		"a":                      "449407fb6f71bd517aca76866568a4e2",
		"password":               "b866924125c8eebb9debc1db61c538e2",
		"passwordX":              "b866924125c8eebb9debc1db61c538e2",
		strings.Repeat("q", 100): "4d4a60bb9dd3e793dad8b850a5951ba8",
		"p\u00e4ssw\u00f6rd":     "7d13fc5643ca0c048e71796fe629ecf3",
	} {
		if got := vncauth.Answer(password, challenge); hex.EncodeToString(got[:]) != want {
			t.Errorf("password %q: %x, want %s", password, got, want)
		}
	}
}

// Against what TigerVNC's vncpasswd writes.
func TestFile(t *testing.T) {
	for password, want := range map[string]string{
		"abcdefg":   "4b912e49b6223050",
		"abcdefgh":  "db8ab02565e3b4c2",
		"abcdefghi": "db8ab02565e3b4c2",
	} {
		if got := hex.EncodeToString(vncauth.File(password)); got != want {
			t.Errorf("password %q: %s, want %s", password, got, want)
		}
	}
}
