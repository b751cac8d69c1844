package daemon

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

// vnc serves the screens to VNC programs and returns the address of the watched one.
func (w watched) vnc(may NativeViewers) string {
	w.t.Helper()
	var serve func(context.Context) error
	base := 0
	for attempt := 0; serve == nil; attempt++ {
		// A port that was free a moment ago, and hopefully those after it.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		base = l.Addr().(*net.TCPAddr).Port
		l.Close()
		if serve, err = w.serveVNC("127.0.0.1", base, me.ViewerKey, new(rfb.Guard), may); err != nil && attempt == 20 {
			w.t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- serve(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			w.t.Error(err)
		}
	})
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(base+w.desktop.Screen.Number()))
}

// program connects a VNC program.
func (w watched) program(addr, password string) (*rfbtest.Client, error) {
	w.t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	c := rfbtest.New(conn)
	return c, c.Handshake(rfbtest.Options{Password: password})
}

// wantHolder waits until somebody has control.
func (w watched) wantHolder(who control.Party, name string) {
	w.t.Helper()
	var version uint64
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	for {
		s := w.desktop.Control.State()
		if s.Holder == who && s.Name == name {
			return
		}
		var err error
		if version, err = w.Wait(ctx, version); err != nil {
			w.t.Fatalf("%v %q has control, want %v %q", s.Holder, s.Name, who, name)
		}
	}
}

// S0-166, S0-171, S0-175, S0-184: the key is a VNC program's password, and what the page's
// lock means holds for it, too.
func TestAVNCProgramAndAPageCompete(t *testing.T) {
	w := watch(t)
	addr := w.vnc("")
	if _, err := w.program(addr, "wrong"); !errors.As(err, new(*rfbtest.Refused)) {
		t.Errorf("with a wrong password: %v", err)
	}
	c, err := w.program(addr, me.ViewerKey)
	if err != nil {
		t.Fatal(err)
	}
	p := w.person()

	// Moving the pointer takes nothing, pressing a button does, and counts.
	c.Pointer(300, 300, 0)
	c.Pointer(70, 80, 1)
	c.Pointer(70, 80, 0)
	w.wantHolder(control.Human, "VNC viewer")
	w.wantPointer(70, 80)
	if _, _, err := w.session.Act(t.Context(), batch(0), nil); err == nil {
		t.Error("the agent acts against a person at a VNC program")
	}

	// The page takes it by asking, and is not disturbed by presses right after it acted.
	if err := p.TakeControl(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.wantTold(t, "mine")
	p.movesTo(w, 10, 20)
	c.Key('a', true)
	c.Pointer(90, 90, 1)
	p.movesTo(w, 30, 40)
	w.wantHolder(control.Human, "A page")
	p.HandBack()
	p.wantTold(t, "")

	// With nobody in control the next press takes it again; leaving gives it back.
	c.Pointer(90, 90, 0)
	c.Pointer(90, 90, 1)
	w.wantHolder(control.Human, "VNC viewer")
	w.wantPointer(90, 90)
	c.Close()
	w.wantHolder(control.Nobody, "")
	p.leave()
	for w.desktop.Watchers() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// Checklist 42 and 43: the keyboard's lights are told and the bell rings. A lock key, which
// programs press when they get the focus, takes control from nobody.
func TestAVNCProgramHasLightsAndABell(t *testing.T) {
	w := watch(t)
	c, err := w.program(w.vnc(NativeControl), me.ViewerKey)
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(10*time.Second, func() { c.Close() }).Stop()
	c.SetEncodings(rfbtest.QEMULEDs, rfbtest.Raw)
	wantLights := func(want rfb.LEDs) {
		t.Helper()
		for c.LEDs != int(want) {
			c.RequestAll(true)
			if _, err := c.Next(); err != nil {
				t.Fatalf("lights %d, want %d: %v", c.LEDs, want, err)
			}
		}
	}
	const capsLock, numLock = 0xffe5, 0xff7f
	wantLights(0)
	c.Key(numLock, true)
	c.Key(numLock, false)
	c.RequestAll(false)
	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}
	w.wantHolder(control.Nobody, "")
	c.Pointer(5, 5, 1)
	c.Pointer(5, 5, 0)
	c.Key(capsLock, true)
	c.Key(capsLock, false)
	wantLights(rfb.CapsLock)
	w.wantHolder(control.Human, "VNC viewer")

	if out, err := w.session.Shell(t.Context(), api.ShellRequest{Command: `xterm -e sh -c 'printf "\a"; sleep 0.2'`}); err != nil {
		t.Fatal(out, err)
	}
	for c.Bells == 0 {
		if _, err := c.Next(); err != nil {
			t.Fatal("no bell: ", err)
		}
	}
}

// Connections that end before anybody looked at them, as those of one address that are too
// many, leave nobody behind who would keep the screen open.
func TestVNCProgramsThatLeaveAtOnce(t *testing.T) {
	w := watch(t)
	addr := w.vnc(NativeControl)
	const many = 100
	for range many {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	c, err := w.program(addr, me.ViewerKey)
	if err != nil {
		t.Fatal(err)
	}
	// All but the last of them were ended. Each may still be about to be welcomed, so that
	// the number has to stay small.
	for small, end := 0, time.Now().Add(10*time.Second); small < 100; time.Sleep(time.Millisecond) {
		small++
		if n := w.desktop.Watchers(); n > 17 {
			small = 0
			if time.Now().After(end) {
				t.Fatalf("%d of %d are taken for watchers", n, many)
			}
		}
	}
	c.Close()
}

// S0-171: a VNC program and the screen exchange what is copied, while its person has control.
func TestAVNCProgramExchangesTheClipboard(t *testing.T) {
	w := watch(t)
	c, err := w.program(w.vnc(NativeControl), me.ViewerKey)
	if err != nil {
		t.Fatal(err)
	}
	clipboard, err := w.desktop.Screen.Clipboard()
	if err != nil {
		t.Fatal(err)
	}
	wantHeld := func(want string) {
		t.Helper()
		var got string
		for end := time.Now().Add(10 * time.Second); got != want; {
			if time.Now().After(end) {
				t.Fatalf("the screen's clipboard holds %q, want %q", got, want)
			}
			got, _ = clipboard.Get(t.Context())
		}
	}
	c.CutText([]byte("while it only watches"))
	c.Pointer(5, 5, 1)
	c.Pointer(5, 5, 0)
	w.wantHolder(control.Human, "VNC viewer")
	if got, _ := clipboard.Get(t.Context()); got != "" {
		t.Errorf("a program that only watched copied %q", got)
	}
	c.CutText([]byte("copied here"))
	wantHeld("copied here")
	if err := clipboard.Set("copied there"); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(10*time.Second, func() { c.Close() }).Stop()
	for {
		message, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := message.(rfbtest.CutText); ok && string(text.Text) == "copied there" {
			return
		}
	}
}

// S1-44: a connection that only watches.
func TestAVNCProgramThatMayOnlyWatch(t *testing.T) {
	w := watch(t)
	c, err := w.program(w.vnc(NativeWatch), me.ViewerKey)
	if err != nil {
		t.Fatal(err)
	}
	c.Pointer(300, 300, 1)
	c.Key('a', true)
	c.RequestAll(false)
	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}
	w.wantHolder(control.Nobody, "")
}

// S0-180: each screen has its port.
func TestAVNCProgramAtAScreenThatIsNotOpen(t *testing.T) {
	w := watch(t)
	host, port, _ := net.SplitHostPort(w.vnc(""))
	n, _ := strconv.Atoi(port)
	_, err := w.program(net.JoinHostPort(host, strconv.Itoa(n+1)), me.ViewerKey)
	if refused, ok := errors.AsType[*rfbtest.Refused](err); !ok || refused.Reason != "screen 2 is not open" {
		t.Errorf("refused with %v", err)
	}
}
