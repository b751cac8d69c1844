package e2e

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// secrets are what no log, command line or environment may hold: by their value, what
// each is.
type secrets map[string]string

// add remembers a secret. What is short could be anywhere by chance.
func (s secrets) add(what, value string) {
	if len(value) >= 8 {
		s[value] = what
	}
}

// in returns where a text holds one of them, in words.
func (s secrets) in(where, text string) (found []error) {
	for secret, what := range s {
		if i := strings.Index(text, secret); i >= 0 {
			found = append(found, fmt.Errorf("%s holds the %s: %q", where, what, text[max(0, i-80):min(len(text), i+len(secret)+20)]))
		}
	}
	return found
}

// suite is what the tests have seen so far.
var suite = ledger{secrets: secrets{}, logs: map[string][]byte{}}

// ledger remembers every secret and every log of a run, to compare them at its end.
type ledger struct {
	mu        sync.Mutex
	computers int               // guarded by mu, as all below
	secrets   secrets           // of all computers and servers
	logs      map[string][]byte // by where they come from
}

func (l *ledger) secret(what, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets.add(what, value)
}

// link remembers the key of a viewer link, which is the VNC password too.
func (l *ledger) link(viewer string) {
	_, key, _ := strings.Cut(viewer, "#key=")
	l.secret("key", key)
}

// typed remembers what a call types into a screen or its clipboard, which may be a
// password. What is short is in logs by chance.
func (l *ledger) typed(args map[string]any) {
	var call struct {
		Text    string
		Actions []struct{ Text string }
	}
	raw, err := json.Marshal(args)
	if err != nil || json.Unmarshal(raw, &call) != nil {
		return // arguments that are wrong on purpose
	}
	for _, text := range append([]struct{ Text string }{{call.Text}}, call.Actions...) {
		if len(text.Text) >= 20 {
			l.secret("typed text", text.Text)
		}
	}
}

func (l *ledger) log(where string, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logs[where] = append(l.logs[where], text...)
}

// computer remembers what a computer's folder of state holds now: its logs, the token of
// its API, and the cookies of its screens.
func (l *ledger) computer(state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.computers++
	_ = filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // a screen that ends
		}
		base := filepath.Base(path)
		isLog, isCookie := strings.Contains(base, ".log"), base == "Xauthority" || strings.HasPrefix(base, "server-authority")
		if !isLog && !isCookie && base != "token" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		switch {
		case isLog:
			l.logs[path] = data
		case isCookie && len(data) >= 16:
			cookie := data[len(data)-16:]
			l.secrets.add("X cookie", string(cookie))
			l.secrets.add("X cookie", hex.EncodeToString(cookie))
		default:
			l.secrets.add("API token", strings.TrimSpace(string(data)))
		}
		return nil
	})
}

// check fails when a log of the run holds a secret of the run, or nothing was seen of its
// computers.
func (l *ledger) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []error
	for where, log := range l.logs {
		found = append(found, l.secrets.in(where, string(log))...)
	}
	if l.computers > 0 && (len(l.logs) == 0 || len(l.secrets) == 0) {
		found = append(found, fmt.Errorf("%d computers have left %d logs and %d secrets to compare", l.computers, len(l.logs), len(l.secrets)))
	}
	return errors.Join(found...)
}

// The check at the end of the suite (issue 10, item 8) finds what it looks for.
func TestLedger(t *testing.T) {
	state := t.TempDir()
	for name, data := range map[string]string{
		"token": "0123456789abcdef\n", "daemon.log": "all is well\n", "screens/1/Xauthority": "MIT-MAGIC-COOKIE-1 sixteen~bytes~!!",
	} {
		path := filepath.Join(state, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(data), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ log, found string }{
		{"", ""},
		{"screen 1 is open", ""},
		{"GET /v1 Bearer 0123456789abcdef", "API token"},
		{"xauth add :1 . 7369787465656e7e62797465737e2121", "X cookie"},
		{"type a password of many letters", "typed text"},
		{"see http://127.0.0.1:20900/#key=abcdefghij", "key"},
	} {
		l := ledger{secrets: secrets{}, logs: map[string][]byte{}}
		l.computer(state)
		l.link("http://127.0.0.1:20900/#key=abcdefghij")
		l.typed(map[string]any{"actions": []any{map[string]any{"kind": "type", "text": "a password of many letters"}}})
		l.log("stderr", []byte(test.log))
		err := l.check()
		if test.found == "" && err != nil || test.found != "" && (err == nil || !strings.Contains(err.Error(), "stderr holds the "+test.found)) {
			t.Errorf("%q: %v", test.log, err)
		}
	}
	if (&ledger{computers: 1}).check() == nil {
		t.Error("computers without a log are no failure")
	}
}
