package browse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
)

// Command is the argument with which the daemon's binary is the browser command. The
// folder and what is to be opened follow.
const Command = "open"

const (
	routeBrowse = "POST /browse"
	// callTime bounds a call: a browser that starts takes 10 s on a busy machine.
	callTime = time.Minute
	maxBody  = api.MaxAddress + 8<<10 // bytes of a call
)

// browseRequest asks for an address, or for the browser's window when that is empty.
type browseRequest struct {
	Xauthority string `json:"xauthority"`
	Address    string `json:"address"`
}

// Open is the browser command: it opens addresses and files in the browser of the screen
// that it is called on, or raises that when there are none. args are the folder and
// what to open.
func Open(args []string, getenv func(string) string) error {
	if len(args) == 0 {
		return errors.New("the folder is missing")
	}
	folder, targets := Folder(args[0]), args[1:]
	if len(targets) == 0 {
		targets = []string{""}
	}
	addresses := make([]string, len(targets))
	for i, target := range targets {
		address, err := addressOf(target)
		if err != nil {
			return err
		}
		addresses[i] = address
	}
	daemon := client.Client{BaseURL: "http://computer", Dial: folder.dial}
	defer daemon.CloseIdle()
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	for _, address := range addresses {
		call := client.Request{Route: routeBrowse, Body: browseRequest{Xauthority: getenv("XAUTHORITY"), Address: address}}
		if _, err := daemon.Do(ctx, call, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// addressOf returns the address of what a program wants to have opened.
func addressOf(target string) (string, error) {
	if target == "" || api.IsAddress(target) {
		return target, nil // the daemon checks it
	}
	path, err := filepath.Abs(target)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	return api.FileAddress(path), nil
}

func (f Folder) dial(ctx context.Context, _, _ string) (conn net.Conn, err error) {
	err = f.atSocket(func(address string) (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", address)
		return err
	})
	return conn, err
}

// A Handler opens an address in the browser of the screen with an X authority file.
type Handler func(ctx context.Context, xauthority, address string) error

// Serve answers the calls that come in on l until ctx ends, and closes it.
func Serve(ctx context.Context, l net.Listener, browse Handler) error {
	mux := http.NewServeMux()
	mux.HandleFunc(routeBrowse, func(w http.ResponseWriter, r *http.Request) {
		var b browseRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&b); err != nil {
			answer(w, api.Errorf(api.CodeBadRequest, "The call cannot be read: %v.", err))
			return
		}
		answer(w, browse(r.Context(), b.Xauthority, b.Address))
	})
	server := http.Server{Handler: mux, ReadTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the programs of screens: %w", err)
	}
	return nil
}

func answer(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err == nil {
		w.Write([]byte("{}\n"))
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	json.NewEncoder(w).Encode(api.AsError(err))
}
