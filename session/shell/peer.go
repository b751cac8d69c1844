package shell

import (
	"bufio"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// HasPeer reports whether the other end of a connection over IPv4, whose address is
// host:port, is held by a process of the scope.
func (s *Scope) HasPeer(address string) bool {
	tcp, err := os.Open("/proc/net/tcp")
	if err != nil {
		return false
	}
	defer tcp.Close()
	inode := inodeOf(bufio.NewScanner(tcp), address)
	return inode != "" && slices.ContainsFunc(s.processes(0, unseen), func(pid int) bool {
		return holds(pid, "socket:["+inode+"]", s.user)
	})
}

// HasPeer is that of the session's scope.
func (s *Shell) HasPeer(address string) bool { return s.scope.HasPeer(address) }

// inodeOf finds the socket with a local address in the text of /proc/net/tcp
// (proc_pid_net(5)), which writes addresses as hexadecimal words of this machine's order.
func inodeOf(lines *bufio.Scanner, address string) string {
	want, err := netip.ParseAddrPort(address)
	if err != nil || !want.Addr().Unmap().Is4() {
		return ""
	}
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 {
			continue
		}
		host, port, _ := strings.Cut(fields[1], ":")
		ip, err := hex.DecodeString(host)
		if err != nil || len(ip) != 4 {
			continue // the line of headings
		}
		slices.Reverse(ip) // all machines that this runs on are little-endian
		addr, _ := netip.AddrFromSlice(ip)
		n, _ := strconv.ParseUint(port, 16, 16)
		if netip.AddrPortFrom(addr, uint16(n)) == netip.AddrPortFrom(want.Addr().Unmap(), want.Port()) {
			return fields[9]
		}
	}
	return ""
}

// holds reports whether a process has a descriptor of a file. user is as in marked.
func holds(pid int, file string, user *supervise.Credential) (found bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	look := func() error {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			target, hidden := os.Readlink(filepath.Join(dir, e.Name()))
			found = found || target == file
			if errors.Is(hidden, fs.ErrPermission) { // root may list them, and not look at them
				err = hidden
			}
		}
		return err
	}
	if err := look(); errors.Is(err, fs.ErrPermission) {
		asOwner(pid, user, func() { _ = look() })
	}
	return found
}
