// Package freeports finds ports for the tests' servers that want several in a row.
package freeports

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// Ports from end up are the kernel's to give away at random (ip_local_port_range of ip(7)),
// in containers too: Docker's name server takes one of each.
const begin, end = 21000, 32768

// next is the first port that no test of this process was given. Test processes run side
// by side, so each begins elsewhere.
var next = struct {
	sync.Mutex
	port int
}{port: begin + os.Getpid()%64*((end-begin)/64)}

// Row returns the first of n ports in a row that were free on 127.0.0.1 just now. Other
// callers in this process get others, as long as there are any.
func Row(t testing.TB, n int) int {
	t.Helper()
	next.Lock()
	defer next.Unlock()
	for range (end - begin) / n {
		if next.port+n > end {
			next.port = begin
		}
		first := next.port
		next.port += n
		if free(first, n) {
			return first
		}
	}
	t.Fatalf("no %d free ports in a row", n)
	return 0
}

func free(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
