package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestOriginOf(t *testing.T) {
	for key, want := range map[string]string{
		"https://example.com/": "https://example.com", "http://127.0.0.1:8080/": "http://127.0.0.1:8080",
		// In a frame of another site, or of no name.
		"https://example.com/^0https://top.test": "", "data:": "", "file:///": "", "": "",
	} {
		name, partitioned := originOf(key)
		if partitioned {
			name = ""
		}
		if name != want {
			t.Errorf("%q: %q, want %q", key, name, want)
		}
	}
}

func TestOptOut(t *testing.T) {
	cfg := quietConfig(t)
	s := openStorage(cfg)
	if s.optedOut()("https://bank.test") {
		t.Error("without a list")
	}
	write(t, cfg.Home+"/"+optOutFile, " bank.test \n.example.com\n")
	out := s.optedOut()
	for origin, want := range map[string]bool{
		"https://bank.test": true, "http://bank.test:8080": true, "https://www.bank.test": false, "https://notbank.test": false,
		"https://example.com": true, "https://a.b.example.com": true, "https://badexample.com": false,
	} {
		if got := out(origin); got != want {
			t.Errorf("%s: %v, want %v", origin, got, want)
		}
	}
	write(t, cfg.Home+"/"+optOutFile, "*")
	if !s.optedOut()("https://any.test") {
		t.Error("* is not everything")
	}
}

func TestStorageIsBoundedAndKept(t *testing.T) {
	cfg := quietConfig(t)
	s := openStorage(cfg)
	start := time.Unix(1_800_000_000, 0)
	for n := range maxOrigins + 1 {
		s.set(fmt.Sprintf("https://%d.test", n), map[string]string{"k": "v"}, start.Add(time.Duration(n)*time.Second))
	}
	s.set("https://large.test", map[string]string{"k": strings.Repeat("v", maxOriginSize)}, start)
	s.set("https://5.test", nil, start) // signed out
	s.keep()
	again := openStorage(cfg).origins
	if len(again) != maxOrigins-1 {
		t.Errorf("%d origins", len(again))
	}
	for name, want := range map[string]bool{"0": false, "1": true, "5": false, "large": false} {
		if _, ok := again["https://"+name+".test"]; ok != want {
			t.Errorf("%s: %v, want %v", name, ok, want)
		}
	}
}
