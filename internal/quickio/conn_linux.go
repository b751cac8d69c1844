package quickio

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// conn is a socket whose Read and Write are made here.
type conn struct {
	net.Conn
	raw     syscall.RawConn
	in, out transfer
}

// New returns a connection that behaves like c and shares its socket, or c itself
// when that is not a socket. There must be at most one Read and one Write at a time.
// Everything else about it is c's.
func New(c net.Conn) net.Conn {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return c
	}
	q := &conn{Conn: c, raw: raw}
	q.in.prepare(syscall.SYS_READ)
	q.out.prepare(syscall.SYS_WRITE)
	return q
}

// transfer is the read or the write at hand. It is kept so that none allocates.
type transfer struct {
	try   func(fd uintptr) (done bool)
	buf   []byte
	n     int
	errno syscall.Errno
}

func (t *transfer) prepare(call uintptr) {
	t.try = func(fd uintptr) bool {
		for {
			n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.buf))), uintptr(len(t.buf)))
			t.n, t.errno = int(n), errno
			if errno != syscall.EINTR {
				return errno != syscall.EAGAIN
			}
		}
	}
}

// do transfers at least one byte of b, which must not be empty, or fails. It returns
// 0 and no error at the end of what can be read.
func (t *transfer) do(b []byte, wait func(func(fd uintptr) bool) error, name string) (int, error) {
	t.buf = b
	err := wait(t.try)
	t.buf = nil
	if err != nil {
		return 0, err
	}
	if t.errno != 0 {
		return 0, os.NewSyscallError(name, t.errno)
	}
	return t.n, nil
}

func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := c.in.do(b, c.raw.Read, "read")
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// small is how many bytes are written without telling the scheduler. A program that
// writes more has worked for it and will go on, and then the monitor is needed, which
// interrupts goroutines that run for long. Without it video was shown 0.4 s late on a
// busy machine, in place of 0.06 s.
const small = 1 << 10

func (c *conn) Write(b []byte) (int, error) {
	if len(b) > small {
		return c.Conn.Write(b)
	}
	done := 0
	for done < len(b) {
		n, err := c.out.do(b[done:], c.raw.Write, "write")
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
