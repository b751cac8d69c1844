// Package clip cuts text that is too long for an answer: it keeps the head and the
// tail and says how much is missing between them. A cut never splits a UTF-8
// character, and bytes that are no UTF-8 become U+FFFD.
package clip

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Keep is how many bytes are kept at each end.
const Keep = 15000

// Writer takes text of any length and keeps its ends, in at most 4*Keep bytes of
// memory. The zero value is ready. It is for one goroutine at a time.
type Writer struct {
	head  []byte // the first Keep bytes
	tail  []byte // what follows; at least the last Keep bytes of it
	total int64
}

// Write takes more text. It does not fail.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	w.total += int64(n)
	room := min(Keep-len(w.head), n)
	w.head = append(w.head, p[:room]...)
	p = p[room:]
	p = p[max(0, len(p)-Keep):]
	if len(w.tail)+len(p) > 2*Keep {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-Keep:]...)
	}
	w.tail = append(w.tail, p...)
	return n, nil
}

// Text returns the text, cut if need be, and how many bytes were left out.
func (w *Writer) Text() (text string, dropped int64) {
	if w.total <= 2*Keep {
		return valid(slices.Concat(w.head, w.tail)), 0
	}
	head := w.head[:len(w.head)-partialEnd(w.head)]
	tail := w.tail[len(w.tail)-Keep:]
	tail = tail[partialStart(tail):]
	dropped = w.total - int64(len(head)) - int64(len(tail))
	return valid(head) + Marker(dropped) + valid(tail), dropped
}

// Text cuts a text that is there as a whole.
func Text(s string) (text string, dropped int64) {
	var w Writer
	w.Write([]byte(s))
	return w.Text()
}

// Marker stands where bytes were left out.
func Marker(dropped int64) string {
	return fmt.Sprintf("\n[... %d bytes left out ...]\n", dropped)
}

// WholeCharacters returns b without a character at its end of which the rest is
// missing.
func WholeCharacters(b []byte) []byte { return b[:len(b)-partialEnd(b)] }

// partialEnd returns how many bytes at the end of b begin a character that goes on
// behind it.
func partialEnd(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		last := b[len(b)-n:]
		if utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// partialStart returns how many bytes at the start of b end a character that began
// before it.
func partialStart(b []byte) int {
	n := 0
	for n < utf8.UTFMax-1 && n < len(b) && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
