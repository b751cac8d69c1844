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
// encoding and pixel format. The zero value is ready. It takes about half a
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
	buf := b.buf
	for _, p := range b.parts {
		dst = append(dst, buf[:p.plain]...)
		dst = s.appendData(dst, p, buf[p.plain:p.plain+p.data], b.level)
		buf = buf[p.plain+p.data:]
	}
	return append(dst, buf...)
}

// appendData appends data of a stream with their length before them.
func (s *Streams) appendData(dst []byte, p part, data []byte, level int) []byte {
	if own := s.own[p.stream]; p.chunk {
		if own != nil {
			own.Forget() // what it remembers is not what the viewer's window holds now
		}
	} else {
		if own == nil {
			own = new(deflate.Writer)
			s.own[p.stream] = own
		}
		s.scratch = own.Append(s.scratch[:0], data, int(p.unit), level)
		data = s.scratch
	}
	var header []byte
	if !s.open[p.stream] {
		s.open[p.stream] = true
		header = zlibHeader[:]
	}
	n := len(header) + len(data)
	if p.stream < streamZRLE {
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
