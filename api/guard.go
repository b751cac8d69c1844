package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/netip"
	"strings"
)

// LoopbackHost returns the port that a request's Host header names, 80 when it names none,
// and reports whether its host is this machine's loopback by localhost or an address. A web
// page whose own name was made to point here comes with that name and is told apart by it.
func LoopbackHost(header string) (port string, ok bool) {
	host, port, err := net.SplitHostPort(header)
	if err != nil {
		host, port = strings.Trim(header, "[]"), "80"
	}
	ip, err := netip.ParseAddr(host)
	return port, host == "localhost" || err == nil && ip.IsLoopback() && !ip.Is4In6() && ip.Zone() == ""
}

// SameSecret reports whether the secret that a caller has given is our own. An empty one
// never is. The time that it takes tells nothing about either.
func SameSecret(given, own string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(own)) // of one length, whatever theirs is
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && own != ""
}
