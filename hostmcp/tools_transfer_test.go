package hostmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
	"github.com/falleng0d/computer-use-mcp/transfer"
)

// pipes is a listener whose connections are in memory, for virtual time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.done); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// player plays the computer for one call. over is closed when that has returned.
type player func(w http.ResponseWriter, r *http.Request, over <-chan struct{})

// transferCall runs file_transfer against a player.
func transferCall(ctx context.Context, t *testing.T, computer player, args transferArgs) (*Reply, error) {
	t.Helper()
	l := pipes{make(chan net.Conn), make(chan struct{})}
	over := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { computer(w, r, over) })}
	go server.Serve(l)
	defer server.Shutdown(context.Background())
	defer close(over)
	c := &client.Client{BaseURL: "http://127.0.0.1:1", Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		l.conns <- there
		return here, nil
	}}
	defer c.CloseIdle()
	return fileTransfer(ctx, &Call{Computer: c, Session: api.NewID(), progress: func(string) {}}, args)
}

// sourceFile makes a file whose content does not compress.
func sourceFile(t *testing.T, size int) string {
	t.Helper()
	data := make([]byte, size)
	for i, x := 0, uint32(1); i < size; i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		data[i] = byte(x)
	}
	path := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// compressed returns the archive of a file as the computer sends it.
func compressed(t *testing.T, path string) []byte {
	t.Helper()
	source, err := transfer.Open(transfer.Computer, path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var b bytes.Buffer
	z, err := transfer.Compress(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(source.Pack(t.Context(), z, func(transfer.Progress) {}), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// S0-137, S0-138: a copy fails when nothing has moved for 60 s, and when no answer
// comes for 60 s after the last data; the error says how far it got.
func TestTransferStalls(t *testing.T) {
	const size = 4 << 20
	for _, c := range []struct {
		name     string
		args     transferArgs
		computer func(w http.ResponseWriter, r *http.Request, archive []byte)
		want     string
	}{
		{"it takes no more", transferArgs{Direction: toComputer}, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			io.CopyN(io.Discard, r.Body, size/2)
		}, "had been sent"},
		{"it does not answer", transferArgs{Direction: toComputer}, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			io.Copy(io.Discard, r.Body)
		}, "1 file, 4.2 MB had been sent"},
		{"it does not begin", transferArgs{Direction: fromComputer}, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			io.Copy(io.Discard, r.Body)
		}, "Nothing was copied."},
		{"it sends no more", transferArgs{Direction: fromComputer}, func(w http.ResponseWriter, r *http.Request, archive []byte) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", api.ArchiveType)
			w.Write(archive[:size/2])
			http.NewResponseController(w).Flush()
		}, "had been copied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := sourceFile(t, size)
			archive := compressed(t, source)
			c.args.HostPath, c.args.ComputerPath = source, "x"
			if c.args.Direction == fromComputer {
				c.args.HostPath = filepath.Join(t.TempDir(), "copy")
			}
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := transferCall(t.Context(), t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
					c.computer(w, r, archive)
					<-over
				}, c.args)
				e := api.AsError(err)
				if took := time.Since(start); e.Code != api.CodeTimeout || !strings.Contains(e.Message, "Nothing has moved for 1m0s.") || !strings.Contains(e.Message, c.want) || took < api.TransferStall || took > api.TransferStall+2*time.Second {
					t.Errorf("after %v: %s %v", took, e.Code, e)
				}
			})
			if left, _ := os.ReadDir(filepath.Dir(c.args.HostPath)); c.args.Direction == fromComputer && len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// S0-140: a copy that is cancelled says how far it got and what is left, and the server
// hands that on.
func TestTransferIsCancelled(t *testing.T) {
	const size = 4 << 20
	source := sourceFile(t, size)
	archive := compressed(t, source)
	for direction, want := range map[string]string{
		toComputer:   " had been sent; complete files stay on the computer.",
		fromComputer: " had been copied; complete files stay on the host.",
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			args := transferArgs{Direction: direction, HostPath: source, ComputerPath: "x"}
			if direction == fromComputer {
				args.HostPath = filepath.Join(t.TempDir(), "copy")
			}
			_, err := transferCall(ctx, t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
				if direction == fromComputer {
					w.Header().Set("Content-Type", api.ArchiveType)
					w.Write(archive[:size/2])
					http.NewResponseController(w).Flush()
				} else {
					io.CopyN(io.Discard, r.Body, size/2)
				}
				synctest.Wait() // until the other side has taken all that it was sent
				cancel(errors.New("the person said no"))
				<-over
			}, args)
			e := api.AsError(because(err, api.Errorf(api.CodeCanceled, "Nothing more.")))
			if e.Code != api.CodeCanceled || !strings.HasPrefix(e.Message, "The call ended early: the person said no. By then ") || !strings.HasSuffix(e.Message, want) {
				t.Errorf("%s: %s %v", direction, e.Code, e)
			}
		})
	}
}

// S0-137: there is no limit for a copy that moves, however slowly; and one whose
// computer reads back for long what it has, and says so, goes on.
func TestTransferMayBeSlow(t *testing.T) {
	source := sourceFile(t, 1<<20)
	archive := compressed(t, source)
	const pause = 50 * time.Second
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		reply, err := transferCall(t.Context(), t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", api.ArchiveType)
			for part := archive; len(part) > 0; {
				n := min(len(part), 64<<10)
				w.Write(part[:n])
				http.NewResponseController(w).Flush()
				part = part[n:]
				time.Sleep(pause)
			}
		}, transferArgs{Direction: fromComputer, HostPath: filepath.Join(t.TempDir(), "copy"), ComputerPath: "x"})
		if took := time.Since(start); err != nil || took < 10*pause {
			t.Fatalf("%v after %v", err, took)
		}
		if r := reply.Structured.(api.TransferResult); r.Bytes != 1<<20 || !strings.Contains(reply.Text, "1 file, 1.0 MB in ") {
			t.Errorf("%s", reply.Text)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		want := api.TransferResult{Path: "/x", Files: 1, Verified: true, Skipped: []api.SkippedEntry{{Path: "a", Why: "b"}}, SkippedTotal: 51, Notes: []string{"note"}}
		reply, err := transferCall(t.Context(), t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			var request api.PutArchiveRequest
			if err := json.Unmarshal([]byte(r.Header.Get(api.HeaderRequest)), &request); err != nil || string(request.Name) != "source" || !request.Verify || !request.Overwrite {
				t.Errorf("%+v, %v", request, err)
			}
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", `multipart/mixed; boundary="b"`)
			part := func(name, body string) {
				io.WriteString(w, "--b\r\nContent-Disposition: inline; name="+name+"\r\n\r\n"+body+"\r\n")
				http.NewResponseController(w).Flush()
			}
			for range 5 {
				time.Sleep(pause)
				part("progress", `{"message":"reading back"}`)
			}
			data, _ := json.Marshal(want)
			part("result", string(data))
			io.WriteString(w, "--b--\r\n")
		}, transferArgs{Direction: toComputer, HostPath: source, ComputerPath: "x", Verify: true, Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Copied to /x: 1 file", "in 250.0 s", "read back", "\nnote", "Skipped, not copied: 51.\n- a: b\n- and 50 more"} {
			if !strings.Contains(reply.Text, want) {
				t.Errorf("no %q in %s", want, reply.Text)
			}
		}
	})
}

// S0-121: the forms of a host path.
func TestHostPath(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	slash := string(filepath.Separator)
	for path, want := range map[string]string{
		"~": home, "~/a/b": filepath.Join(home, "a/b"), "~/a/": filepath.Join(home, "a") + slash, "~x": filepath.Join(here, "~x"),
		"a/../b": filepath.Join(here, "b"), ".": here, "./": here + slash, here + "//x/./y": filepath.Join(here, "x/y"), slash: filepath.VolumeName(here) + slash,
	} {
		if got, err := hostPath(path); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"", "a\x00b"} {
		if _, err := hostPath(path); api.AsError(err).Code != api.CodeBadRequest {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// A refusal of the host's end comes before the computer is told to do anything.
func TestTransferRefusedOnTheHost(t *testing.T) {
	called := false
	_, err := transferCall(t.Context(), t, func(http.ResponseWriter, *http.Request, <-chan struct{}) { called = true },
		transferArgs{Direction: toComputer, HostPath: filepath.Join(t.TempDir(), "missing"), ComputerPath: "x"})
	if e := api.AsError(err); e.Code != api.CodeNotFound || !strings.Contains(e.Message, "on the host") || called {
		t.Errorf("%v, %v", err, called)
	}
}

// S0-120: a refusal names the argument that the agent has given, not what it is called on
// the wire.
func TestTransferNamesItsArguments(t *testing.T) {
	for name, args := range map[string]transferArgs{
		"host_path":     {Direction: fromComputer, ComputerPath: "x"},
		"computer_path": {Direction: toComputer, HostPath: t.TempDir()},
	} {
		_, err := transferCall(t.Context(), t, func(http.ResponseWriter, *http.Request, <-chan struct{}) { t.Error("the computer was called") }, args)
		if e := api.AsError(err); e.Code != api.CodeBadRequest || !strings.Contains(e.Message, "The "+name+` "" is`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
