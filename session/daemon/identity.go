package daemon

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/private"
)

// identity tells this computer from every other one.
type identity struct {
	ComputerID string // UUID of the state folder
	HomeID     string // UUID of the home folder, which may outlive the computer
	ViewerKey  string // 8 characters that open the viewer page and are the VNC password
}

// keyLength is how many characters of a password VNC authentication uses (RFC 6143
// section 7.2.2).
const keyLength = 8

// keyAlphabet leaves out what people mix up when they type it from another screen.
const keyAlphabet = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"

var (
	uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	keyForm  = regexp.MustCompile(`^[` + keyAlphabet + `]{8}$`)
)

// loadIdentity reads the identity from the two folders and makes what is missing.
//
// Home may belong to the agent's user, who can then replace what is in it. So nothing
// there is followed out of home, and a file that others could have read or written is
// not believed: it is made anew.
func loadIdentity(stateDir, homeDir string) (id identity, err error) {
	state, err := os.OpenRoot(stateDir)
	if err != nil {
		return id, fmt.Errorf("open the state folder: %v", err)
	}
	defer state.Close()
	home, err := os.OpenRoot(homeDir)
	if err != nil {
		return id, fmt.Errorf("open the home folder: %v", err)
	}
	defer home.Close()
	if err := private.Make(home); err != nil {
		return id, fmt.Errorf("make the private folder: %v", err)
	}
	for _, v := range []struct {
		to   *string
		root *os.Root
		file string
		form *regexp.Regexp
		make func() string
	}{
		{&id.ComputerID, state, "computer-id", uuidForm, api.NewUUID},
		{&id.HomeID, home, filepath.Join(private.Folder, "home-id"), uuidForm, api.NewUUID},
		{&id.ViewerKey, home, filepath.Join(private.Folder, "viewer-key"), keyForm, newKey},
	} {
		if *v.to, err = loadOrMake(v.root, v.file, v.form, v.make); err != nil {
			return id, fmt.Errorf("keep %s: %v", v.file, err)
		}
	}
	return id, nil
}

// loadOrMake returns the value kept in a file, or makes one and keeps it.
func loadOrMake(root *os.Root, name string, form *regexp.Regexp, make func() string) (string, error) {
	if value, ok := readPrivate(root, name); ok && form.MatchString(value) {
		return value, nil
	}
	value := make()
	return value, private.Write(root, name, []byte(value+"\n"))
}

// readPrivate reads a small file that only this user can read and write.
func readPrivate(root *os.Root, name string) (string, bool) {
	f, err := private.Open(root, name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", false
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return "", false
	}
	buf := make([]byte, 256)
	n, _ := f.Read(buf)
	return strings.TrimSpace(string(buf[:n])), true
}

// newKey returns a random viewer key, each character equally likely.
func newKey() string {
	key := make([]byte, 0, keyLength)
	for len(key) < keyLength {
		var b [1]byte
		rand.Read(b[:])
		if int(b[0]) < 256/len(keyAlphabet)*len(keyAlphabet) {
			key = append(key, keyAlphabet[int(b[0])%len(keyAlphabet)])
		}
	}
	return string(key)
}
