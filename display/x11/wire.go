package x11

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jezek/xgb/xproto"

	"github.com/falleng0d/computer-use-mcp/internal/quickio"
)

// wire is a connection to an X server for requests that are made many times a
// second. Requests that belong together are one write, their answers one wake-up
// of whoever waits. The X library takes a write, a read and half a dozen switches
// between goroutines for each: to capture a typed letter with it takes twice the
// processor time of all else together.
type wire struct {
	socket  *net.UnixConn
	conn    net.Conn // the socket, for Read and Write
	setup   xproto.SetupInfo
	onEvent func(event []byte) // in the only goroutine that reads: must not wait
	done    chan struct{}      // closed when the connection has ended

	turn     sync.Mutex // held during a round trip
	lastID   uint32     // guarded by turn
	sent     uint16     // guarded by turn; sequence number of the latest request
	answered chan struct{}

	mu      sync.Mutex
	waitFor uint16   // guarded by mu; sequence number that ends the round trip
	waiting bool     // guarded by mu
	answers [][]byte // guarded by mu; of this round trip
	refused error    // guarded by mu; the first error of this round trip
}

// xError is the X server's answer to a request that it does not carry out.
type xError struct {
	code         byte
	value        uint32
	major, minor int
}

func (e *xError) Error() string {
	return fmt.Sprintf("the X server refuses request %d.%d with error %d, value %#x", e.major, e.minor, e.code, e.value)
}

// order is the byte order that a wire asks for.
var order = binary.LittleEndian

// dialWire connects to the X server of a display. Everything up to ready happens
// within dialTimeout.
func dialWire(display string, cookie []byte, onEvent func([]byte)) (*wire, error) {
	nc, err := dialSocket(display, cookie)
	if err != nil {
		return nil, err
	}
	w := &wire{socket: nc, conn: quickio.New(nc), onEvent: onEvent, done: make(chan struct{}), answered: make(chan struct{}, 1)}
	in := bufio.NewReader(w.conn)
	if err := w.greet(in, cookie); err != nil {
		nc.Close()
		return nil, err
	}
	go w.read(in)
	return w, nil
}

// ready takes away the limit on the time to set up.
func (w *wire) ready() { w.conn.SetDeadline(time.Time{}) }

// greet opens the conversation.
func (w *wire) greet(in io.Reader, cookie []byte) error {
	const protocol = "MIT-MAGIC-COOKIE-1"
	hello := []byte{'l', 0}
	for _, v := range []int{11, 0, len(protocol), len(cookie), 0} {
		hello = order.AppendUint16(hello, uint16(v))
	}
	hello = append(hello, protocol+"\x00\x00"...)
	hello = append(hello, cookie...)
	if _, err := w.conn.Write(hello); err != nil {
		return err
	}
	begin := make([]byte, 8)
	if _, err := io.ReadFull(in, begin); err != nil {
		return err
	}
	answer, err := readRest(in, begin, 4*int(order.Uint16(begin[6:])))
	if err != nil {
		return err
	}
	if answer[0] != 1 {
		reason := answer[8:]
		return fmt.Errorf("the X server refuses the connection: %s", reason[:min(int(answer[1]), len(reason))])
	}
	xproto.SetupInfoRead(answer, &w.setup)
	if len(w.setup.Roots) == 0 {
		return errors.New("the X server has no screen")
	}
	return nil
}

// maxReply bounds what is read as one reply, in bytes. The longest are the damage of a
// large screen in small pieces and the pictures of large cursors, some 100 KB.
const maxReply = 16 << 20

// readRest returns begin with n more bytes from in.
func readRest(in io.Reader, begin []byte, n int) ([]byte, error) {
	if n == 0 {
		return begin, nil
	}
	if n > maxReply {
		return nil, fmt.Errorf("a reply of %d bytes is too long for an X server's", n)
	}
	all := make([]byte, len(begin)+n)
	_, err := io.ReadFull(in, all[copy(all, begin):])
	return all, err
}

func (w *wire) close() {
	w.conn.Close()
	<-w.done
}

// read takes what the X server sends until the connection ends.
func (w *wire) read(in *bufio.Reader) {
	defer close(w.done)
	defer w.conn.Close() // also after a reply that makes no sense: nothing reads on
	for {
		packet := make([]byte, 32)
		if _, err := io.ReadFull(in, packet); err != nil {
			return
		}
		const fault, reply, generic = 0, 1, 35
		kind := packet[0] & 0x7f
		if kind == reply || kind == generic {
			var err error
			if packet, err = readRest(in, packet, 4*int(order.Uint32(packet[4:]))); err != nil {
				return
			}
		}
		switch kind {
		case fault:
			w.answer(packet, &xError{packet[1], order.Uint32(packet[4:]), int(packet[10]), int(order.Uint16(packet[8:]))})
		case reply:
			w.answer(packet, nil)
		default:
			w.onEvent(packet)
		}
	}
}

// answer notes a reply or an error, and ends the round trip with the one to its
// last request.
func (w *wire) answer(packet []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waiting {
		return
	}
	w.answers = append(w.answers, packet)
	if w.refused == nil {
		w.refused = err
	}
	if order.Uint16(packet[2:]) == w.waitFor {
		w.waiting = false
		w.answered <- struct{}{}
	}
}

// requests are sent together. The last one must be one that is replied to.
type requests struct {
	bytes []byte
	count uint16
}

// add appends a request: its major opcode, the byte after that (the minor opcode of
// an extension's request), and the rest in words.
func (r *requests) add(major, minor byte, words ...uint32) {
	r.bytes = append(r.bytes, major, minor)
	r.bytes = order.AppendUint16(r.bytes, uint16(1+len(words)))
	for _, word := range words {
		r.bytes = order.AppendUint32(r.bytes, word)
	}
	r.count++
}

// roundTrip sends requests and returns the replies in their order. The error is
// that of the first request which was refused, an *xError, or ErrClosed.
func (w *wire) roundTrip(r *requests) ([][]byte, error) {
	if r.count == 0 {
		return nil, nil
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	w.sent += r.count
	w.mu.Lock()
	w.waitFor, w.waiting, w.answers, w.refused = w.sent, true, nil, nil
	w.mu.Unlock()
	if _, err := w.conn.Write(r.bytes); err != nil {
		return nil, ErrClosed
	}
	select {
	case <-w.answered:
	case <-w.done:
		return nil, ErrClosed
	}
	return w.answers, w.refused // nobody writes them between two round trips
}

// newID returns an unused number for a resource.
func (w *wire) newID() uint32 {
	w.turn.Lock()
	defer w.turn.Unlock()
	w.lastID++
	return w.setup.ResourceIdBase | w.lastID
}
