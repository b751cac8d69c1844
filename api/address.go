package api

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxAddress is how many bytes an address may have.
const MaxAddress = 32 << 10

// withoutSlashes are the schemes that a browser knows without "//" behind them. With any
// other a colon may as well be a part of a file's name.
var withoutSlashes = []string{"about", "blob", "chrome", "data", "file", "filesystem", "http", "https", "javascript", "mailto", "tel", "vbscript", "view-source"}

// IsAddress reports whether text is an address of any kind, and not the path of a file.
// [CheckAddress] says whether it is one that is opened.
func IsAddress(text string) bool {
	scheme, rest, ok := cutScheme(text)
	if !ok {
		return false
	}
	return strings.HasPrefix(rest, "//") || slices.Contains(withoutSlashes, scheme)
}

// CheckAddress returns an address as a browser takes it: what may not stand in one, such
// as spaces, is percent-encoded. It is the one check for everything that opens addresses.
//
// http and https are opened, and file for a file of the computer. Nothing else is: a
// javascript address acts with the logins of the page that is open, a data address is a
// page of unknown origin, and the browser's own pages change its settings. The error is
// of CodeBadRequest or CodeTooLarge.
func CheckAddress(address string) (string, error) {
	address = strings.TrimSpace(address)
	refuse := func(why string) error {
		return badRequest("The address %.200q is not opened: %s.", address, why).
			WithFix("Give an address that begins with http:// or https://, or the path of a file.")
	}
	if len(address) > MaxAddress {
		return "", Errorf(CodeTooLarge, "The address has %d bytes; at most %d are accepted.", len(address), MaxAddress).
			WithFix("Give a shorter one.")
	}
	if !utf8.ValidString(address) || strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", refuse("it holds control characters or broken UTF-8")
	}
	scheme, rest, ok := cutScheme(address)
	if !ok {
		return "", refuse("it has no scheme")
	}
	switch scheme {
	case "http", "https":
	case "file":
		if _, err := filePath(address); err != nil {
			return "", refuse("it does not name a file of this computer")
		}
		return scheme + ":" + encode(rest), nil
	default:
		return "", refuse("only http, https and file addresses are, not " + scheme)
	}
	// The rest is left to the browser, which is kinder to addresses than net/url.
	host, _ := cutHost(rest)
	if len(host) <= len("//") || strings.ContainsAny(host, ` "<>^{|}`+"`") {
		return "", refuse("it names no host")
	}
	return scheme + ":" + encode(rest), nil
}

// cutHost splits what stands behind a scheme into the host, with the slashes before it,
// and what follows. Browsers take a backslash for a slash.
func cutHost(rest string) (host, path string) {
	if !strings.HasPrefix(rest, "//") {
		return "", rest
	}
	if i := strings.IndexAny(rest[2:], `/?#\`); i >= 0 {
		return rest[:2+i], rest[2+i:]
	}
	return rest, ""
}

// FileOf returns the path that a file address names; ok is false for another address.
func FileOf(address string) (path string, ok bool) {
	if scheme, _, _ := cutScheme(address); scheme != "file" {
		return "", false
	}
	path, err := filePath(address)
	return path, err == nil
}

// FileAddress returns the address of a file with an absolute path.
func FileAddress(path string) string {
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func filePath(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if (u.Host != "" && u.Host != "localhost") || !strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path, "\x00") {
		return "", badRequest("%.100q is not a file of this computer", address)
	}
	return u.Path, nil
}

// cutScheme splits an address behind its scheme (RFC 3986, section 3.1), which is
// returned in lower case.
func cutScheme(text string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(strings.TrimSpace(text), ":")
	scheme = strings.ToLower(scheme)
	for i, r := range scheme {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return "", "", false
		}
	}
	return scheme, rest, ok && scheme != ""
}

// encode percent-encodes the bytes that may stand nowhere in an address (RFC 3986) and
// leaves all others, escapes and stray percent signs too, as they are. A host with other
// letters than ASCII's is for the browser to translate.
func encode(rest string) string {
	const hex = "0123456789ABCDEF"
	host, path := cutHost(rest)
	var b strings.Builder
	b.WriteString(host)
	for _, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>^`{|}", c) >= 0 {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
