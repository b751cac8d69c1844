package api

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Protocol returns this build's protocol version as it stands in HeaderProtocol.
func Protocol() string { return fmt.Sprintf("%d.%d", ProtocolMajor, ProtocolMinor) }

// CheckProtocol returns an Error of CodeVersionMismatch unless peer is a version
// "major.minor" that this build can talk to.
func CheckProtocol(peer string) error {
	major, minor, ok := strings.Cut(peer, ".")
	n, err := strconv.Atoi(major)
	if _, minorErr := strconv.ParseUint(minor, 10, 16); ok && err == nil && minorErr == nil && n == ProtocolMajor {
		return nil
	}
	return Errorf(CodeVersionMismatch, "The protocol version %q does not fit this side's %s.", peer, Protocol()).
		WithFix("Use a server and a computer of the same version: stop the computer, then call start_computer.")
}

// NewID returns a random id for a session or an owner: 32 lower-case hex digits.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

// NewUUID returns a random UUID (RFC 9562 version 4), for a computer or a home.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ValidID reports whether id has the form of a session's or an owner's id.
func ValidID(id string) bool {
	if len(id) != 32 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// CleanTitle returns a session's title without the space around it. It refuses,
// with an Error of CodeBadRequest, one that is then empty or longer than MaxTitle
// characters, or that holds a control character or broken UTF-8.
func CleanTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	if n := utf8.RuneCountInString(title); n < 1 || n > MaxTitle {
		return "", Errorf(CodeBadRequest, "The title has %d characters; it must have 1 to %d.", n, MaxTitle).
			WithFix("Give a short title that says what the session is for.")
	}
	for _, r := range title {
		if unicode.IsControl(r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029' {
			return "", Errorf(CodeBadRequest, "The title holds the character %U, which cannot be shown in one line.", r).
				WithFix("Use letters, digits, spaces and punctuation.")
		}
	}
	return title, nil
}

// ParseScreenSize reads a size such as "1280x800", each side from MinScreenSide to
// MaxScreenSide pixels. Its error is a plain sentence part for the caller to wrap.
func ParseScreenSize(s string) (width, height int, err error) {
	w, h, ok := strings.Cut(s, "x")
	width, errW := strconv.Atoi(w)
	height, errH := strconv.Atoi(h)
	if !ok || errW != nil || errH != nil {
		return 0, 0, fmt.Errorf("screen size %q is not of the form <width>x<height>, such as 1280x800", s)
	}
	for _, side := range []int{width, height} {
		if side < MinScreenSide || side > MaxScreenSide {
			return 0, 0, fmt.Errorf("screen size %q has a side outside %d to %d", s, MinScreenSide, MaxScreenSide)
		}
	}
	return width, height, nil
}
