package x11

import (
	"runtime"
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

// Nor is what one says of its cursor's size, before so much memory is taken.
func TestParseCursor(t *testing.T) {
	reply := make([]byte, 32, 64)
	order.PutUint16(reply[12:], 2) // width
	order.PutUint16(reply[14:], 1) // height
	order.PutUint16(reply[28:], 5) // length of the name
	reply = append(reply, "\x03\x02\x01\xff\x00\x00\x00\x00arrow\x00\x00\x00"...)
	if c, err := parseCursor(reply); err != nil || c.Name != "arrow" || c.Width != 2 || c.Height != 1 || c.Pix[0] != 0xff010203 {
		t.Errorf("%+v, %v", c, err)
	}
	order.PutUint16(reply[12:], 0xffff)
	order.PutUint16(reply[14:], 0xffff)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := parseCursor(reply); err == nil {
		t.Error("a cursor of 65535x65535 in 48 bytes was taken")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("it took %d bytes", took)
	}
}
