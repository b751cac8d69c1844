package encode

import (
	"image"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode/internal/deflate"
)

// Batch holds encoded rectangles. It is made by one Encoder and appended to any
// number of connections when its settings are Shared, to exactly one otherwise.
// While nobody writes to it, it may be read from several goroutines.
type Batch struct {
	buf      []byte // the bytes of all parts, then plain bytes
	tail     int    // where the plain bytes after the last part begin
	parts    []part
	segments []segment // of the parts that are not chunks
	rects    []encodedRect
}

type encodedRect struct {
	image.Rectangle
	lossy bool
}

// part is a run of plain bytes followed by data of a zlib stream, whose length
// and compressed form depend on the connection.
type part struct {
	plain, data int // bytes of buf
	segments    int // that data consist of; 0: data are a finished deflate chunk
	stream      streamID
}

// segment is data of one kind.
type segment struct {
	size   int // in bytes
	unit   int // bytes of a pixel, or 1
	effort deflate.Effort
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.buf, b.tail, b.parts, b.segments, b.rects = b.buf[:0], 0, b.parts[:0], b.segments[:0], b.rects[:0]
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
	bounds := lossy.Bounds()
	for _, r := range b.rects {
		if !r.lossy {
			removeCovered(lossy, bounds, r.Rectangle)
		}
	}
	for _, r := range b.rects {
		if r.lossy {
			lossy.AddRect(r.Rectangle)
		}
	}
}

// rect begins a rectangle.
func (b *Batch) rect(r image.Rectangle, e Encoding) {
	b.buf = AppendRectHeader(b.buf, r, e)
	b.rects = append(b.rects, encodedRect{Rectangle: r})
}

// endPart makes a part of everything since the last one. The data begin at from.
func (b *Batch) endPart(from, segments int, stream streamID) {
	b.parts = append(b.parts, part{from - b.tail, len(b.buf) - from, segments, stream})
	b.tail = len(b.buf)
}
