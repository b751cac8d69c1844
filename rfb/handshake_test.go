package rfb_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
	"github.com/falleng0d/computer-use-mcp/rfb/vncauth"
)

// peer is the other end of a connection, byte by byte.
type peer struct {
	t testing.TB
	net.Conn
}

func (p peer) send(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p, s); err != nil {
		p.t.Fatalf("send %q: %v", s, err)
	}
}

func (p peer) expect(want string) {
	p.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(p, got)
	if string(got[:n]) != want {
		p.t.Fatalf("got %q (%v), want %q", got[:n], err, want)
	}
}

// expectEnd fails unless the server closes without another byte.
func (p peer) expectEnd() {
	p.t.Helper()
	if rest, _ := io.ReadAll(p); len(rest) > 0 {
		p.t.Fatalf("after the end came %q", rest)
	}
}

// prove answers a challenge.
func (p peer) prove(password string) {
	p.t.Helper()
	var challenge [vncauth.ChallengeSize]byte
	if _, err := io.ReadFull(p, challenge[:]); err != nil {
		p.t.Fatal(err)
	}
	answer := vncauth.Answer(password, challenge)
	p.send(string(answer[:]))
}

const (
	hello      = "RFB 003.008\n"
	resultOK   = "\x00\x00\x00\x00"
	resultFail = "\x00\x00\x00\x01"
	// Checklist 11: 32 bits, depth 24, little-endian, true colour, padding 0.
	serverInit = "\x00\x03\x00\x02" +
		"\x20\x18\x00\x01\x00\xff\x00\xff\x00\xff\x10\x08\x00\x00\x00\x00" +
		"\x00\x00\x00\x06t\u00east!"
)

func lengthen(s string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
}

// smallScreen is one of 3x2 pixels called "têst!".
func smallScreen() *rfb.Screen {
	c := newCanvas(3, 2)
	c.screen.SetName("t\u00east!")
	return c.screen
}

// Checklist 1, 2, 3, 10 and 11: what is said in each version, byte by byte.
func TestChecklist01To03Dialogues(t *testing.T) {
	const wrong = "wrong password"
	for _, tt := range []struct {
		name, version string
		password      string // the server's; empty: no authentication
		proof         string // the viewer's
		dialogue      string // what the server says after the version, "P" for the proof
	}{
		{"3.3 none", "RFB 003.003\n", "", "", "\x00\x00\x00\x01|init"},
		{"3.3 right", "RFB 003.003\n", "secret", "secret", "\x00\x00\x00\x02P" + resultOK + "|init"},
		{"3.3 wrong", "RFB 003.003\n", "secret", "guess", "\x00\x00\x00\x02P" + resultFail},
		{"3.7 none", "RFB 003.007\n", "", "", "\x01\x01C|init"},
		{"3.7 right", "RFB 003.007\n", "secret", "secret", "\x01\x02CP" + resultOK + "|init"},
		{"3.7 wrong", "RFB 003.007\n", "secret", "guess", "\x01\x02CP" + resultFail},
		{"3.8 none", "RFB 003.008\n", "", "", "\x01\x01C" + resultOK + "|init"},
		{"3.8 right", "RFB 003.008\n", "secret", "secret", "\x01\x02CP" + resultOK + "|init"},
		{"3.8 wrong", "RFB 003.008\n", "secret", "guess", "\x01\x02CP" + resultFail + lengthen(wrong)},
		// Versions that were never published.
		{"3.5", "RFB 003.005\n", "", "", "\x00\x00\x00\x01|init"},
		{"3.6", "RFB 003.006\n", "", "", "\x00\x00\x00\x01|init"},
		{"3.14", "RFB 003.014\n", "", "", "\x01\x01C" + resultOK + "|init"},
		{"3.9", "RFB 003.009\n", "", "", "\x01\x01C" + resultOK + "|init"},
		{"3.889", "RFB 003.889\n", "", "", "\x01\x01C" + resultOK + "|init"},
		{"3.0", "RFB 003.000\n", "", "", "\x00\x00\x00\x01|init"},
	} {
		for _, shared := range []string{"\x00", "\x01"} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // a wrong password takes time
					cfg := rfb.Config{Screen: smallScreen(), Password: tt.password, NoAuth: tt.password == ""}
					p := peer{t, serve(t, cfg)}
					p.expect(hello)
					p.send(tt.version)
					dialogue, init := strings.CutSuffix(tt.dialogue, "|init")
					before, after, proves := strings.Cut(dialogue, "P")
					if said, more, chooses := strings.Cut(before, "C"); chooses {
						p.expect(said)
						p.send(said[1:])
						p.expect(more)
					} else {
						p.expect(before)
					}
					if proves {
						p.prove(tt.proof)
						p.expect(after)
					}
					if !init {
						p.expectEnd()
						return
					}
					p.send(shared)
					p.expect(serverInit)
				})
			})
		}
	}
}

// Checklist 3: other major versions are told why.
func TestChecklist03OtherMajorVersion(t *testing.T) {
	for _, version := range []string{"RFB 004.001\n", "RFB 005.000\n", "RFB 002.002\n"} {
		p := peer{t, serve(t, rfb.Config{Screen: smallScreen(), NoAuth: true})}
		p.expect(hello)
		p.send(version)
		rest, _ := io.ReadAll(p)
		if len(rest) < 5 || rest[0] != 0 || !strings.Contains(string(rest[5:]), "only 3.3 to 3.8") {
			t.Errorf("%q was answered %q", version, rest)
		}
	}
}

// Checklist 4: whoever speaks something else is gone at once.
func TestChecklist04Garbage(t *testing.T) {
	for _, garbage := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01", "\x00\x00\x00\x00", "RFB 003.008\r",
		"RFB 3.8\n\n\n\n\n", "RFB -03.008\n", "RFB 003,008\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			near, r := serveConn(t, rfb.Config{Screen: smallScreen(), NoAuth: true})
			p := peer{t, near}
			p.expect(hello)
			began := time.Now()
			go io.WriteString(p, garbage)
			<-r.ended
			if took := time.Since(began); took != 0 {
				t.Errorf("%q was borne for %v", garbage, took)
			}
			if slip := (*rfb.ProtocolError)(nil); !errors.As(r.err, &slip) {
				t.Errorf("%q ended with %v", garbage, r.err)
			}
		})
	}
}

// Checklist 5 and 47: slow is fine, silence is not, wherever it begins.
func TestChecklist05SlowAndSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peer{t, serve(t, rfb.Config{Screen: smallScreen(), NoAuth: true})}
		p.expect(hello)
		for _, b := range []byte(hello) {
			time.Sleep(100 * time.Millisecond)
			p.send(string(b))
		}
		p.expect("\x01\x01")
	})
}

func TestChecklist47Silence(t *testing.T) {
	for _, tt := range []struct {
		name  string
		talk  func(p peer)
		limit time.Duration
	}{
		{"at once", func(p peer) {}, 20 * time.Second},
		{"within the version", func(p peer) { p.send(hello[:11]) }, 20 * time.Second},
		{"before choosing", func(p peer) { p.send(hello); p.expect("\x01\x02") }, 20 * time.Second},
		{"before the proof", func(p peer) {
			p.send(hello)
			p.expect("\x01\x02")
			p.send("\x02")
			p.expectAny(16)
		}, 2 * time.Minute},
		{"within the proof", func(p peer) {
			p.send(hello)
			p.expect("\x01\x02")
			p.send("\x02")
			p.expectAny(16)
			p.send("1234567890")
		}, 2 * time.Minute},
		{"before ClientInit", func(p peer) {
			p.send(hello)
			p.expect("\x01\x02")
			p.send("\x02")
			p.prove("secret")
			p.expect(resultOK)
		}, 20 * time.Second},
		{"without taking ServerInit", func(p peer) {
			p.send(hello)
			p.expect("\x01\x02")
			p.send("\x02")
			p.prove("secret")
			p.expect(resultOK)
			p.send("\x01")
		}, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, r := serveConn(t, rfb.Config{Screen: smallScreen(), Password: "secret"})
				p := peer{t, near}
				began := time.Now()
				p.expect(hello)
				tt.talk(p)
				<-r.ended
				if took := time.Since(began); took > tt.limit || !errors.Is(r.err, rfb.ErrTimeout) {
					t.Errorf("ended after %v with %v", took, r.err)
				}
			})
		})
	}
}

func (p peer) expectAny(n int) {
	p.t.Helper()
	if _, err := io.ReadFull(p, make([]byte, n)); err != nil {
		p.t.Fatal(err)
	}
}

// Checklist 6: a type that was not offered is no way in.
func TestChecklist06TypeNotOffered(t *testing.T) {
	for _, version := range []string{"RFB 003.007\n", hello} {
		for _, kind := range []byte{0, 1, 16, 19, 30, 255} {
			near, r := serveConn(t, rfb.Config{Screen: smallScreen(), Password: "secret"})
			p := peer{t, near}
			p.expect(hello)
			p.send(version)
			p.expect("\x01\x02")
			p.send(string([]byte{kind}))
			rest, _ := io.ReadAll(p)
			if len(rest) < 4 || string(rest[:4]) != resultFail {
				t.Errorf("type %d in %q was answered %q", kind, version, rest)
			}
			<-r.ended
			if slip := (*rfb.ProtocolError)(nil); !errors.As(r.err, &slip) {
				t.Errorf("type %d ended with %v", kind, r.err)
			}
		}
	}
}

// Checklist 7: guessing is slow, and gets slower for the one who guesses only.
func TestChecklist07WrongPasswordIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := new(rfb.Guard)
		try := func(peerAddr, password string) time.Duration {
			near, r := serveConn(t, rfb.Config{Screen: smallScreen(), Password: "secret", Guard: guard, Peer: peerAddr})
			c := rfbtest.New(near)
			began := time.Now()
			err := c.Handshake(rfbtest.Options{Password: password})
			took := time.Since(began)
			c.Close()
			<-r.ended
			if wrong := errors.Is(r.err, rfb.ErrWrongPassword); wrong != (password != "secret") || wrong != (err != nil) {
				t.Fatalf("%q: %v, %v", password, err, r.err)
			}
			return took
		}
		var last time.Duration
		for range 20 {
			took := try("10.0.0.1:1000", "guess")
			if took < 100*time.Millisecond || took < last || took > 15*time.Second {
				t.Errorf("a wrong password took %v, the one before %v", took, last)
			}
			last = took
		}
		if last < time.Second {
			t.Errorf("after 20 wrong passwords one takes %v", last)
		}
		// Trap 14: neither a neighbour nor the right password waits.
		if took := try("10.0.0.2:1000", "guess"); took > time.Second {
			t.Errorf("the neighbour's wrong password took %v", took)
		}
		if took := try("10.0.0.1:1001", "secret"); took != 0 {
			t.Errorf("the right password took %v", took)
		}
		if took := try("10.0.0.1:1002", "guess"); took > time.Second {
			t.Errorf("after a success a wrong password took %v", took)
		}
	})
}

// Checklist 8: no password means nobody.
func TestChecklist08EmptyPassword(t *testing.T) {
	for _, version := range []string{"RFB 003.003\n", "RFB 003.007\n", hello} {
		p := peer{t, serve(t, rfb.Config{Screen: smallScreen()})}
		p.expect(hello)
		p.send(version)
		refusal := "\x00"
		if version == "RFB 003.003\n" {
			refusal = "\x00\x00\x00\x00"
		}
		p.expect(refusal + lengthen("no password is set for this screen"))
		p.expectEnd()
	}
}

// Checklist 9: passwords of all lengths.
func TestChecklist09Passwords(t *testing.T) {
	for _, password := range []string{"a", "password", "passwordX", strings.Repeat("q", 100), "p\u00e4ssw\u00f6rd"} {
		connect(t, rfb.Config{Screen: smallScreen(), Password: password})
	}
}

// A refusal of the owner's reaches the viewer in every version.
func TestRefuse(t *testing.T) {
	for _, version := range []string{"RFB 003.003\n", "RFB 003.007\n", hello} {
		near := serve(t, rfb.Config{Screen: smallScreen(), Password: "x", Refuse: errors.New("screen 3 is not open")})
		err := rfbtest.New(near).Handshake(rfbtest.Options{Version: version})
		if refused := (*rfbtest.Refused)(nil); !errors.As(err, &refused) || refused.Reason != "screen 3 is not open" {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// Trap 14: coming and going is no offence.
func TestConnectAndLeaveIsNoOffence(t *testing.T) {
	guard := new(rfb.Guard)
	cfg := rfb.Config{Screen: smallScreen(), Password: "secret", Guard: guard, Peer: "10.0.0.1:1"}
	for range 100 {
		near, r := serveConn(t, cfg)
		near.Close()
		<-r.ended
	}
	connect(t, cfg)
}
