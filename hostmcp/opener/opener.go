// Package opener shows a session's screen to the person at this machine: in the web
// browser, or in a VNC program. It is a convenience: whatever goes wrong is logged, and
// the link that start_computer returns works all the same.
//
// No secret stays on a command line, which other users of the machine may read. The
// browser is started with an address that works once and leads to the link; VNC programs
// get a password file. Screen Sharing on macOS takes the key in its link only, which is on
// the command line of `open` for the moment that it runs.
package opener

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/rfb/vncauth"
)

// passwordTime is how long a VNC program has to read its password file.
const passwordTime = 15 * time.Second

// Screen is what is shown.
type Screen struct {
	Link string // of the viewer page, with the key and the screen's number
	Key  string // the password of VNC programs
	Port int    // of the screen's VNC server on 127.0.0.1
}

// Opener starts programs that show screens. Its methods may be called from any
// goroutine.
type Opener struct {
	system system
	start  func(command) error
	log    *slog.Logger

	ctx     context.Context // ends with Close
	end     context.CancelFunc
	pending sync.WaitGroup // what Close has to clear away
}

// New returns an Opener for this machine. Close it at the end.
func New(log *slog.Logger) *Opener {
	return newOpener(thisSystem(), func(c command) error { return startDetached(c, log) }, log)
}

func newOpener(system system, start func(command) error, log *slog.Logger) *Opener {
	o := &Opener{system: system, start: start, log: log}
	o.ctx, o.end = context.WithCancel(context.Background())
	return o
}

// Close takes back the addresses and password files that have not been used.
func (o *Opener) Close() {
	o.end()
	o.pending.Wait()
}

// Way returns how screens are shown here in a mode. viewer is the path of the VNC
// program, empty to look for one.
func (o *Opener) Way(mode Mode, viewer string) Way {
	way, why := o.system.way(mode, viewer)
	if why != "" {
		o.log.Warn("viewer", "mode", mode, "note", why)
	}
	return way
}

// Open shows a screen. It waits neither for the program nor for the person.
func (o *Opener) Open(w Way, s Screen) {
	if w.Mode == None {
		return
	}
	if err := o.open(w, s); err != nil {
		o.log.Warn("the viewer was not opened", "mode", w.Mode, "error", err)
	}
}

func (o *Opener) open(w Way, s Screen) error {
	if w.Mode == Browser {
		address, err := o.once(s.Link)
		if err != nil {
			return err
		}
		return o.start(w.browse(address))
	}
	if w.Program == "" {
		return o.start(w.share(s))
	}
	file, err := o.passwordFile(s.Key)
	if err != nil {
		return err
	}
	return o.start(w.view(s.Port, file))
}

// passwordFile writes the key as VNC programs read it, into a file of this user alone
// that goes away again.
func (o *Opener) passwordFile(key string) (path string, err error) {
	f, err := os.CreateTemp("", "computer-use-*.vnc") // mode 0600
	if err != nil {
		return "", fmt.Errorf("write a password file: %v", err)
	}
	_, err = f.Write(vncauth.File(key))
	if failed := f.Close(); err == nil {
		err = failed
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("write a password file: %v", err)
	}
	o.pending.Go(func() {
		select {
		case <-time.After(passwordTime):
		case <-o.ctx.Done():
		}
		os.Remove(f.Name())
	})
	return f.Name(), nil
}

// startDetached starts a program that outlives this process and has none of its
// streams: stdout belongs to the protocol. A failure that shows only later is logged.
func startDetached(c command, log *slog.Logger) error {
	cmd := exec.Command(c.Program, c.Args...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		if err := cmd.Wait(); err != nil {
			log.Warn("the viewer's program failed", "program", c.Program, "error", err)
		}
	}()
	return nil
}
