package api

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestCheckProtocol(t *testing.T) {
	for _, v := range []string{"1.0", "1.7"} {
		if err := CheckProtocol(v); err != nil {
			t.Errorf("%q: %v", v, err)
		}
	}
	for _, v := range []string{"", "1", "2.0", "0.9", "1.x", "1.-1", "x.1", "1.0.0"} {
		if err := CheckProtocol(v); err == nil || AsError(err).Code != CodeVersionMismatch {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// S0-62: a session is named by 32 hex digits.
func TestIDs(t *testing.T) {
	a, b := NewID(), NewID()
	if a == b || !ValidID(a) || !ValidID(b) {
		t.Errorf("ids %q and %q", a, b)
	}
	for _, s := range []string{"", a[1:], a + "0", strings.ToUpper("a" + a[1:]), "g" + a[1:], "../" + a[3:]} {
		if ValidID(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}

// S0-61.
func TestNewUUID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for range 100 {
		if id, other := NewUUID(), NewUUID(); !form.MatchString(id) || id == other {
			t.Errorf("%s, then %s", id, other)
		}
	}
}

func TestCleanTitle(t *testing.T) {
	if got, err := CleanTitle("  Fill in the form \n"); err != nil || got != "Fill in the form" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := CleanTitle(strings.Repeat("字", MaxTitle)); err != nil {
		t.Error(err)
	}
	for _, s := range []string{"", "  ", strings.Repeat("a", MaxTitle+1), "a\nb", "a\x1b[31m", "a\u2028b", "a\x7f", "a\u0085b", "a\xffb"} {
		if got, err := CleanTitle(s); err == nil {
			t.Errorf("%q is accepted as %q", s, got)
		}
	}
}

// S0-47.
func TestParseScreenSize(t *testing.T) {
	if w, h, err := ParseScreenSize("320x7680"); w != 320 || h != 7680 || err != nil {
		t.Errorf("%d, %d, %v", w, h, err)
	}
	for _, s := range []string{"", "1280", "1280x", "x800", "319x800", "1280x7681", "1280x800x3", " 1280x800", "-1x800"} {
		if _, _, err := ParseScreenSize(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestAsError(t *testing.T) {
	e := Errorf(CodeBusy, "no").WithFix("wait").WithRetry()
	if got := AsError(fmt.Errorf("act: %w", e)); got != e || got.Error() != "no wait" || !got.Retryable {
		t.Errorf("%+v", got)
	}
	if got := AsError(errors.New("boom")); got.Code != CodeInternal || !strings.Contains(got.Message, "boom") {
		t.Errorf("%+v", got)
	}
}
