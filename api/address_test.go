package api

import (
	"net/url"
	"strings"
	"testing"
)

// Issue 9, Done when 3: what is an address, and what becomes of it.
func TestCheckAddress(t *testing.T) {
	for text, want := range map[string]string{
		"http://example.com":                     "http://example.com",
		" HTTPS://Example.com/A?b=c#d ":          "https://Example.com/A?b=c#d",
		"http://[::1]:8080/":                     "http://[::1]:8080/",
		"https://user@example.com/":              "https://user@example.com/",
		"http://127.0.0.1/a b/ü.html?q=日 本#«":    "http://127.0.0.1/a%20b/%C3%BC.html?q=%E6%97%A5%20%E6%9C%AC#%C2%AB",
		"http://bücher.example/a%20b%zz?100%":    "http://bücher.example/a%20b%zz?100%",
		"file:///home/computer/a b.html#top":     "file:///home/computer/a%20b.html#top",
		"file://localhost/x":                     "file://localhost/x",
		"http://example.com?x={\"a\":\"<`|^>\"}": "http://example.com?x=%7B%22a%22:%22%3C%60%7C%5E%3E%22%7D",
	} {
		if got, err := CheckAddress(text); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
		if !IsAddress(text) {
			t.Errorf("%q is taken for a file", text)
		}
	}
	for _, text := range []string{
		"javascript:alert(1)", "JavaScript://x/%0aalert(1)", " javascript:1", "data:text/html,x", "about:blank", "chrome://settings", "view-source:http://a/",
		"mailto:a@b", "ftp://host/x", "http:", "http:example.com", "http:///path", "http://", "http://a b/", "https://?x", "file://server/share", "file:relative",
		"file:///%00", "file:///%zz", "blob:http://a/1", "http://a/" + strings.Repeat("x", MaxAddress),
	} {
		if got, err := CheckAddress(text); err == nil || AsError(err).Fix == "" {
			t.Errorf("%.50q is opened as %.50q", text, got)
		}
		if !IsAddress(text) {
			t.Errorf("%.50q is taken for a file", text)
		}
	}
	for _, text := range []string{"", "http", "://x", "java\nscript:alert(1)", "http://a\n.b/", "http://a/\x7f", "http://a/\xff", "1http://a"} {
		if got, err := CheckAddress(text); err == nil {
			t.Errorf("%q is opened as %q", text, got)
		}
	}
	for _, text := range []string{"a.txt", "./a", "~/a b.pdf", "/etc/hosts", "notes: today.txt", "C:\\x", "localhost:8080/x", "www.example.com"} {
		if IsAddress(text) {
			t.Errorf("%q is taken for an address", text)
		}
	}
}

func TestFileAddress(t *testing.T) {
	for _, path := range []string{"/a", "/a b/ü?#%20.html", "/日本/\"'`.pdf"} {
		address := FileAddress(path)
		checked, err := CheckAddress(address)
		if got, ok := FileOf(address); err != nil || checked != address || !ok || got != path {
			t.Errorf("%q: %q, %q, %v, %q", path, address, checked, err, got)
		}
	}
	if _, ok := FileOf("http://example.com/a"); ok {
		t.Error("a web page is a file")
	}
}

// FuzzCheckAddress: what is opened has one of three schemes, holds nothing that ends or
// splits an argument or a line, and stays what it is when it is checked again.
func FuzzCheckAddress(f *testing.F) {
	for _, seed := range []string{"http://a/ b", "file:///x y", "javascript:x", "https://ü/%", "http:\\\\a", "http://a\\b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := CheckAddress(text)
		if err != nil {
			return
		}
		again, err := CheckAddress(got)
		if err != nil || again != got {
			t.Errorf("%q: %q, then %q, %v", text, got, again, err)
		}
		scheme, rest, _ := strings.Cut(got, ":")
		if scheme != "http" && scheme != "https" && scheme != "file" || strings.ContainsAny(rest, " \t\r\n\"<>") {
			t.Errorf("%q: %q", text, got)
		}
		if u, err := url.Parse(got); err == nil && u.Scheme != scheme {
			t.Errorf("%q: %q has the scheme %q", text, got, u.Scheme)
		}
	})
}
