package x11

import (
	"strings"
	"testing"
)

// What a broken server says of its reply's length is not believed.
func TestReplyTooLong(t *testing.T) {
	begin := make([]byte, 32)
	if _, err := readRest(strings.NewReader(""), begin, maxReply+1); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a reply above the limit: %v", err)
	}
	if all, err := readRest(strings.NewReader("more"), begin, 4); err != nil || string(all[32:]) != "more" {
		t.Errorf("a reply of 36 bytes: %q, %v", all, err)
	}
}
