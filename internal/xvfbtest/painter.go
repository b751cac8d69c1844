//go:build linux

package xvfbtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"net"
	"testing"
)

// Painter draws on the root window and reads it back. It speaks the few requests
// of the core X protocol that this takes over a connection of its own, so that a
// test of the X code has something else to be compared with. Its methods end the
// test when they fail; they are for one goroutine.
type Painter struct {
	t      testing.TB
	conn   net.Conn
	r      *bufio.Reader
	w      *bufio.Writer
	root   uint32
	gc     uint32
	lastID uint32 // of the resources made so far
	bounds image.Rectangle
}

// Requests of the X Window System Protocol, version 11, that a Painter uses.
const (
	opGetInputFocus     = 43
	opCreateGC          = 55
	opChangeGC          = 56
	opPolyFillRectangle = 70
	opGetImage          = 73
)

// Painter connects to the server. The connection is closed when the test ends.
func (s *Server) Painter(t testing.TB) *Painter {
	t.Helper()
	conn, err := net.Dial("unix", "/tmp/.X11-unix/X"+s.Display[1:])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	p := &Painter{t: t, conn: conn, r: bufio.NewReader(conn), w: bufio.NewWriter(conn)}

	const auth = "MIT-MAGIC-COOKIE-1\x00\x00" // padded to 4 bytes
	p.write([]byte{'l', 0})
	p.write(u16s(11, 0, 18, 16, 0))
	p.write([]byte(auth))
	p.write(s.Cookie)
	head := p.read(8)
	if head[0] != 1 {
		t.Fatalf("the X server refused the painter: %q", p.read(int(head[1])))
	}
	setup := p.read(4 * int(binary.LittleEndian.Uint16(head[6:])))
	vendor := (int(binary.LittleEndian.Uint16(setup[16:])) + 3) &^ 3
	screen := setup[32+vendor+8*int(setup[21]):] // behind the pixmap formats
	p.root = binary.LittleEndian.Uint32(screen)
	p.bounds = image.Rect(0, 0, int(binary.LittleEndian.Uint16(screen[20:])), int(binary.LittleEndian.Uint16(screen[22:])))
	p.gc = binary.LittleEndian.Uint32(setup[4:]) // the resource base is a number of ours
	p.lastID = p.gc
	p.request(opCreateGC, 0, u32s(p.gc, p.root, 0))
	return p
}

// Bounds returns the screen's rectangle as of when the Painter connected.
func (p *Painter) Bounds() image.Rectangle { return p.bounds }

// Fill paints a rectangle in a colour 0x00RRGGBB. It may be buffered until Sync.
func (p *Painter) Fill(r image.Rectangle, colour uint32) {
	const foreground = 1 << 2
	p.request(opChangeGC, 0, u32s(p.gc, foreground, colour))
	p.request(opPolyFillRectangle, 0, append(u32s(p.root, p.gc),
		u16s(uint16(r.Min.X), uint16(r.Min.Y), uint16(r.Dx()), uint16(r.Dy()))...))
}

// Sync returns when the server has drawn everything.
func (p *Painter) Sync() {
	p.t.Helper()
	p.request(opGetInputFocus, 0, nil)
	p.reply()
}

// Pixels reads r back by the core request GetImage: r.Dx()*r.Dy() pixels
// 0x00RRGGBB, row by row.
func (p *Painter) Pixels(r image.Rectangle) []uint32 {
	p.t.Helper()
	const zPixmap = 2
	body := append(u32s(p.root), u16s(uint16(r.Min.X), uint16(r.Min.Y), uint16(r.Dx()), uint16(r.Dy()))...)
	p.request(opGetImage, zPixmap, append(body, u32s(0xffffffff)...))
	data := p.reply()
	pix := make([]uint32, r.Dx()*r.Dy())
	for i := range pix {
		pix[i] = binary.LittleEndian.Uint32(data[4*i:]) & 0x00ffffff
	}
	return pix
}

func (p *Painter) request(opcode, detail byte, body []byte) {
	p.write([]byte{opcode, detail})
	p.write(u16s(uint16(1 + len(body)/4)))
	p.write(body)
}

// reply returns what follows the first 32 bytes of the next reply.
func (p *Painter) reply() []byte {
	p.t.Helper()
	_, rest := p.wholeReply()
	return rest
}

// wholeReply returns the first 32 bytes of the next reply and what follows.
func (p *Painter) wholeReply() (head, rest []byte) {
	p.t.Helper()
	if err := p.w.Flush(); err != nil {
		p.t.Fatal(err)
	}
	for {
		head := p.read(32)
		switch head[0] {
		case 0:
			p.t.Fatalf("X error %d for the painter's request %d", head[1], head[10])
		case 1:
			return head, p.read(4 * int(binary.LittleEndian.Uint32(head[4:])))
		}
	}
}

func (p *Painter) write(b []byte) {
	if _, err := p.w.Write(b); err != nil {
		p.t.Fatal(fmt.Errorf("write to the X server: %w", err))
	}
}

func (p *Painter) read(n int) []byte {
	p.t.Helper()
	if err := p.w.Flush(); err != nil {
		p.t.Fatal(err)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(p.r, b); err != nil {
		p.t.Fatal(fmt.Errorf("read from the X server: %w", err))
	}
	return b
}

func u16s(v ...uint16) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

func u32s(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}
