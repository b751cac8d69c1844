package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// serve returns a client of a server with one handler.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	c := &Client{BaseURL: server.URL, Token: "secret"}
	t.Cleanup(func() {
		c.CloseIdle()
		server.Close()
	})
	return c
}

func code(err error) api.Code {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Code
	}
	return api.Code(fmt.Sprint(err))
}

// S1-28: every call says which computer and which home it means.
func TestRequest(t *testing.T) {
	session := api.NewID()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := fmt.Sprintf("%s %s %s %s %s %s %s", r.Method, r.URL, r.Header.Get("Authorization"),
			r.Header.Get(api.HeaderProtocol), r.Header.Get(api.HeaderComputer), r.Header.Get(api.HeaderHome), body)
		want := fmt.Sprintf(`POST /v1/sessions/%s/configure Bearer secret %s c h {"quiet_ms":5}`, session, api.Protocol())
		if got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"quiet_ms":200,"a_field_of_tomorrow":1}`)
	})
	c.Computer, c.Home = "c", "h"
	quiet := int64(5)
	got, err := c.Configure(t.Context(), session, api.ConfigureRequest{QuietMS: &quiet})
	if err != nil || got.QuietMS != 200 {
		t.Errorf("%+v, %v", got, err)
	}
}

// An id goes into the path as data.
func TestRequestEscapesThePath(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/v1/sessions/..%2Finfo%3F" {
			t.Errorf("path %s", r.URL.EscapedPath())
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ended":true}`)
	})
	if got, err := c.End(t.Context(), "../info?"); err != nil || !got.Ended {
		t.Errorf("%+v, %v", got, err)
	}
}

const boundary = "b"

// mixed answers with parts given as name, content type and body, cut off after them when
// whole is false.
func mixed(whole bool, parts ...[3]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", `multipart/mixed; boundary="`+boundary+`"`)
		for _, p := range parts {
			fmt.Fprintf(w, "--%s\r\nContent-Disposition: inline; name=%s\r\nContent-Type: %s\r\n\r\n%s\r\n", boundary, p[0], p[1], p[2])
		}
		if whole {
			fmt.Fprintf(w, "--%s--\r\n", boundary)
		}
	}
}

func TestMixedAnswer(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n --b is no boundary\r\n"
	c := serve(t, mixed(true,
		[3]string{"progress", "application/json", `{"message":"one","done":1,"total":2}`},
		[3]string{"progress", "application/json", `{"message":"two","done":2,"total":2}`},
		[3]string{"result", "application/json", `{"steps":[{"index":0,"kind":"wait"}],"frame":{"id":7}}`},
		[3]string{"image", "image/png", png},
		[3]string{"image", "image/jpeg", "jpeg"},
		[3]string{"of tomorrow", "text/plain", "ignored"},
	))
	var reports []string
	result, images, err := c.Act(t.Context(), api.NewID(), api.ActRequest{}, func(p api.Progress) { reports = append(reports, p.Message) })
	if err != nil || len(result.Steps) != 1 || result.Frame.ID != 7 {
		t.Fatalf("%+v, %v", result, err)
	}
	if strings.Join(reports, " ") != "one two" {
		t.Errorf("progress %q", reports)
	}
	if len(images) != 2 || string(images[0].Data) != png || images[0].ContentType != "image/png" || images[1].ContentType != "image/jpeg" {
		t.Errorf("images %q", images)
	}
}

func TestErrors(t *testing.T) {
	refusal := `{"code":"session_ended","message":"It ended.","fix":"Start again.","retryable":false}`
	answer := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    api.Code
	}{
		{"refusal", answer(410, "application/json", refusal), api.CodeSessionEnded},
		{"late refusal", mixed(true, [3]string{"progress", "application/json", `{}`}, [3]string{"error", "application/json", refusal}), api.CodeSessionEnded},
		{"web page", answer(200, "text/html", "<html>"), api.CodeEngineUnavailable},
		{"refusal without code", answer(400, "application/json", `{}`), api.CodeEngineUnavailable},
		{"broken json", answer(200, "application/json", `{"frame":`), api.CodeEngineUnavailable},
		{"redirect", answer(302, "text/html", ""), api.CodeEngineUnavailable},
		{"cut off", mixed(false, [3]string{"result", "application/json", `{}`}), api.CodeComputerStopped},
		{"no result", mixed(true), api.CodeComputerStopped},
		{"no boundary", answer(200, "multipart/mixed", "--"), api.CodeEngineUnavailable},
		{"connection lost", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, api.CodeComputerStopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := serve(t, c.handler).Observe(t.Context(), api.NewID(), api.ObserveRequest{})
			if got := code(err); got != c.want {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
			if e := api.AsError(err); e.Fix == "" {
				t.Errorf("no fix: %v", err)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := &Client{BaseURL: "http://" + l.Addr().String()}
	if _, err := c.Health(t.Context()); code(err) != api.CodeComputerStopped || api.AsError(err).Retryable {
		t.Errorf("closed port: %v", err)
	}
	c = &Client{BaseURL: "http://computer", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(t.TempDir(), "none"))
	}}
	if _, err := c.Health(t.Context()); code(err) != api.CodeComputerStopped || api.AsError(err).Retryable {
		t.Errorf("missing socket: %v", err)
	}
	c = &Client{BaseURL: "http://computer", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no tunnel")
	}}
	if _, err := c.Health(t.Context()); code(err) != api.CodeEngineUnavailable || !strings.Contains(err.Error(), "no tunnel") {
		t.Errorf("failing dial: %v", err)
	}
}

// The cause stays in a message to the model; the address that we asked for, with the
// session in it, does not.
func TestConnectionErrorsNameNoAddress(t *testing.T) {
	c := &Client{BaseURL: "http://computer", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no tunnel")
	}}
	_, _, err := c.Observe(t.Context(), api.NewID(), api.ObserveRequest{})
	if got, want := api.AsError(err).Message, "The computer cannot be reached: no tunnel."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCancel(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, _, err := c.Observe(ctx, api.NewID(), api.ObserveRequest{}); code(err) != api.CodeCanceled {
		t.Errorf("%v", err)
	}
	<-gone

	ctx, cancel = context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := c.Health(ctx); code(err) != api.CodeTimeout || !api.AsError(err).Retryable {
		t.Errorf("%v", err)
	}
}

// pipes is a listener in memory, for tests in virtual time.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// S0-142: a heartbeat every 10 s, and goodbye at the end.
func TestHeart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu     sync.Mutex
			calls  []string
			broken bool
			began  = time.Now()
		)
		owner := api.NewID()
		l := newPipes()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if broken {
				panic(http.ErrAbortHandler)
			}
			calls = append(calls, fmt.Sprintf("%s %v", r.Method, time.Since(began)))
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"sessions":1}`)
		})}
		go server.Serve(l)
		defer server.Close()
		c := &Client{BaseURL: "http://computer", Dial: l.dial}
		defer c.CloseIdle()

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- (&Heart{Client: c, Owner: owner}).Run(ctx) }()
		time.Sleep(5 * time.Second)
		mu.Lock()
		broken = true // the beat at 10 s is lost
		mu.Unlock()
		time.Sleep(10 * time.Second)
		mu.Lock()
		broken = false
		mu.Unlock()
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := "POST 0s, POST 20s, DELETE 25s"
		if got := strings.Join(calls, ", "); got != want {
			t.Errorf("calls %s, want %s", got, want)
		}
	})
}

// A computer that is somewhere else is sent no token where it was.
func TestHeartOfAComputerThatMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		c := &Client{BaseURL: "http://computer", Dial: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, net.ErrClosed
		}}
		ctx, move := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- (&Heart{Client: c, Owner: api.NewID()}).Run(ctx) }()
		time.Sleep(api.HeartbeatEvery + time.Second)
		move(ErrMoved)
		if err := <-done; err != nil || dials != 2 {
			t.Errorf("%v after %d dials, want 2", err, dials)
		}
	})
}

// S0-146: a computer that does not answer does not hold up the end of the server process.
func TestHeartEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes() // nobody accepts
		defer l.Close()
		c := &Client{BaseURL: "http://computer", Dial: l.dial}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- (&Heart{Client: c, Owner: api.NewID()}).Run(ctx) }()
		time.Sleep(time.Second)
		cancel()
		end := time.Now()
		if err := <-done; code(err) != api.CodeTimeout {
			t.Errorf("%v", err)
		}
		if d := time.Since(end); d != releaseTimeout {
			t.Errorf("took %v", d)
		}
	})
}
