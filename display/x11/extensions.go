package x11

import (
	"fmt"
	"io"
	"log"
	"net"
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

// extensionNames are the extensions that a Conn uses; every X server of ours has them.
var extensionNames = [...]string{"XFIXES", "XTEST", "RANDR", xkbName}

// An X server gives each extension a major opcode and the numbers of its first
// event and error. xgb keeps the opcode per connection, but how to read events
// and errors by number in maps of the whole process, which its Init functions
// write while the readers of other connections read them. So the maps are
// filled once, before this process has any connection with a reader, and every
// later connection only sets its opcodes. That needs servers which number alike;
// each connection checks it.
var registry struct {
	sync.Mutex
	numbers map[string]extension // guarded by Mutex; nil before the first registration
}

type extension struct{ firstEvent, firstError byte }

// registerExtensions teaches xgb the extensions' events and errors, once in the
// life of the process. It asks over a connection of its own, which has ended when
// it writes the maps.
func registerExtensions(open func() (*xgb.Conn, net.Conn, error)) error {
	registry.Lock()
	defer registry.Unlock()
	if registry.numbers != nil {
		return nil
	}
	xgb.Logger = log.New(io.Discard, "", 0)
	x, nc, err := open()
	if err != nil {
		return err
	}
	replies, err := queryExtensions(x)
	nc.Close()
	for {
		if ev, xerr := x.WaitForEvent(); ev == nil && xerr == nil {
			break // its reader has ended
		}
	}
	if err != nil {
		return err
	}
	registry.numbers = make(map[string]extension)
	for i, name := range extensionNames {
		e := extension{replies[i].FirstEvent, replies[i].FirstError}
		registry.numbers[name] = e
		for n, f := range xgb.NewExtEventFuncs[name] {
			xgb.NewEventFuncs[int(e.firstEvent)+n] = f
		}
		for n, f := range xgb.NewExtErrorFuncs[name] {
			xgb.NewErrorFuncs[int(e.firstError)+n] = f
		}
	}
	return nil
}

// useExtensions makes the extensions usable on a new connection.
func useExtensions(x *xgb.Conn) error {
	replies, err := queryExtensions(x)
	if err != nil {
		return err
	}
	registry.Lock()
	numbers := registry.numbers
	registry.Unlock()
	x.ExtLock.Lock()
	for i, name := range extensionNames {
		r := replies[i]
		if numbers[name] != (extension{r.FirstEvent, r.FirstError}) {
			x.ExtLock.Unlock()
			return fmt.Errorf("the X server numbers the extension %s in another way than the first server of this process", name)
		}
		x.Extensions[name] = r.MajorOpcode
	}
	x.ExtLock.Unlock()

	// Servers enable these two only for a client that named a version.
	if _, err := xfixes.QueryVersion(x, 5, 0).Reply(); err != nil {
		return failed("agree on an XFIXES version", err)
	}
	if _, err := randr.QueryVersion(x, 1, 5).Reply(); err != nil {
		return failed("agree on a RANDR version", err)
	}
	return nil
}

func queryExtensions(x *xgb.Conn) (replies [len(extensionNames)]*xproto.QueryExtensionReply, err error) {
	for i, name := range extensionNames {
		replies[i], err = xproto.QueryExtension(x, uint16(len(name)), name).Reply()
		if err != nil {
			return replies, failed("ask for the extension "+name, err)
		}
		if !replies[i].Present {
			return replies, fmt.Errorf("the X server has no extension %s", name)
		}
	}
	return replies, nil
}
