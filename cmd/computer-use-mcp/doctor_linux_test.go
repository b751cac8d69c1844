package main

import (
	"net"
	"strings"
	"testing"
)

// A port that somebody else has is named, by the local engine, which is there on Linux only.
func TestDoctorPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	d, shown := doctorSays(t, "COMPUTER_USE_ENGINE=local", "COMPUTER_USE_PORT_BASE="+port)
	if !strings.Contains(d.failures(), "ports") || !strings.Contains(shown, "Port "+port) {
		t.Errorf("%s", shown)
	}
}
