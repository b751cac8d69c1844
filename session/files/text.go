package files

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Names of encodings.
const (
	utf8Name    = "utf-8"
	utf16LEName = "utf-16le"
	utf16BEName = "utf-16be"
	latin1Name  = "latin-1"
)

// sniffed is how many bytes of a file decide what it is.
const sniffed = 8 << 10

// decode returns a file's text as valid UTF-8 and the encoding it was in. It reports
// false for what is no text.
func decode(data []byte) (text, encoding string, ok bool) {
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		data = rest // a byte order mark is no text
	} else if order, name := utf16Order(data); order != nil {
		return decodeUTF16(data, order), name, true
	}
	head := data[:min(len(data), sniffed)]
	switch {
	case bytes.IndexByte(head, 0) >= 0:
		return "", "", false
	case mostlyUTF8(data):
		return strings.ToValidUTF8(string(data), "\uFFFD"), utf8Name, true
	case bytes.ContainsFunc(head, isBinary):
		return "", "", false
	}
	return decodeLatin1(data), latin1Name, true
}

// isBinary reports whether a character is a control character that no text holds.
func isBinary(r rune) bool {
	return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\x1b", r) || r == 0x7f
}

// mostlyUTF8 reports whether data is UTF-8, or was before a few bytes of it broke:
// there are more characters of several bytes than bytes that are none. In text of
// another encoding, characters of several bytes come up by accident only.
func mostlyUTF8(data []byte) bool {
	if utf8.Valid(data) {
		return true
	}
	good, bad := 0, 0
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		data = data[n:]
	}
	return good > bad
}

// utf16Order recognises UTF-16: by its byte order mark, or by text in which every
// second byte is 0 as it is in most languages of Europe.
func utf16Order(data []byte) (binary.ByteOrder, string) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")) && !bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")):
		return binary.LittleEndian, utf16LEName
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return binary.BigEndian, utf16BEName
	}
	head := data[:min(len(data), sniffed)&^1]
	if len(head) < 4 || len(data)%2 != 0 {
		return nil, ""
	}
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	// A character whose bytes are both 0 is no text.
	units := len(head) / 2
	switch {
	case zeros[0] == 0 && zeros[1] > units*3/4:
		return binary.LittleEndian, utf16LEName
	case zeros[1] == 0 && zeros[0] > units*3/4:
		return binary.BigEndian, utf16BEName
	}
	return nil, ""
}

func decodeUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), "\uFEFF")
}

func decodeLatin1(data []byte) string {
	runes := make([]rune, len(data))
	for i, c := range data {
		runes[i] = rune(c)
	}
	return string(runes)
}
