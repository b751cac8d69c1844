package quickio_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/quickio"
)

// pair returns both ends of a connection; the test closes them.
func pair(t testing.TB, network string) (here, there net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "socket")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if here, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if there, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		here.Close()
		there.Close()
	})
	return here, there
}

// What goes in comes out, also when it does not fit into the socket's memory and
// both ends wait for each other in turn.
func TestBytesArrive(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			here, there := pair(t, network)
			want := make([]byte, 16<<20)
			for i := range want {
				want[i] = byte(i * 7 >> 3)
			}
			failed := make(chan error, 1)
			go func() {
				defer here.Close()
				quick, rest := quickio.New(here), want
				for size := 1; len(rest) > 0; size = size*3%20011 + 1 {
					n, err := quick.Write(rest[:min(size, len(rest))])
					if err == nil && n != min(size, len(rest)) {
						err = io.ErrShortWrite
					}
					if err != nil {
						failed <- err
						return
					}
					rest = rest[n:]
				}
				failed <- nil
			}()
			got, err := io.ReadAll(quickio.New(there))
			if err != nil {
				t.Error(err)
			}
			if err := <-failed; err != nil {
				t.Error(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes arrived, want the %d that were written", len(got), len(want))
			}
		})
	}
}

func TestErrors(t *testing.T) {
	here, there := pair(t, "tcp")
	quick := quickio.New(here)
	one := make([]byte, 1)
	if n, err := quick.Read(nil); n != 0 || err != nil {
		t.Errorf("read of nothing: %d, %v", n, err)
	}

	quick.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := quick.Read(one); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read beyond the deadline: %v", err)
	}
	quick.SetReadDeadline(time.Time{})

	there.(*net.TCPConn).SetLinger(0) // so that Close resets
	there.Close()
	if _, err := quick.Read(one); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read from a peer that has reset: %v", err)
	}
	if _, err := quick.Write(one); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("write to a peer that has gone: %v", err)
	}
}

func TestCloseEndsReadAndWrite(t *testing.T) {
	for name, do := range map[string]func(net.Conn) error{
		"read": func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"write": func(c net.Conn) (err error) {
			for err == nil { // until the peer, which does not read, has no room
				_, err = c.Write(make([]byte, 1000))
			}
			return err
		},
		"long write": func(c net.Conn) error { _, err := c.Write(make([]byte, 64<<20)); return err },
	} {
		here, _ := pair(t, "tcp")
		ended := make(chan error)
		go func() { ended <- do(quickio.New(here)) }()
		time.AfterFunc(50*time.Millisecond, func() { here.Close() })
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s on a connection that was closed: %v", name, err)
		}
	}
}

// What is no socket is left alone.
func TestPipe(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if quickio.New(here) != here {
		t.Error("a pipe became another connection")
	}
}
