package rfb_test

import (
	"fmt"
	"image"
	"net"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// controlled returns a client that controls a screen, and what its input became.
func controlled(t *testing.T, list ...int32) (*rfbtest.Client, *input, *canvas) {
	t.Helper()
	c, in := newCanvas(100, 80), newInput()
	client := connect(t, rfb.Config{Screen: c.screen, Input: in, Role: rfb.Controller}, list...)
	return client, in, c
}

func (i *input) want(t *testing.T, events ...any) {
	t.Helper()
	if got := i.got(t, len(events)); !reflect.DeepEqual(got, events) {
		t.Fatalf("got %v, want %v", got, events)
	}
}

// Checklist 13: a thousand messages at once.
func TestChecklist13ManyMessages(t *testing.T) {
	client, in, _ := controlled(t)
	var msgs []byte
	var want []any
	for i := range 500 {
		sym := 0x20 + i%90
		for down := range 2 {
			msgs = append(msgs, 4, byte(1-down), 0, 0, 0, 0, 0, byte(sym))
			want = append(want, keyed{uint32(sym), down == 0})
		}
	}
	must(t, client.Send(msgs))
	in.want(t, want...)
}

// Checklist 19: keys that are none, keys pressed twice and keys never pressed.
func TestChecklist19Keys(t *testing.T) {
	client, in, _ := controlled(t)
	for _, sym := range []uint32{0, 0xffffffff, 0x0100d800, 0x0100dfff, 0x01110000} {
		must(t, client.Key(sym, true))
		must(t, client.Key(sym, false))
	}
	must(t, client.Key('b', false))
	must(t, client.Key('a', true))
	must(t, client.Key('a', true))
	must(t, client.Key('a', false))
	must(t, client.Key('a', false))
	must(t, client.Key(0x01000416, true)) // a Cyrillic letter
	in.want(t, keyed{'a', true}, keyed{'a', true}, keyed{'a', false}, keyed{0x01000416, true})
}

// Trap 24: a key is released as it was pressed, and a scancode stands in for a
// missing keysym.
func TestChecklist26QEMUKeys(t *testing.T) {
	client, in, _ := controlled(t, rfbtest.QEMUKeys)
	pixels(t, client, false)
	must(t, client.QEMUKey('A', 0x1e, true))
	must(t, client.QEMUKey('a', 0x1e, false)) // Shift went up first
	in.want(t, keyed{'A', true}, keyed{'A', false})
	must(t, client.QEMUKey('A', 0x1e, true))
	must(t, client.QEMUKey('a', 0x1e, true)) // repeats without Shift
	must(t, client.QEMUKey('a', 0x1e, false))
	in.want(t, keyed{'A', true}, keyed{'A', false}, keyed{'a', true}, keyed{'a', false})
	must(t, client.QEMUKey(0, 0x1e, true)) // the key of A
	must(t, client.QEMUKey(0, 0x1e, false))
	must(t, client.QEMUKey(0, 0x9d, true)) // right Control
	must(t, client.QEMUKey(0, 0x9d, false))
	in.want(t, coded{38, true}, coded{38, false}, coded{105, true}, coded{105, false})
	for _, code := range []uint32{0, 0x7f, 0xff, 0x100, 0xffffffff} {
		must(t, client.QEMUKey(0, code, true))
		must(t, client.QEMUKey(0, code, false))
	}
	must(t, client.QEMUKey('z', 0, true))
	in.want(t, keyed{'z', true})
}

// Checklist 20: the pointer stays on the screen, and buttons 8 and 9 need the
// acknowledgement.
func TestChecklist20Pointer(t *testing.T) {
	client, in, _ := controlled(t, rfbtest.ExtendedButtons)
	must(t, client.Pointer(5, 6, 0))
	must(t, client.Pointer(65535, 65535, 1))
	must(t, client.Pointer(7, 8, 5))
	must(t, client.Pointer(7, 8, 0))
	in.want(t, moved{5, 6}, moved{99, 79}, clicked{1, true}, moved{7, 8}, clicked{3, true},
		moved{7, 8}, clicked{1, false}, clicked{3, false})
	// Not told yet: the byte is a ninth one of nothing.
	must(t, client.Send([]byte{5, 0x80, 0, 1, 0, 2}))
	must(t, client.Send([]byte{5, 0x00, 0, 1, 0, 2}))
	in.want(t, moved{1, 2}, clicked{8, true}, moved{1, 2}, clicked{8, false})
	pixels(t, client, false)
	if client.ButtonsTold != 1 {
		t.Fatalf("told %d times", client.ButtonsTold)
	}
	must(t, client.Pointer(3, 4, 1<<7|1<<8))
	must(t, client.Pointer(3, 4, 1<<8))
	must(t, client.Send([]byte{5, 0, 0, 3, 0, 4}))
	in.want(t, moved{3, 4}, clicked{8, true}, clicked{9, true}, moved{3, 4}, clicked{8, false}, moved{3, 4}, clicked{9, false})
}

// Checklist 45: what is understood is told once.
func TestChecklist45ToldOnce(t *testing.T) {
	client, _, c := controlled(t, rfbtest.QEMUKeys, rfbtest.ExtendedButtons)
	pixels(t, client, false)
	for i := range 3 {
		must(t, client.SetEncodings(rfbtest.QEMUKeys, rfbtest.ExtendedButtons, rfbtest.Raw))
		c.paint(image.Rect(0, 0, 5, 5), noise(uint64(i)))
		pixels(t, client, true)
	}
	if client.KeysTold != 1 || client.ButtonsTold != 1 {
		t.Errorf("told %d and %d times", client.KeysTold, client.ButtonsTold)
	}
}

// Checklist 59: what a Viewer does reaches nobody.
func TestChecklist59ViewOnly(t *testing.T) {
	c, in := newCanvas(100, 80), newInput()
	asked := 0
	client := connect(t, rfb.Config{
		Screen: c.screen, Input: in, Role: rfb.Viewer,
		OnInput:      func(*rfb.Conn) bool { asked++; return false },
		SetClipboard: func(text string) { t.Errorf("clipboard %q", text) },
	}, rfbtest.NoVNC...)
	must(t, client.Key('a', true))
	must(t, client.Key('a', false))
	must(t, client.QEMUKey('a', 0x1e, true))
	must(t, client.QEMUKey('a', 0x1e, false))
	must(t, client.Pointer(5, 5, 0))
	must(t, client.Pointer(5, 5, 1))
	must(t, client.Pointer(5, 5, 0))
	must(t, client.CutText([]byte("text")))
	must(t, client.Clipboard(rfbtest.ClipNotify|rfbtest.ClipText, nil))
	must(t, client.Provide("text", true))
	must(t, client.SetDesktopSize(50, 50, rfbtest.Screen{W: 50, H: 50}))
	c.screen.SetClipboard("secret")
	c.sync(t, client)
	if events := in.all(); len(events) > 0 {
		t.Errorf("events: %v", events)
	}
	if asked != 3 {
		t.Errorf("the owner was asked %d times for 3 presses", asked)
	}
}

// A Viewer's first press asks the owner, and counts when it may.
func TestOnInput(t *testing.T) {
	for _, press := range []func(c *rfbtest.Client) error{
		func(c *rfbtest.Client) error { return c.Key('a', true) },
		func(c *rfbtest.Client) error { return c.Pointer(1, 2, 1) },
		func(c *rfbtest.Client) error { return c.Pointer(1, 2, 1<<3) }, // the wheel
	} {
		c, in := newCanvas(100, 80), newInput()
		asked := 0
		client, conn := connectConn(t, rfb.Config{Screen: c.screen, Input: in, OnInput: func(conn *rfb.Conn) bool {
			asked++
			return conn.Info().Role == rfb.Viewer
		}})
		must(t, client.Pointer(9, 9, 0))                                // moving is no claim
		must(t, client.Key('x', false))                                 // nor is a release
		for _, lock := range []uint32{0xff14, 0xff7f, 0xffe5, 0xffe6} { // nor a lock, which programs press by themselves
			must(t, client.Key(lock, true))
			must(t, client.Key(lock, false))
		}
		must(t, press(client))
		must(t, client.Key('b', true))
		events := in.got(t, 2)
		if asked != 1 || conn.Role() != rfb.Controller {
			t.Errorf("asked %d times, role %v, events %v", asked, conn.Role(), events)
		}
	}
}

// Checklist 48 and trap 25: whatever ends control releases what was held.
func TestChecklist48Release(t *testing.T) {
	for name, end := range map[string]func(near net.Conn, conn *running){
		"closed":         func(near net.Conn, conn *running) { near.Close() },
		"broken":         func(near net.Conn, conn *running) { near.Write([]byte{99}) },
		"role taken":     func(near net.Conn, conn *running) { conn.SetRole(rfb.Viewer) },
		"mid-message":    func(near net.Conn, conn *running) { near.Write([]byte{4, 1}); near.Close() },
		"context's end":  func(near net.Conn, conn *running) { conn.stop() },
		"silent in text": func(near net.Conn, conn *running) { near.Write([]byte{6, 0, 0, 0, 0, 0, 1, 0}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, in := newCanvas(100, 80), newInput()
				near, conn := serveConn(t, rfb.Config{Screen: c.screen, Input: in, Role: rfb.Controller, NoAuth: true})
				client := rfbtest.New(near)
				must(t, client.Handshake(rfbtest.Options{}))
				must(t, client.Key(0xffe3, true))
				must(t, client.Pointer(5, 5, 1))
				in.got(t, 3)
				end(near, conn)
				time.Sleep(time.Minute)
				synctest.Wait()
				if events := in.all(); len(events) == 0 || events[0] != any(released{}) {
					t.Errorf("events: %v", events)
				}
			})
		})
	}
}

// A role that is taken while a key is pressed leaves no key behind.
func TestRoleRace(t *testing.T) {
	c, in := newCanvas(100, 80), newInput()
	client, conn := connectConn(t, rfb.Config{Screen: c.screen, Input: in, Role: rfb.Controller})
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		for range 200 {
			client.Key('a', true)
		}
		client.Key('b', true)
	}()
	for range 100 {
		conn.SetRole(rfb.Viewer)
		conn.SetRole(rfb.Controller)
	}
	conn.SetRole(rfb.Viewer)
	<-typed
	pixels(t, client, false) // the keys have been dealt with
	held := map[any]bool{}
	for _, e := range in.all() {
		switch e := e.(type) {
		case keyed:
			held[e.keysym] = e.down
		case released:
			clear(held)
		}
	}
	if len(held) > 0 {
		t.Errorf("still held: %v", held)
	}
}

// An owner may take control away from within a call of its own Input, and what that
// call pressed is released.
func TestSetRoleWithinInput(t *testing.T) {
	c := newCanvas(100, 80)
	in := &jealous{input: newInput()}
	client, conn := connectConn(t, rfb.Config{Screen: c.screen, Input: in, Role: rfb.Controller})
	in.conn = conn.Conn
	must(t, client.Key('a', true))
	in.want(t, keyed{'a', true}, released{})
}

type jealous struct {
	*input
	conn *rfb.Conn
}

func (j *jealous) Key(keysym uint32, down bool) error {
	j.conn.SetRole(rfb.Viewer)
	return j.input.Key(keysym, down)
}

func TestInfo(t *testing.T) {
	c := newCanvas(100, 80)
	client, conn := connectConn(t, rfb.Config{Screen: c.screen, Peer: "10.0.0.1:5", Role: rfb.Controller}, rfbtest.NoVNC...)
	pixels(t, client, false)
	must(t, client.RequestAll(true))
	infos := c.screen.Viewers()
	if len(infos) != 1 {
		t.Fatalf("viewers: %v", infos)
	}
	i := infos[0]
	if i.Kind != "noVNC" || i.Peer != "10.0.0.1:5" || i.Role != rfb.Controller || i.Sent == 0 || i.Encoding == 0 || i.RTT == 0 || i.ID != conn.Info().ID {
		t.Errorf("info: %+v", i)
	}
	for list, want := range map[string][]int32{
		"TigerVNC": {7, 1, 50, 21, 16, 5, 2, 0, -314, 0x574d5664, -239, -240, 0x574d5666}, "RealVNC": {24, 22, 16},
		"macOS Screen Sharing": {1011, 1002, 6, 16, 0, -239, 1105, 1100}, "gtk-vnc": {-257, 7, 16, 5, 2, 1, 0, 0x574d5669},
		"libvncclient": {7, 16, 5, 1, 0, -254, -131072, -308, -224, -131071}, "VNC viewer": {0},
	} {
		client, conn := connectConn(t, rfb.Config{Screen: c.screen}, want...)
		pixels(t, client, false)
		if got := conn.Info().Kind; got != list {
			t.Errorf("%s was taken for %s", list, got)
		}
	}
	if s := fmt.Sprint(rfb.Viewer, rfb.Controller); s != "viewer controller" {
		t.Error(s)
	}
}
