package engine

import (
	"fmt"
	"net"
	"strconv"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Check is one line of a diagnosis: something that a computer needs, and how it is.
type Check struct {
	Name   string `json:"name"` // "image"
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`        // what was found, for a person
	Fix    string `json:"fix,omitempty"` // what the person should do; empty when OK
}

// Passed returns a check that found what it should.
func Passed(name, format string, args ...any) Check {
	return Check{Name: name, OK: true, Detail: fmt.Sprintf(format, args...)}
}

// Failed returns a check that found err, with the fix that it carries.
func Failed(name string, err error) Check {
	e := api.AsError(err)
	return Check{Name: name, Detail: e.Message, Fix: e.Fix}
}

// CheckPorts returns an [api.Error] that names the first of a computer's ports on
// 127.0.0.1 that somebody else has. base is the first of them.
func CheckPorts(base int) error {
	for port := base; port <= base+api.MaxScreens; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return api.Errorf(api.CodePortTaken, "Port %d of this machine cannot be used: %v.", port, err).
				WithFix("Set COMPUTER_USE_PORT_BASE to the first of 17 free ports; it is %d now.", base)
		}
		l.Close()
	}
	return nil
}
