package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
)

// serveHTTP serves clients over HTTP at an address of this machine.
func (a *app) serveHTTP(ctx context.Context, server *hostmcp.Server, address, tokenFile string) error {
	if tokenFile == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return usageError{fmt.Errorf("there is no folder for the token: %w; name a file with --token-file", err)}
		}
		tokenFile = filepath.Join(dir, "computer-use-mcp", "http-token")
	}
	listener, err := listenLoopback(ctx, address)
	if err != nil {
		return err
	}
	token, err := readToken(tokenFile)
	if err != nil {
		listener.Close()
		return err
	}
	// The token itself belongs in no log.
	fmt.Fprintf(a.stderr, "Serving MCP at http://%s%s; its bearer token is in %s.\n", listener.Addr(), hostmcp.HTTPPath, tokenFile)
	return server.RunHTTP(ctx, listener, token)
}

// listenLoopback listens at "127.0.0.1:8080" or another loopback address and refuses
// any that other machines reach: whoever has the token has the computer.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, ipErr := netip.ParseAddr(host)
	switch {
	case err != nil:
		return nil, usageError{fmt.Errorf("--http %s is not an address and a port, such as 127.0.0.1:8080", address)}
	case ipErr != nil || !ip.IsLoopback():
		return nil, usageError{fmt.Errorf("--http %s is refused: only a loopback address is served, such as 127.0.0.1:%s. "+
			"For clients on other machines put a gateway with encryption in front", address, port)}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("serve at --http %s: %w", address, err)
	}
	return listener, nil
}

// maxTokenFile bounds a token file in bytes.
const maxTokenFile = 4096

// tokenForm is what a token may look like: RFC 6750 section 2.1, and too long to guess.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9._~+/-]{20,}=*$`)

// readToken returns the token in the file, which is made, with a random one, when it is
// missing.
func readToken(path string) (string, error) {
	f, err := openToken(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeToken(path); err != nil {
			return "", fmt.Errorf("make the token file: %w", err)
		}
		f, err = openToken(path)
	}
	if err != nil {
		return "", fmt.Errorf("read the token file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the token file: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return "", fmt.Errorf("others can read the token in %s (mode %#o): chmod 600 it, or remove it for a new one", path, mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return "", fmt.Errorf("read the token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(data) > maxTokenFile || !tokenForm.MatchString(token) {
		return "", fmt.Errorf("%s holds no token, which is one line of 20 or more letters and digits: remove it for a new one", path)
	}
	return token, nil
}

// openToken opens the file to read it. On Windows os.Open fails while makeToken of another
// process removes the file's first name, and keeps it from that; a root's files share that.
func openToken(path string) (*os.File, error) {
	if runtime.GOOS == "windows" {
		return os.OpenInRoot(filepath.Dir(path), filepath.Base(path))
	}
	return os.Open(path)
}

// makeToken writes a random token to a file that does not exist. When another process
// is faster, that one's token stays.
func makeToken(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".http-token-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, rand.Text())
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	// A link appears with all its content, and does not replace anything.
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
