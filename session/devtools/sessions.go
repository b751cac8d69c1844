package devtools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// sessions is mcpc's list, as version 0.2.6 keeps it: the path of a file that several
// processes change, each while it holds a lock.
type sessions string

// sessionsOf returns the list of the user.
func sessionsOf(getenv func(string) string) sessions {
	dir := getenv("MCPC_HOME_DIR")
	if dir == "" {
		dir = filepath.Join(getenv("HOME"), ".mcpc")
	}
	return sessions(filepath.Join(dir, "sessions.json"))
}

// server is how mcpc starts an MCP server.
type server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// record is what is needed of a session's record. One without a process is started with
// the next call.
type record struct {
	Name      string          `json:"name"`
	Server    json.RawMessage `json:"server"`
	CreatedAt time.Time       `json:"createdAt"`
	PID       int             `json:"pid,omitempty"` // of its bridge
}

// set enters a session's server, or takes the session off the list when that is nil, and
// ends the bridge of the session that was there.
func (s sessions) set(name string, server json.RawMessage) error {
	if err := os.MkdirAll(filepath.Dir(string(s)), 0o700); err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	file, list, err := s.read()
	if err != nil {
		return err
	}
	var before record
	_ = json.Unmarshal(list[name], &before) // what cannot be read has no bridge that we know of
	endBridge(before.PID, name)
	if server == nil {
		delete(list, name)
	} else if list[name], err = json.Marshal(record{Name: name, Server: server, CreatedAt: time.Now().UTC()}); err != nil {
		return err
	}
	if file["sessions"], err = json.Marshal(list); err != nil {
		return err
	}
	return s.write(file)
}

// read returns the file and the list in it, by name. What is not understood is kept.
func (s sessions) read() (file, list map[string]json.RawMessage, err error) {
	data, err := os.ReadFile(string(s))
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil && file["sessions"] != nil {
		err = json.Unmarshal(file["sessions"], &list)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read mcpc's list of sessions %s: %w", s, err)
	}
	if file == nil {
		file = map[string]json.RawMessage{}
	}
	if list == nil {
		list = map[string]json.RawMessage{}
	}
	return file, list, nil
}

func (s sessions) write(file map[string]json.RawMessage) error {
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	next := fmt.Sprintf("%s.%d", s, os.Getpid())
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, string(s))
}

// Times of a lock. Its holder touches it every few seconds.
const (
	lockPatience = 10 * time.Second
	lockPause    = 20 * time.Millisecond
	lockStale    = 10 * time.Second
)

// lock takes the list's lock as mcpc does: a folder beside it, whose owner is gone when it
// was not touched for a while.
func (s sessions) lock() (unlock func(), err error) {
	dir := string(s) + ".lock"
	for end := time.Now().Add(lockPatience); ; time.Sleep(lockPause) {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			return func() { os.Remove(dir) }, nil
		}
		info, statErr := os.Stat(dir)
		switch {
		case statErr == nil && time.Since(info.ModTime()) > lockStale:
			os.Remove(dir)
		case time.Now().After(end):
			return nil, fmt.Errorf("lock mcpc's list of sessions: %w", err)
		}
	}
}

// bridgeTime is how long a bridge may take to end; it waits a moment for its server.
const bridgeTime = 3 * time.Second

// endBridge ends a session's bridge, if the process is that still.
func endBridge(pid int, name string) {
	if pid <= 0 || !isBridge(pid, name) {
		return
	}
	syscall.Kill(pid, syscall.SIGTERM)
	for end := time.Now().Add(bridgeTime); isBridge(pid, name); time.Sleep(lockPause) {
		if time.Now().After(end) {
			syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
}

// isBridge reports whether a process runs and was started with a session's name.
func isBridge(pid int, name string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(line), "\x00"+name+"\x00")
}
