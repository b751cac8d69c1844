package rfb

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// clipboard is the clipboard between a screen and one viewer: Latin-1 text pushed by
// either side (RFC 6143 sections 7.5.6 and 7.6.4), or the community's extension, in
// which text is UTF-8 and may be announced before it is fetched.
type clipboard struct {
	text  string // what the viewer was offered or has offered last
	peer  uint32 // the actions and formats that the viewer understands
	limit uint32 // longest text, in bytes, that it wants without asking
}

// Flags of the extended clipboard. Text is the one format that is exchanged.
const (
	clipText    = 1 << 0
	clipCaps    = 1 << 24
	clipRequest = 1 << 25
	clipPeek    = 1 << 26
	clipNotify  = 1 << 27
	clipProvide = 1 << 28

	clipFormats = 0xffff
	clipActions = clipCaps | clipRequest | clipPeek | clipNotify | clipProvide
)

// What a viewer understands that has not said so.
const (
	clipDefaultPeer  = clipText | clipRequest | clipNotify | clipProvide
	clipDefaultLimit = 20 << 20
)

// appendClipboardCaps tells a viewer what the server understands. The size of 0
// asks it to announce text and not to send it before it is asked for.
func appendClipboardCaps(dst []byte) []byte {
	body := binary.BigEndian.AppendUint32(nil, clipText|clipActions)
	return appendClipboard(dst, binary.BigEndian.AppendUint32(body, 0))
}

// appendClipboard appends an extended message: its length is negative.
func appendClipboard(dst, body []byte) []byte {
	dst = append(dst, msgServerCutText, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(-int32(len(body))))
	return append(dst, body...)
}

func appendClipboardFlags(dst []byte, flags uint32) []byte {
	return appendClipboard(dst, binary.BigEndian.AppendUint32(nil, flags))
}

// provide returns a text in the extended form: lines end in CRLF, a NUL ends
// it, and the zlib stream is flushed but not finished, which old peers take for an
// error.
func provide(text string) []byte {
	text = strings.ReplaceAll(text, "\n", "\r\n")
	body := bytes.NewBuffer(binary.BigEndian.AppendUint32(nil, clipText|clipProvide))
	z := zlib.NewWriter(body)
	z.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text)+1))) // a Buffer does not fail
	_, _ = io.WriteString(z, text+"\x00")
	z.Flush()
	return appendClipboard(nil, body.Bytes())
}

// parseProvide returns the text of an extended message without its flags. The
// length that it states is checked before anything is allocated.
func parseProvide(flags uint32, body []byte) (string, error) {
	if flags&clipFormats&clipText == 0 {
		return "", fmt.Errorf("no text among the formats %#x", flags&clipFormats)
	}
	z, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	// Text is the first format, so whatever follows it need not be looked at. Nor
	// does the end of the stream: some finish it, some do not.
	var length [4]byte
	if _, err := io.ReadFull(z, length[:]); err != nil {
		return "", err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxClipboard {
		return "", fmt.Errorf("a text of %d bytes is too long", n)
	}
	text, err := io.ReadAll(io.LimitReader(z, int64(n)))
	if len(text) < int(n) {
		return "", fmt.Errorf("%d of %d bytes: %v", len(text), n, err)
	}
	s, _, _ := strings.Cut(string(text), "\x00")
	return toLF(strings.ToValidUTF8(s, string(utf8.RuneError))), nil
}

// toLF makes every line end in LF.
func toLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// fromLatin1 decodes the classic form of a text.
func fromLatin1(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return toLF(s.String())
}

// appendLatin1 encodes a text in the classic form; what Latin-1 lacks becomes '?'.
func appendLatin1(dst []byte, text string) []byte {
	for _, r := range text {
		if r > 0xff {
			r = '?'
		}
		dst = append(dst, byte(r))
	}
	return dst
}

// offer tells a controller that text was copied on the screen, unless that text
// came from this very viewer.
func (c *Conn) offer(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Role() != Controller || text == c.clip.text {
		return
	}
	c.clip.text = text
	switch {
	case !c.want.caps.extendedClipboard:
		latin1 := appendLatin1(nil, text)
		msg := []byte{msgServerCutText, 0, 0, 0}
		msg = binary.BigEndian.AppendUint32(msg, uint32(len(latin1)))
		c.want.clipboard = append(msg, latin1...)
	case c.clip.peer&clipProvide != 0 && len(text)+strings.Count(text, "\n")+1 <= int(c.clip.limit):
		c.want.clipboard = provide(text)
	case c.clip.peer&clipNotify != 0:
		c.want.clipboard = appendClipboardFlags(nil, clipNotify|clipText)
	}
	c.wake()
}

// gotText takes over text that the viewer copied.
func (c *Conn) gotText(text string) {
	if c.Role() != Controller || c.cfg.SetClipboard == nil {
		return
	}
	c.mu.Lock()
	c.clip.text = text
	c.mu.Unlock()
	c.cfg.SetClipboard(text)
}

// gotClipboard acts on an extended message. Malformed ones are dropped: what a
// clipboard holds is no reason to lose the screen.
func (c *Conn) gotClipboard(body []byte) {
	if len(body) < 4 {
		c.log.Debug("clipboard message too short", "bytes", len(body))
		return
	}
	flags, body := binary.BigEndian.Uint32(body), body[4:]
	if flags&clipCaps != 0 {
		c.note(func() { c.clip.caps(flags, body) })
		return
	}
	if c.Role() != Controller {
		return
	}
	switch flags & clipActions {
	case clipRequest:
		c.note(func() { c.want.clipboard = provide(c.clip.text) })
	case clipPeek:
		c.note(func() {
			available := uint32(0)
			if c.clip.text != "" {
				available = clipText
			}
			c.want.clipboard = appendClipboardFlags(nil, clipNotify|available)
		})
	case clipNotify:
		if flags&clipText != 0 {
			c.note(func() { c.want.outbox = appendClipboardFlags(c.want.outbox, clipRequest|clipText) })
		}
	case clipProvide:
		text, err := parseProvide(flags, body)
		if err != nil {
			c.log.Debug("clipboard text not understood", "error", err)
			return
		}
		c.gotText(text)
	default:
		c.log.Debug("clipboard message with several actions or none", "flags", flags)
	}
}

// caps notes what the viewer understands: its flags and, for each format that they
// name, the size that it wants without asking.
func (b *clipboard) caps(flags uint32, sizes []byte) {
	b.peer, b.limit = flags, 0
	if flags&clipText != 0 && len(sizes) >= 4 {
		b.limit = binary.BigEndian.Uint32(sizes)
	}
}
