package browser

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// remote is the other end of a conn.
type remote struct {
	*conn
	commands *bufio.Reader
	answers  io.WriteCloser
	events   chan message
}

func newRemote(t *testing.T) *remote {
	commandsR, commandsW := io.Pipe()
	answersR, answersW := io.Pipe()
	r := &remote{commands: bufio.NewReader(commandsR), answers: answersW, events: make(chan message, 10)}
	r.conn = newConn(answersR, commandsW, func(m message) { r.events <- m })
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		r.run()
	}()
	t.Cleanup(func() {
		answersW.Close()
		commandsR.Close()
		<-ran
	})
	return r
}

func TestCalls(t *testing.T) {
	r := newRemote(t)
	go func() {
		for _, answer := range []string{
			`{"method":"Page.done","params":{"a":1},"sessionId":"S"}` + "\x00" + `{"id":1,"result":{"x":7},"sessionId":"S"}`,
			`{"id":99,"result":{}}` + "\x00" + `{"id":2,"error":{"code":-32000,"message":"No."}}`,
		} {
			readMessage(r.commands)
			io.WriteString(r.answers, answer+"\x00")
		}
		readMessage(r.commands)
		r.answers.Close()
	}()
	var got struct{ X int }
	if err := r.call(t.Context(), "S", "A.b", map[string]any{"p": 1}, &got); err != nil || got.X != 7 {
		t.Errorf("%v %v", got, err)
	}
	if m := <-r.events; m.Method != "Page.done" || m.Session != "S" {
		t.Errorf("%+v", m)
	}
	err := r.call(t.Context(), "", "A.c", nil, nil)
	if e, ok := errors.AsType[*remoteError](err); !ok || e.Code != -32000 || !strings.Contains(err.Error(), "A.c: No.") {
		t.Error(err)
	}
	for range 2 { // one under way when it ends, one after
		if err := r.call(t.Context(), "", "A.d", nil, nil); !errors.Is(err, errGone) {
			t.Error(err)
		}
	}
}

// A Chromium that is stopped reads no command. It keeps nobody waiting for ever.
func TestCommandThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemote(t)
		began := time.Now()
		if err := r.call(t.Context(), "", "A.b", nil, nil); !errors.Is(err, errGone) || !r.hung.Load() {
			t.Errorf("%v, hung is %v", err, r.hung.Load())
		}
		if took := time.Since(began); took != takeTime {
			t.Errorf("it took %v", took)
		}
	})
}

func TestCallEndsWithItsContext(t *testing.T) {
	r := newRemote(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		readMessage(r.commands)
		cancel()
	}()
	if err := r.call(ctx, "", "A.b", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(r.calls) != 0 {
		t.Error("the call is remembered")
	}
}

// What does not speak the protocol ends the connection.
func TestNonsense(t *testing.T) {
	r := newRemote(t)
	go func() {
		readMessage(r.commands)
		io.WriteString(r.answers, "hello\x00")
	}()
	if err := r.call(t.Context(), "", "A.b", nil, nil); !errors.Is(err, errGone) {
		t.Error(err)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	endless := bufio.NewReader(io.LimitReader(zeroless{}, 2*maxMessage))
	if line, err := readMessage(endless); err == nil || len(line) > 0 {
		t.Errorf("%d bytes, %v", len(line), err)
	}
}

type zeroless struct{}

func (zeroless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}
