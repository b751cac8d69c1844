package daemon

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// oneConn is a listener with one connection.
type oneConn chan net.Conn

func (l oneConn) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l oneConn) Close() error   { close(l); return nil } // http.Server calls it once
func (l oneConn) Addr() net.Addr { return &net.UnixAddr{} }

// answering serves one connection with a handler of archives and calls it once.
func answering(t *testing.T, log *bytes.Buffer, handle handler) (conn net.Conn) {
	t.Helper()
	d := newDaemon(config{Token: "token", Logger: slog.New(slog.NewTextHandler(log, nil))})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.serve(route{"GET /", anyone, usual, itself, handle}, w, r)
	})}
	ours, theirs := net.Pipe()
	l := make(oneConn, 1)
	l <- theirs
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(l) }()
	t.Cleanup(func() {
		ours.Close()
		server.Close()
		<-served
	})
	if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return ours
}

// A caller may be slow, but one that receives nothing any more does not keep a copy going.
func TestArchiveNobodyReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		conn := answering(t, new(bytes.Buffer), func(_ *daemon, c *call) (any, error) {
			var err error
			for err == nil {
				_, err = archiveWriter{c}.Write(make([]byte, 8<<10))
			}
			failed <- err
			return nil, nil
		})
		for range 10 {
			time.Sleep(writeTimeout * 2 / 3)
			if _, err := io.ReadFull(conn, make([]byte, 10<<10)); err != nil {
				t.Fatalf("a slow caller: %v", err)
			}
		}
		began := time.Now()
		if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > writeTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A panic is told in an answer that has not begun; an archive that has begun is broken off,
// and what was received of it is no whole one.
func TestPanicInAnArchive(t *testing.T) {
	for _, began := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			conn := answering(t, &log, func(_ *daemon, c *call) (any, error) {
				if began {
					io.WriteString(archiveWriter{c}, "archive")
				}
				panic("boom")
			})
			if !began {
				conn.SetReadDeadline(time.Now().Add(time.Second)) // the connection stays open
			}
			answer, _ := io.ReadAll(conn)
			if strings.Contains(string(answer), string(api.CodeInternal)) == began || began && (!strings.Contains(string(answer), api.ArchiveType) || strings.HasSuffix(string(answer), "0\r\n\r\n")) {
				t.Errorf("begun %v: %q", began, answer)
			}
			if !strings.Contains(log.String(), "boom") {
				t.Errorf("the log does not show the panic: %s", &log)
			}
		})
	}
}
