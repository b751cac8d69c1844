package encode

import (
	"encoding/binary"
	"image"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// Batch holds encoded rectangles. It is made by one Encoder and appended to any
// number of connections when its settings are Shared, to exactly one otherwise.
// While nobody writes to it, it may be read from several goroutines.
type Batch struct {
	buf   []byte
	parts []part
	rects []encodedRect
	level int
}

type encodedRect struct {
	image.Rectangle
	lossy bool
}

// part is a run of plain bytes followed by data of a zlib stream, whose length
// and compressed form depend on the connection.
type part struct {
	plain, data int // bytes of buf
	stream      streamID
	chunk       bool // data are a finished deflate chunk, not yet to be compressed
}

// streamID names one of a connection's zlib streams.
type streamID uint8

const (
	streamTight streamID = iota // Tight's stream 0; 1 to 3 follow
	_
	_
	_
	streamZRLE
	streamZlib
	streamCount
)

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.buf, b.parts, b.rects = b.buf[:0], b.parts[:0], b.rects[:0]
}

// Rects returns how many rectangles the batch holds, for the update's count.
func (b *Batch) Rects() int { return len(b.rects) }

// Size returns how many bytes the batch holds. Unless it is Shared, it gets
// smaller in Streams.Append.
func (b *Batch) Size() int { return len(b.buf) }

// Mark notes in lossy, a set of a viewer's inexact cells, what the batch does to
// them: cells that JPEG touched are added, cells that exact rectangles cover
// wholly are removed.
func (b *Batch) Mark(lossy *frame.CellSet) {
	for _, r := range b.rects {
		if r.lossy {
			lossy.AddRect(r.Rectangle)
		} else {
			removeCovered(lossy, r.Rectangle)
		}
	}
}

// rect begins a rectangle.
func (b *Batch) rect(r image.Rectangle, e Encoding) {
	b.buf = AppendRectHeader(b.buf, r, e)
	b.rects = append(b.rects, encodedRect{Rectangle: r})
}

// plainEnd is where the plain bytes after the last part begin.
func (b *Batch) plainEnd() int {
	n := 0
	for _, p := range b.parts {
		n += p.plain + p.data
	}
	return n
}

// Streams is what one connection and its viewer share: the state of their zlib
// streams. It begins with the connection and lives as long, across changes of
// encoding and pixel format. The zero value is ready.
type Streams struct {
	streams [streamCount]stream
	scratch []byte
}

type stream struct {
	open bool // the zlib header was sent
	own  *deflater
}

// zlibHeader begins a stream: deflate with a 32 KiB window, no dictionary.
var zlibHeader = [2]byte{0x78, 0x01}

// Append appends the rectangles of b. What it appends must be sent: the viewer
// has to see every byte of a stream.
func (s *Streams) Append(dst []byte, b *Batch) []byte {
	buf := b.buf
	for _, p := range b.parts {
		dst = append(dst, buf[:p.plain]...)
		dst = s.appendData(dst, p, buf[p.plain:p.plain+p.data], b.level)
		buf = buf[p.plain+p.data:]
	}
	return append(dst, buf...)
}

func (s *Streams) appendData(dst []byte, p part, data []byte, level int) []byte {
	st := &s.streams[p.stream]
	if p.chunk {
		if st.own != nil {
			st.own.forget()
		}
	} else {
		if st.own == nil {
			st.own = new(deflater)
		}
		s.scratch = st.own.append(s.scratch[:0], data, level)
		data = s.scratch
	}
	n := len(data)
	if !st.open {
		n += len(zlibHeader)
	}
	if p.stream < streamZRLE {
		dst = appendCompact(dst, n)
	} else {
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	if !st.open {
		st.open = true
		dst = append(dst, zlibHeader[:]...)
	}
	return append(dst, data...)
}

// maxCompact is the greatest length that Tight's compact form can hold.
const maxCompact = 1<<22 - 1

// appendCompact appends a length in Tight's one to three bytes, seven bits each
// but eight in the third.
func appendCompact(dst []byte, n int) []byte {
	switch {
	case n < 1<<7:
		return append(dst, byte(n))
	case n < 1<<14:
		return append(dst, byte(n)|0x80, byte(n>>7))
	}
	return append(dst, byte(n)|0x80, byte(n>>7)|0x80, byte(n>>14))
}
