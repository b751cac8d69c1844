package encode

import (
	"encoding/binary"

	"github.com/falleng0d/computer-use-mcp/rfb/encode/internal/deflate"
)

// streamID names one of a connection's zlib streams.
type streamID uint8

// Tight has four streams. Data of different nature go to different streams,
// because they have little in common to refer to.
const (
	streamFull     streamID = iota // pixels as they are
	streamMono                     // two colours
	streamIndexed                  // a palette
	streamGradient                 // differences from a prediction
	streamZRLE
	streamZlib
	streamCount
)

// Streams is what one connection and its viewer share: the state of their zlib
// streams. It begins with the connection and lives as long, across changes of
// encoding and pixel format. The zero value is ready. It takes about a
// megabyte for each stream that compresses with a history of its own.
type Streams struct {
	open    [streamCount]bool // the zlib header was sent
	own     [streamCount]*deflate.Writer
	scratch []byte
}

// zlibHeader begins a stream: deflate with a 32 KiB window, no dictionary.
var zlibHeader = [2]byte{0x78, 0x01}

// Append appends the rectangles of b. What it appends must be sent: the viewer
// has to see every byte of a stream.
func (s *Streams) Append(dst []byte, b *Batch) []byte {
	buf, segments := b.buf, b.segments
	for _, p := range b.parts {
		dst = append(dst, buf[:p.plain]...)
		dst = s.appendData(dst, p.stream, buf[p.plain:p.plain+p.data], segments[:p.segments])
		buf, segments = buf[p.plain+p.data:], segments[p.segments:]
	}
	return append(dst, buf...)
}

// appendData appends data of a stream with their length before them. Without
// segments they are a chunk already.
func (s *Streams) appendData(dst []byte, id streamID, data []byte, segments []segment) []byte {
	own := s.own[id]
	if len(segments) > 0 {
		if own == nil {
			own = new(deflate.Writer)
			s.own[id] = own
		}
		s.scratch = compress(own, s.scratch[:0], data, segments)
		data = s.scratch
	} else if own != nil {
		own.Forget() // what it remembers is not what the viewer's window holds now
	}
	var header []byte
	if !s.open[id] {
		s.open[id] = true
		header = zlibHeader[:]
	}
	n := len(header) + len(data)
	if id < streamZRLE {
		dst = appendCompact(dst, n)
	} else {
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	dst = append(dst, header...)
	return append(dst, data...)
}

// appendCompact appends a length, below 1<<22, in Tight's one to three bytes:
// seven bits each, eight in the third.
func appendCompact(dst []byte, n int) []byte {
	switch {
	case n < 1<<7:
		return append(dst, byte(n))
	case n < 1<<14:
		return append(dst, byte(n)|0x80, byte(n>>7))
	}
	return append(dst, byte(n)|0x80, byte(n>>7)|0x80, byte(n>>14))
}

// compress appends data as a deflate chunk.
func compress(w *deflate.Writer, dst, data []byte, segments []segment) []byte {
	w.Begin(dst)
	for _, s := range segments {
		w.Add(data[:s.size], s.unit, s.effort)
		data = data[s.size:]
	}
	return w.End()
}
