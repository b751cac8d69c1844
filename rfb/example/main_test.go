package main

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The picture moves, and is a gradient.
func TestGradient(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, addr) }()
	var conn net.Conn
	for conn == nil && len(ended) == 0 {
		conn, _ = net.Dial("tcp", addr)
	}
	if conn == nil {
		t.Fatal(<-ended)
	}
	client := rfbtest.New(conn)
	if err := client.Handshake(rfbtest.Options{Password: password}); err != nil {
		t.Fatal(err)
	}
	if err := client.SetEncodings(rfbtest.ZRLE); err != nil {
		t.Fatal(err)
	}
	var first uint32
	for i := range 3 {
		if err := client.RequestAll(i > 0); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Next(); err != nil {
			t.Fatal(err)
		}
		now := client.RGB(100, 100)
		if i > 0 && now == first {
			t.Error("it does not move")
		}
		first = now
	}
	if client.Name != "moving gradient" || client.RGB(101, 100) == client.RGB(100, 100) {
		t.Errorf("%q shows no gradient", client.Name)
	}
	client.Close()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
