package rfb

import (
	"bytes"
	"io"
	"strconv"
)

// version is the protocol that a connection speaks. RFC 6143 knows three.
type version int

const (
	version33 version = 3
	version37 version = 7
	version38 version = 8
)

const (
	versionLine   = "RFB 003.008\n" // what the server offers
	versionPrefix = "RFB "
)

// agreeVersion exchanges version lines (RFC 6143 section 7.1.1). Versions that were
// never published count as 3.3 below 3.7 and as 3.8 above it.
func agreeVersion(r io.Reader, w io.Writer) (version, error) {
	if _, err := io.WriteString(w, versionLine); err != nil {
		return 0, err
	}
	var line [len(versionLine)]byte
	// Look at the first bytes alone: whoever speaks another protocol may send
	// fewer than twelve and then wait.
	if _, err := io.ReadFull(r, line[:len(versionPrefix)]); err != nil {
		return 0, err
	}
	if string(line[:len(versionPrefix)]) != versionPrefix {
		return 0, protocolErrorf("the peer does not speak RFB: it began with %q", line[:len(versionPrefix)])
	}
	if _, err := io.ReadFull(r, line[len(versionPrefix):]); err != nil {
		return 0, err
	}
	major, minor, ok := parseVersion(line[:])
	switch {
	case !ok:
		return 0, protocolErrorf("version line %q", line[:])
	case major != 3:
		err := protocolErrorf("version %d.%d is not served, only 3.3 to 3.8", major, minor)
		_ = sendReason(w, version38, err.Error())
		return 0, err
	case minor >= 8:
		return version38, nil
	case minor == 7:
		return version37, nil
	}
	return version33, nil
}

// parseVersion reads "RFB xxx.yyy\n".
func parseVersion(line []byte) (major, minor int, ok bool) {
	digits, found := bytes.CutSuffix(line[len(versionPrefix):], []byte("\n"))
	if !found || digits[3] != '.' {
		return 0, 0, false
	}
	a, errA := strconv.ParseUint(string(digits[:3]), 10, 16)
	b, errB := strconv.ParseUint(string(digits[4:]), 10, 16)
	return int(a), int(b), errA == nil && errB == nil
}
