package api

import "testing"

// S0-185
func TestLoopbackHost(t *testing.T) {
	for _, c := range []struct {
		header, port string
		ok           bool
	}{
		{"127.0.0.1:7070", "7070", true},
		{"127.8.9.1:7070", "7070", true},
		{"localhost:7070", "7070", true},
		{"[::1]:7070", "7070", true},
		{"127.0.0.1", "80", true},
		{"[::1]", "80", true},
		{"localhost", "80", true},
		{"", "80", false},
		{":7070", "7070", false},
		{"evil.example:7070", "7070", false},
		{"localhost.:7070", "7070", false},
		{"a.localhost:7070", "7070", false},
		{"127.0.0.1.nip.io:7070", "7070", false},
		{"127.1:7070", "7070", false},
		{"2130706433:7070", "7070", false},
		{"0.0.0.0:7070", "7070", false},
		{"192.168.1.5:7070", "7070", false},
		{"[::ffff:127.0.0.1]:7070", "7070", false},
		{"[::1%;script-src]:7070", "7070", false},
	} {
		if port, ok := LoopbackHost(c.header); port != c.port || ok != c.ok {
			t.Errorf("%q: port %s, %v", c.header, port, ok)
		}
	}
}

func TestSameSecret(t *testing.T) {
	for _, c := range []struct {
		given, own string
		same       bool
	}{
		{"secret", "secret", true},
		{"secre", "secret", false},
		{"secrets", "secret", false},
		{"Secret", "secret", false},
		{"", "secret", false},
		{"secret", "", false},
		{"", "", false},
	} {
		if SameSecret(c.given, c.own) != c.same {
			t.Errorf("%q and %q: want %v", c.given, c.own, c.same)
		}
	}
}
