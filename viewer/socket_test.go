package viewer

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// sit opens a page and a screen of it.
func (s served) sit(t testing.TB, screen string) (channel, rfb *websocket.Conn) {
	t.Helper()
	channel, page := s.openPage(t)
	rfb, _, err := s.dial("/screens/"+screen, nil, "binary", "page."+page)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rfb.Close() })
	return channel, rfb
}

func TestBytesPassHoweverTheyAreCut(t *testing.T) {
	s := serve(t, newFakeComputer(Session{ID: "a", Screen: 3}))
	_, rfb := s.sit(t, "3")
	sent := make([]byte, 300_000)
	rand.Read(sent)
	go func() {
		for i, n := 0, 1; i < len(sent); i, n = i+n, n*3 {
			n = min(n, len(sent)-i)
			rfb.WriteMessage(websocket.BinaryMessage, sent[i:i+n])
			rfb.WriteMessage(websocket.BinaryMessage, nil)
		}
	}()
	var got []byte
	for len(got) < len(sent) {
		kind, data, err := rfb.ReadMessage()
		if err != nil || kind != websocket.BinaryMessage {
			t.Fatalf("kind %d, %v", kind, err)
		}
		got = append(got, data...)
	}
	if !bytes.Equal(got, sent) {
		t.Error("other bytes came back")
	}
}

func TestWhatEndsAScreensSocket(t *testing.T) {
	s := serve(t, newFakeComputer(Session{ID: "a", Screen: 3}))
	t.Run("text", func(t *testing.T) {
		_, rfb := s.sit(t, "3")
		rfb.WriteMessage(websocket.TextMessage, []byte("x"))
		wantClose(t, rfb, websocket.CloseUnsupportedData, "binary message was expected")
	})
	t.Run("a huge message", func(t *testing.T) {
		_, rfb := s.sit(t, "3")
		go rfb.WriteMessage(websocket.BinaryMessage, make([]byte, 16<<20))
		deadline := time.Now().Add(10 * time.Second)
		rfb.SetReadDeadline(deadline)
		for {
			if _, _, err := rfb.ReadMessage(); err != nil {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Error("it was taken")
		}
	})
	t.Run("another screen of the same page", func(t *testing.T) {
		_, page := s.openPage(t)
		first, _, err := s.dial("/screens/3", nil, "binary", "page."+page)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		first.WriteMessage(websocket.BinaryMessage, []byte("x"))
		first.ReadMessage() // it has its seat
		second, _, err := s.dial("/screens/3", nil, "binary", "page."+page)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		wantClose(t, first, websocket.CloseNormalClosure, "another screen")
	})
	t.Run("the end of its page", func(t *testing.T) {
		channel, rfb := s.sit(t, "3")
		channel.Close()
		rfb.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, _, err := rfb.ReadMessage(); err == nil {
			t.Error("it goes on")
		}
	})
	t.Run("the end of the computer", func(t *testing.T) {
		l := serve(t, newFakeComputer(Session{ID: "a", Screen: 3}))
		channel, rfb := l.sit(t, "3")
		rfb.WriteMessage(websocket.BinaryMessage, []byte("x"))
		rfb.ReadMessage()
		go l.stop()
		wantClose(t, channel, websocket.CloseGoingAway, "shutting down")
		wantClose(t, rfb, websocket.CloseGoingAway, "shutting down")
	})
}

func TestControlPassesBetweenPageAndSeat(t *testing.T) {
	c := newFakeComputer(Session{ID: "a", Screen: 3, Request: &Request{Reason: "a captcha"}})
	s := serve(t, c)
	channel, rfb := s.sit(t, "3")
	rfb.WriteMessage(websocket.BinaryMessage, []byte("x"))
	rfb.ReadMessage()
	seat := c.lastSeat()

	channel.WriteJSON(command{Type: cmdTake, Screen: 4}) // not where the page is
	channel.WriteJSON(command{Type: cmdTake, Screen: 3})
	if m := next(t, channel, msgControl); !m.Mine || m.Screen != 3 {
		t.Errorf("after taking control: %+v", m)
	}
	channel.WriteJSON(command{Type: cmdPaste, Screen: 3, Text: "をゆ 测试 €"})
	if m := next(t, channel, msgPasted); m.Why != "" || <-seat.pasted != "をゆ 测试 €" {
		t.Errorf("after pasting: %+v", m)
	}
	channel.WriteJSON(command{Type: cmdPaste, Screen: 3, Text: strings.Repeat("x", maxPaste+1)})
	if m := next(t, channel, msgPasted); m.Why == "" {
		t.Error("a text of more than 1 MiB was pasted")
	}
	channel.WriteJSON(command{Type: cmdResetKeys, Screen: 3})
	if <-seat.typed != "reset" {
		t.Error("keys were not reset")
	}
	seat.setMine(false, "Somebody else took control.")
	if m := next(t, channel, msgControl); m.Mine || m.Why != "Somebody else took control." {
		t.Errorf("after losing control: %+v", m)
	}
	channel.WriteJSON(command{Type: cmdPaste, Screen: 3, Text: "x"})
	if m := next(t, channel, msgPasted); m.Why != "The screen is locked." {
		t.Errorf("pasted while locked: %+v", m)
	}
	channel.WriteJSON(command{Type: cmdAnswer, Screen: 3, Answer: "maybe"})
	channel.WriteJSON(command{Type: cmdAnswer, Screen: 3, Answer: Declined})
	for m := next(t, channel, msgSessions); m.Sessions[0].Request != nil; {
		m = next(t, channel, msgSessions)
	}
	if len(c.answers) != 1 || c.answers[0] != "3 declined" {
		t.Errorf("answers %q", c.answers)
	}
}
