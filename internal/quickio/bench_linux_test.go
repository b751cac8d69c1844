package quickio_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/internal/quickio"
)

// messages, in the environment, makes this program the peer of the benchmark, which
// writes so many messages to file 3.
const messages = "QUICKIO_MESSAGES"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(messages)); err == nil {
		write(n)
		return
	}
	leaktest.Main(m)
}

// write writes messages, 2 ms apart, and reads their answers.
func write(n int) {
	peer := os.NewFile(3, "peer")
	message := make([]byte, 32)
	for range n {
		time.Sleep(2 * time.Millisecond)
		peer.Write(message)
		io.ReadFull(peer, message)
	}
}

// BenchmarkRareMessage measures the processor time that an answer to another program
// takes when there is nothing else to do until it writes again.
func BenchmarkRareMessage(b *testing.B) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"net":     func(c net.Conn) net.Conn { return c },
		"quickio": quickio.New,
	} {
		b.Run(name, func(b *testing.B) {
			here, there := pair(b, "unix")
			file, err := there.(*net.UnixConn).File()
			if err != nil {
				b.Fatal(err)
			}
			peer := exec.Command(os.Args[0])
			peer.Env = append(os.Environ(), messages+"="+strconv.Itoa(b.N))
			peer.ExtraFiles = []*os.File{file}
			if err := peer.Start(); err != nil {
				b.Fatal(err)
			}
			file.Close()
			there.Close()
			conn := wrap(here)
			message := make([]byte, 32)
			b.ReportAllocs()
			b.ResetTimer()
			used := processorTime(b)
			for {
				n, err := conn.Read(message)
				if err != nil {
					break
				}
				conn.Write(message[:n])
			}
			b.ReportMetric(float64(processorTime(b)-used)/float64(b.N), "cpu-ns/op")
			if err := peer.Wait(); err != nil {
				b.Error(err)
			}
		})
	}
}

// processorTime returns what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
