package shell

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Issue 9, item 1: DevTools are for the programs of their own session. A connection is told
// from those of other sessions by the process that holds it.
func TestHasPeer(t *testing.T) {
	shells := New(Config{Cgroups: true})
	defer shells.Close()
	own, other := shells.Shell("own"), shells.Shell("other")
	defer own.End()
	defer other.End()
	seen := make(chan [2]bool, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- [2]bool{own.HasPeer(r.RemoteAddr), other.HasPeer(r.RemoteAddr)}
	})}
	go server.Serve(l)
	defer server.Close()
	line := "exec 3<>/dev/tcp/127.0.0.1/" + portOf(l) + `; printf 'GET / HTTP/1.0\r\n\r\n' >&3; cat <&3 >/dev/null`
	if _, err := own.Run(context.Background(), Command{Line: line, Dir: "/"}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != [2]bool{true, false} {
		t.Errorf("own, other session: %v, want true, false", got)
	}
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func TestInodeOf(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2406 0100007F:D0B2 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20 4 30 10 -1
   1: 0100007F:D0B2 0100007F:2406 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 20 4 30 10 -1
`
	for address, want := range map[string]string{
		"127.0.0.1:53426": "4712", "127.0.0.1:9222": "4711", "127.0.0.2:9222": "",
		"[::1]:9222": "", "localhost:9222": "", "": "",
	} {
		if got := inodeOf(bufio.NewScanner(strings.NewReader(table)), address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
