//go:build linux

package xvfbtest

import (
	"encoding/binary"
	"image"
)

// Requests of the core protocol that move pixels.
const (
	opCopyArea = 62
	opPutImage = 72
)

// Put draws pixels 0x00RRGGBB, row by row, as programs do that draw for themselves. It
// may be buffered until Sync.
func (p *Painter) Put(r image.Rectangle, pix []uint32) {
	const (
		zPixmap    = 2
		depth      = 24
		mostPixels = 60_000 // of one request, whose length is a 16-bit number of words
	)
	rows := max(1, mostPixels/max(1, r.Dx()))
	for y := r.Min.Y; y < r.Max.Y; y += rows {
		band := image.Rect(r.Min.X, y, r.Max.X, min(y+rows, r.Max.Y))
		body := append(u32s(p.root, p.gc), u16s(uint16(band.Dx()), uint16(band.Dy()), uint16(band.Min.X), uint16(band.Min.Y), depth<<8, 0)...)
		n := band.Dx() * band.Dy()
		for _, v := range pix[:n] {
			body = binary.LittleEndian.AppendUint32(body, v)
		}
		pix = pix[n:]
		p.request(opPutImage, zPixmap, body)
	}
}

// Copy copies what a rectangle shows to another place, as programs do that scroll. It
// may be buffered until Sync.
func (p *Painter) Copy(from image.Rectangle, to image.Point) {
	p.request(opCopyArea, 0, append(u32s(p.root, p.root, p.gc),
		u16s(uint16(from.Min.X), uint16(from.Min.Y), uint16(to.X), uint16(to.Y), uint16(from.Dx()), uint16(from.Dy()))...))
}

// Flush sends what is buffered and does not wait for the server, as Sync does.
func (p *Painter) Flush() {
	p.t.Helper()
	if err := p.w.Flush(); err != nil {
		p.t.Fatal(err)
	}
}
