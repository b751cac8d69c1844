//go:build !linux

package rfb

import (
	"net"
	"time"
)

// setUserTimeout needs Linux. Elsewhere keep-alive probes and the write timeout
// find out about a viewer that vanished, only later.
func setUserTimeout(net.Conn, time.Duration) {}
